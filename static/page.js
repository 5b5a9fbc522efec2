// What pages do beyond showing themselves: times that a reader understands, and numbers that open in place.
// Every page reads and submits without this file.
(function () {
  "use strict";
  const say = window.citeboardSay;

  // -- Times ------------------------------------------------------------------------------------------
  const UNITS = [["year", 31557600], ["day", 86400], ["hour", 3600], ["minute", 60]];
  const words = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "always" });
  const { lang } = document.documentElement;
  const own = new Intl.DateTimeFormat(lang === "en" ? "en-GB" : lang, { dateStyle: "medium", timeStyle: "short" });

  function relative(seconds) {
    for (const [unit, length] of UNITS) {
      // A year says too little of anything under two.
      if (Math.abs(seconds) >= (unit === "year" ? 2 * length : length)) return words.format(Math.trunc(seconds / length), unit);
    }
    return say(seconds < 0 ? "just now" : "in less than a minute");
  }

  function tell(time) {
    const at = new Date(time.dateTime);
    const seconds = (at.getTime() - Date.now()) / 1000;
    if (!time.dataset.exact) time.dataset.exact = [time.textContent, time.title].filter(Boolean).join(" · ");
    time.title = time.dataset.exact + ` · ${say("here")} ` + own.format(at);
    if (time.dataset.shown === "relative") time.textContent = isExact() ? time.dataset.exact : relative(seconds);
  }

  // Who has nothing to point with reads the exact times by choice; it is remembered.
  const EXACT = "citeboard-exact-times";
  let chosen = null;

  function isExact() {
    if (chosen !== null) return chosen;
    try {
      return localStorage.getItem(EXACT) === "yes";
    } catch {
      return false;
    }
  }

  function offerExactTimes() {
    const button = document.getElementById("times-switch");
    if (!button || !document.querySelector("time[data-shown=relative]")) return;
    const label = () => (button.textContent = say(isExact() ? "Show times from now" : "Show exact times"));
    button.hidden = false;
    label();
    button.addEventListener("click", function () {
      chosen = !isExact();
      try {
        if (chosen) localStorage.setItem(EXACT, "yes");
        else localStorage.removeItem(EXACT);
      } catch {
        // Without storage the choice lasts for this page.
      }
      label();
      tellAll();
    });
  }

  function tellAll() {
    document.querySelectorAll("time[data-shown]").forEach(tell);
    document.querySelectorAll("[data-countdown]").forEach((span) => (span.hidden = false));
  }

  // -- A number's signature, in place of the page it leads to -------------------------------------------
  async function openNumber(link) {
    const panel = document.getElementById("panel");
    const address = new URL(link.href);
    const score = address.hash.replace("#s", "");
    const response = await fetch(`${address.pathname}?score=${score}`, { headers: { "HX-Request": "true" } });
    if (!response.ok) {
      window.location.assign(link.href);
      return;
    }
    const content = document.getElementById("panel-content");
    content.innerHTML = await response.text();
    tellAll();
    offerCopies(content);
    panel.showModal();
    content.focus();
  }

  // -- On a narrow page a row unfolds the numbers that have no column there ------------------------------
  const isNarrow = window.matchMedia("(max-width: 46rem)");

  function unfold(link) {
    const row = link.closest("tr");
    const open = row.querySelector(".unfolded");
    link.setAttribute("aria-expanded", String(!open));
    if (open) {
      open.remove();
      return;
    }
    const heads = link.closest("table").tHead.rows[0].cells;
    const list = document.createElement("dl");
    list.className = "unfolded";
    for (const cell of row.querySelectorAll("td.rest")) {
      const [term, value] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = heads[cell.cellIndex].querySelector("a").textContent;
      value.innerHTML = cell.innerHTML;
      value.querySelector("a")?.removeAttribute("tabindex");
      list.append(term, value);
    }
    link.closest("th").append(list);
  }

  document.addEventListener("click", function (event) {
    const more = event.target.closest(".board a.unfold");
    if (more && isNarrow.matches) {
      event.preventDefault();
      unfold(more);
      return;
    }
    const link = event.target.closest(".board td.n > a, .unfolded a");
    const isPlain = !event.metaKey && !event.ctrlKey && !event.shiftKey && event.button === 0;
    if (link && isPlain && document.getElementById("panel")) {
      event.preventDefault();
      openNumber(link);
      return;
    }
    if (event.target.id === "panel") event.target.close();
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });

  document.addEventListener("keydown", function (event) {
    const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });

  // -- A row of a board has two stops of the Tab key: its system and its numbers, between which arrow keys move --
  function numbersOf(row) {
    return [...row.querySelectorAll("td.n > a, .team a")].filter((link) => link.checkVisibility());
  }

  function besides(link, key) {
    const row = link.closest("tr");
    const numbers = numbersOf(row);
    const at = numbers.indexOf(link);
    if (key === "Home" || key === "End") return numbers.at(key === "Home" ? 0 : -1);
    if (key === "ArrowLeft" || key === "ArrowRight") return numbers[at + (key === "ArrowRight" ? 1 : -1)];
    let other = row;
    do other = key === "ArrowDown" ? other.nextElementSibling : other.previousElementSibling;
    while (other && !numbersOf(other).length);
    const cell = link.closest("td, th").cellIndex;
    return other && (numbersOf(other).find((number) => number.closest("td, th").cellIndex === cell) ?? numbersOf(other)[0]);
  }

  document.addEventListener("keydown", function (event) {
    const isMove = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key);
    const link = isMove && event.target.closest?.("table.board tbody :is(td.n > a, .team a)");
    if (!link || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const next = besides(link, event.key);
    if (!next) return;
    for (const number of numbersOf(next.closest("tr"))) number.tabIndex = number === next ? 0 : -1;
    next.focus();
  });

  // -- An address of the time before tabs, `#differences`, opens the tab whose link has this id ---------------
  function openTab() {
    const link = window.location.hash && document.querySelector(`.tabs a[id="${CSS.escape(window.location.hash.slice(1))}"]`);
    if (link && !link.hasAttribute("aria-current")) window.location.replace(link.href);
  }

  // A page that was asked for one number shows it unfolded.
  function unfoldTarget() {
    const wanted = window.location.hash && document.getElementById(window.location.hash.slice(1));
    const details = wanted && wanted.querySelector(":scope > details:only-of-type:not(.confirm)");
    if (details) details.open = true;
  }

  // -- Copying what is there to be pasted elsewhere -------------------------------------------------------
  function offerCopies(within) {
    if (!navigator.clipboard) return;
    for (const source of within.querySelectorAll("pre[tabindex], code.secret, code.command")) {
      if (source.dataset.copies) continue;
      source.dataset.copies = "yes";
      const button = document.createElement("button");
      button.type = "button";
      button.className = "quiet copy";
      button.textContent = say("Copy");
      button.addEventListener("click", async function () {
        try {
          await navigator.clipboard.writeText(source.textContent.trim());
          button.textContent = say("Copied");
        } catch {
          button.textContent = say("Not copied: select the text");
        }
        setTimeout(() => (button.textContent = say("Copy")), 2000);
      });
      source.after(button);
    }
  }

  // -- A file dropped on the form is the run ---------------------------------------------------------------
  function offerDrop() {
    const form = document.getElementById("run-form");
    const input = form && form.querySelector("input[type=file]");
    if (!input) return;
    const hint = document.createElement("p");
    hint.className = "help";
    hint.textContent = say("Or drop the file anywhere on this form.");
    input.after(hint);
    const mark = (event, isOver) => {
      event.preventDefault();
      form.classList.toggle("dropping", isOver);
    };
    form.addEventListener("dragover", (event) => mark(event, true));
    form.addEventListener("dragleave", (event) => mark(event, false));
    form.addEventListener("drop", function (event) {
      mark(event, false);
      if (!event.dataTransfer.files.length) return;
      input.files = event.dataTransfer.files;
      input.dispatchEvent(new Event("change", { bubbles: true }));
    });
  }

  // -- Sending a run ------------------------------------------------------------------------------------
  document.addEventListener("htmx:xhr:progress", function (event) {
    const bar = event.target.querySelector && event.target.querySelector("#upload-progress");
    if (!bar || !event.detail.lengthComputable) return;
    bar.hidden = event.detail.loaded === event.detail.total;
    bar.value = (100 * event.detail.loaded) / event.detail.total;
  });

  document.addEventListener("htmx:sendError", function (event) {
    const outcome = document.getElementById("outcome");
    if (outcome && event.target.id === "run-form") {
      outcome.textContent = say("The run did not reach the site. Nothing was stored or counted; try again.");
    }
  });

  // The answer of a site that is busy, or lacks what it needs, says so in the same place.
  document.addEventListener("htmx:beforeSwap", function (event) {
    if (event.detail.target.id === "outcome" && event.detail.xhr.status > 500) event.detail.shouldSwap = true;
  });

  document.addEventListener("htmx:afterSwap", function (event) {
    if (event.detail.target.id === "outcome") document.getElementById("outcome").focus();
  });

  // -- From instance to instance by j and k, past the end to the next page -------------------------------------
  document.addEventListener("keydown", function (event) {
    const step = { j: 1, k: -1 }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    const links = [...document.querySelectorAll(".read h2 a")];
    if (!links.length) return;
    const at = links.indexOf(document.activeElement);
    const next = at < 0 ? links[step > 0 ? 0 : links.length - 1] : links[at + step];
    if (next) {
      next.focus();
      next.scrollIntoView({ block: "start" });
    } else {
      const page = document.querySelector(`.pages a[rel=${step > 0 ? "next" : "prev"}]`);
      if (page) page.click();
    }
  });

  // On paper "9 minutes ago" would be wrong at once.
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("time[data-exact]").forEach((time) => (time.textContent = time.dataset.exact));
  });
  window.addEventListener("afterprint", tellAll);

  document.addEventListener("htmx:load", function (event) {
    tellAll();
    offerCopies(event.target);
  });
  document.addEventListener("DOMContentLoaded", function () {
    tellAll();
    offerCopies(document);
    offerDrop();
    offerExactTimes();
    unfoldTarget();
    openTab();
    setInterval(tellAll, 30000);
  });
  window.addEventListener("hashchange", unfoldTarget);
  window.addEventListener("hashchange", openTab);
})();
