// Long forms keep what somebody types, in this browser, for the same account and for an hour: a session that has
// ended takes no text with it. Nothing is sent without a button; passwords, tokens and files are never kept.
(function () {
  "use strict";
  const say = window.citeboardSay;
  const [PREFIX, HOUR, PAUSE] = ["citeboard-draft:", 3600000, 300];
  //: A form with so many fields is long, and one with a field of several lines.
  const MANY = 8;
  const TYPES = ["text", "email", "url", "number", "search", "tel", "date", "time", "datetime-local", "checkbox", "radio"];
  const SECRET = /password|token|secret/i;
  const nav = document.querySelector("nav[data-account]");
  const account = nav ? nav.dataset.account : "";

  // -- What is stored -----------------------------------------------------------------------------------
  function read(key) {
    try {
      return JSON.parse(localStorage.getItem(key));
    } catch {
      return null;
    }
  }

  function write(key, draft) {
    try {
      localStorage.setItem(key, JSON.stringify(draft));
    } catch {
      // Without storage, or room in it, nothing is kept.
    }
  }

  function remove(key) {
    try {
      localStorage.removeItem(key);
    } catch {
      // There is nothing to remove.
    }
  }

  function keys() {
    try {
      return Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
    } catch {
      return [];
    }
  }

  // -- Which forms, and which of their fields -------------------------------------------------------------
  function fieldsOf(form) {
    return [...form.elements].filter(function (field) {
      if (!field.name || field.disabled || SECRET.test(field.name)) return false;
      return ["TEXTAREA", "SELECT"].includes(field.tagName) || (field.tagName === "INPUT" && TYPES.includes(field.type));
    });
  }

  function isLong(form) {
    // A field may have the name of a property of its form.
    if (!form || form.getAttribute("method") !== "post" || form.querySelector("input[type=password]")) return false;
    const fields = fieldsOf(form);
    return fields.length >= MANY || fields.some((field) => field.tagName === "TEXTAREA");
  }

  function addressOf(form) {
    const path = new URL(form.getAttribute("action") || "", location.href).pathname;
    return `${PREFIX}${account}:${path}:`;
  }

  function keyOf(form) {
    return `${addressOf(form)}${form.getAttribute("id") || ""}:${fieldsOf(form)[0].name}`;
  }

  const isTicked = (field) => field.type === "checkbox" || field.type === "radio";
  const nameOf = (field) => (isTicked(field) ? `${field.name}=${field.value}` : field.name);
  const chosenOf = (field, is) => JSON.stringify([...field.options].filter(is).map((option) => option.value));

  function valueOf(field) {
    if (isTicked(field)) return field.checked;
    return field.tagName === "SELECT" ? chosenOf(field, (option) => option.selected) : field.value;
  }

  function shownAs(field) {
    if (isTicked(field)) return field.defaultChecked;
    if (field.tagName !== "SELECT") return field.defaultValue;
    const chosen = chosenOf(field, (option) => option.defaultSelected);
    return chosen === "[]" && !field.multiple ? JSON.stringify([...field.options].slice(0, 1).map((one) => one.value)) : chosen;
  }

  function fill(field, value) {
    if (isTicked(field)) field.checked = value;
    else if (field.tagName !== "SELECT") field.value = value;
    else for (const option of field.options) option.selected = JSON.parse(value).includes(option.value);
  }

  // What a field held when its form was shown, by which the site sees that somebody else has changed it since.
  const heldBefore = (form, field) => form.elements[`initial-${field.name}`];

  // -- Keeping, and bringing back ---------------------------------------------------------------------------
  function keep(form, isSent = false) {
    const key = keyOf(form);
    const known = read(key) || { values: {}, before: {} };
    const draft = { at: Date.now(), account, isSent, values: {}, before: {} };
    for (const field of fieldsOf(form)) {
      const name = nameOf(field);
      if (valueOf(field) === shownAs(field) && !(name in known.values)) continue;
      draft.values[name] = valueOf(field);
      const held = heldBefore(form, field);
      if (held) draft.before[field.name] = field.name in known.before ? known.before[field.name] : held.value;
    }
    if (Object.keys(draft.values).length) write(key, draft);
  }

  // A page that asks whether to go on sends hidden fields to the address of the long form.
  function keepAsSent(form) {
    for (const key of keys()) {
      const draft = key.startsWith(addressOf(form)) && read(key);
      if (draft) write(key, { ...draft, isSent: true });
    }
  }

  function bringBack(form) {
    const key = keyOf(form);
    const draft = read(key);
    const fields = draft ? fieldsOf(form).filter((field) => nameOf(field) in draft.values) : [];
    const changed = fields.filter((field) => valueOf(field) !== draft.values[nameOf(field)]);
    if (!changed.length) return;
    const held = new Map();
    for (const field of changed) {
      fill(field, draft.values[nameOf(field)]);
      const hidden = heldBefore(form, field);
      if (hidden && field.name in draft.before) {
        held.set(hidden, hidden.value);
        hidden.value = draft.before[field.name];
      }
    }
    const note = document.createElement("p");
    note.className = "note";
    note.setAttribute("role", "status");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = say("Discard the text");
    button.addEventListener("click", function () {
      form.reset();
      held.forEach((value, hidden) => (hidden.value = value));
      remove(key);
      note.remove();
    });
    note.append(say("What you typed here is back. It has not been sent."));
    note.append(" ", button);
    form.prepend(note);
  }

  // A form that was sent is done with, unless the answer was a refusal or the page to sign in.
  function settle() {
    const [visit] = performance.getEntriesByType("navigation");
    const isRefused = visit && (visit.type !== "navigate" || visit.responseStatus >= 400);
    for (const key of keys()) {
      const draft = read(key);
      const isOver = !draft || !(Date.now() - draft.at < HOUR) || (account && draft.account !== account);
      if (isOver || (draft.isSent && account && !isRefused)) remove(key);
      else if (draft.isSent) write(key, { ...draft, isSent: false });
    }
  }

  const waiting = new Map();

  function keepSoon(event) {
    const form = event.target.form;
    if (!account || !isLong(form)) return;
    clearTimeout(waiting.get(form));
    waiting.set(form, setTimeout(() => keep(form), PAUSE));
  }

  document.addEventListener("input", keepSoon);
  document.addEventListener("change", keepSoon);
  document.addEventListener("submit", function (event) {
    const form = event.target;
    clearTimeout(waiting.get(form));
    if (form.matches("[data-signs-out]")) keys().forEach(remove);
    else if (account && isLong(form)) keep(form, true);
    else if (account && form.getAttribute("method") === "post") keepAsSent(form);
  });
  document.addEventListener("click", function (event) {
    const link = event.target.closest("a[data-leaves-form]");
    if (link) keys().filter((key) => key.startsWith(`${PREFIX}${account}:${location.pathname}:`)).forEach(remove);
  });
  document.addEventListener("htmx:afterRequest", function (event) {
    const form = event.detail.elt;
    if (account && event.detail.successful && form.matches("form") && isLong(form)) remove(keyOf(form));
  });
  document.addEventListener("DOMContentLoaded", function () {
    settle();
    if (account) [...document.forms].filter(isLong).forEach(bringBack);
  });
})();
