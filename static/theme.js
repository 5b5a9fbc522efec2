// Runs before anything is painted: a remembered choice of light or dark stands on the page from the start.
(function () {
  "use strict";
  // Return a text of a script in the language of the page; pages in English need no translations.
  window.citeboardSay = function (english) {
    const texts = document.getElementById("script-texts");
    return (texts && JSON.parse(texts.textContent)[english]) || english;
  };

  const KEY = "citeboard-theme";
  const root = document.documentElement;
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

  function remembered() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  }

  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
  }

  function label(button) {
    button.hidden = false;
    button.textContent = window.citeboardSay(isDark() ? "Use light colours" : "Use dark colours");
  }

  const choice = remembered();
  if (choice === "light" || choice === "dark") root.dataset.theme = choice;

  document.addEventListener("DOMContentLoaded", function () {
    const button = document.getElementById("theme-switch");
    if (!button) return;
    label(button);
    button.addEventListener("click", function () {
      const next = isDark() ? "light" : "dark";
      root.dataset.theme = next;
      try {
        // What the system asks for anyway need not be remembered, so that it can change.
        if ((next === "dark") === prefersDark.matches) localStorage.removeItem(KEY);
        else localStorage.setItem(KEY, next);
      } catch {
        // Without storage the choice lasts for this page.
      }
      label(button);
      document.dispatchEvent(new CustomEvent("citeboard:theme"));
    });
    prefersDark.addEventListener("change", function () {
      label(button);
      document.dispatchEvent(new CustomEvent("citeboard:theme"));
    });
  });
})();
