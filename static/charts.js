// Draws the figures that a page carries as JSON over the drawings of the server; on paper the drawings stand.
// Plotly is fetched when a reader points at a chart, touches it or presses a key on it, and not before.
(function () {
  "use strict";
  let plotly = null;

  // A style sheet within Plotly is added unless it finds this; the page's policy would refuse it.
  const MAP_STYLES = "9f215cf04c5486422605d13261cb87401f4e7763b6296af81e98efbc0130da53";

  function load() {
    if (!plotly) {
      const present = document.createElement("meta");
      present.id = MAP_STYLES;
      document.head.append(present);
      plotly = new Promise(function (resolve, reject) {
        const script = document.createElement("script");
        script.src = document.querySelector("meta[name=plotly]").content;
        script.onload = () => resolve(window.Plotly);
        script.onerror = reject;
        document.head.append(script);
      });
    }
    return plotly;
  }

  // A colour of the style sheet has one value for light pages and one for dark; painting tells which it is now.
  const brush = document.createElement("span");
  brush.hidden = true;
  document.body.append(brush);

  function color(name) {
    brush.style.color = `var(${name})`;
    return getComputedStyle(brush).color;
  }

  // A field of a heat map keeps its value where it has so many pixels; a chart of many systems is as wide as that.
  const FIELD = 58;
  const NAMES = 130;

  function themed(figure, width) {
    const axis = { gridcolor: color("--grid"), linecolor: color("--soft"), zerolinecolor: color("--soft") };
    const layout = structuredClone(figure.layout);
    layout.font = { family: getComputedStyle(document.body).getPropertyValue("--sans").trim(), size: 13, color: color("--ink") };
    if (document.documentElement.lang === "de") layout.separators = ",.";
    layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
    for (const name of ["xaxis", "yaxis"]) {
      layout[name] = { ...layout[name], ...axis, fixedrange: true };
      if (layout[name].title) layout[name].title.font = { size: 13, color: color("--soft") };
    }
    const data = structuredClone(figure.data);
    for (const trace of data) {
      for (const error of [trace.error_x, trace.error_y]) if (error) error.color = color("--ink");
      if (trace.type !== "heatmap") continue;
      // Text in the fields can be read up to the stronger colour.
      trace.colorscale = [[0, color("--chart-low")], [1, color("--chart-high")]];
      trace.textfont = { color: color("--ink") };
      layout.xaxis.showgrid = layout.yaxis.showgrid = false;
      layout.width = Math.max(width, NAMES + FIELD * trace.x.length);
    }
    return [data, layout];
  }

  async function draw(chart) {
    const source = document.getElementById(chart.dataset.figure);
    if (!source) return;
    const Plotly = await load();
    if (!chart.isConnected) return;
    let plot = chart.querySelector(".plot");
    if (!plot) {
      plot = document.createElement("div");
      plot.className = "plot";
      chart.append(plot);
    }
    const [data, layout] = themed(JSON.parse(source.textContent), chart.clientWidth);
    // Not `react`: a chart that is changed keeps the width and the margins that it had.
    await Plotly.newPlot(plot, data, layout, { displayModeBar: false });
    if (data.some((trace) => trace.type === "heatmap" && trace.customdata)) {
      plot.classList.add("leads");
      plot.on("plotly_click", (event) => window.location.assign(event.points[0].customdata));
    }
    chart.dataset.drawn = chart.clientWidth;
  }

  function drawOnce(event) {
    const chart = event.target.closest?.(".chart:not([data-asked])");
    if (!chart) return;
    chart.dataset.asked = "yes";
    draw(chart).catch(() => delete chart.dataset.asked);
  }

  // A page that scrolls under a resting pointer reports a movement of nothing soon after.
  const AFTER_SCROLL = 300;
  let scrolledAt = -AFTER_SCROLL;
  window.addEventListener("scroll", () => (scrolledAt = performance.now()), { capture: true, passive: true });
  document.addEventListener("pointermove", function (event) {
    const isMoved = event.movementX || event.movementY;
    if (isMoved || performance.now() - scrolledAt > AFTER_SCROLL) drawOnce(event);
  });
  document.addEventListener("pointerdown", drawOnce);
  document.addEventListener("keydown", (event) => event.key !== "Tab" && event.key !== "Shift" && drawOnce(event));
  document.addEventListener("citeboard:theme", () => document.querySelectorAll(".chart[data-drawn]").forEach(draw));

  // Plotly's own answer to a new width gives up the figure's height, and what follows would lie over the chart.
  let resized = null;
  window.addEventListener("resize", () => {
    clearTimeout(resized);
    resized = setTimeout(function () {
      for (const chart of document.querySelectorAll(".chart[data-drawn]")) {
        if (Number(chart.dataset.drawn) !== chart.clientWidth) draw(chart);
      }
    }, 150);
  });
})();
