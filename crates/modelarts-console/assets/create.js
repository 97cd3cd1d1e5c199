// Form that creates a job: checks while typing, rows, submission.
import { errorText, request } from "./page.js";
import { browseButtons } from "./browse.js";
import { dropZones } from "./drop.js";

const FORM = "application/x-www-form-urlencoded";
const DELAY = 250;
const POLL = 500;
/** Name of the kept fields. A copy of a job has fields of its own. */
const KEPT = `form of ${location.pathname}${location.search}`;
const NOT_CREATED = "The job was not created.";

const form = document.getElementById("create");
const submission = document.getElementById("submission");
const staged = document.getElementById("staged");
// Names of controls whose errors are shown: those that the user has changed or left.
const touched = new Set();
let showsAll = "shown" in form.dataset;
/** `true` until the user has entered something: empty controls are no mistakes before. */
let isBlank = "blank" in form.dataset;
let timer = 0;
let running = null;

/** Returns the fields of the form as the body of a request. */
function fields(action) {
  const data = new URLSearchParams(new FormData(form));
  if (action) {
    data.set("action", action);
  }
  return data.toString();
}

/** Names of fields that may contain secrets, which are not kept. */
const SECRET = /^(csrf|other|environments\[\d+\]\.value)$/;

/** Keeps the fields for this tab, so that a reload and the way back do not lose them. */
function keep() {
  const kept = [...new FormData(form)].filter(([name, value]) => typeof value === "string" && !SECRET.test(name));
  sessionStorage.setItem(KEPT, new URLSearchParams(kept));
}

/** Fills in the fields that were kept. */
function restore() {
  const kept = new URLSearchParams(sessionStorage.getItem(KEPT) ?? "");
  if (kept.size > 0) {
    // Rows that the user has removed.
    for (const row of form.querySelectorAll("[data-row]")) {
      if (![...row.querySelectorAll("[name]")].some(({ name }) => kept.has(name))) {
        row.remove();
      }
    }
  }
  for (const [name, value] of kept) {
    const list = /^(\w+)\[\d+\]/.exec(name)?.[1];
    const rows = list && form.querySelector(`[data-list="${list}"]`);
    if (rows && !form.elements[name]) {
      addRow(rows, /\[(\d+)\]/.exec(name)[1]);
    }
    // The value of a group of radio buttons is that of the chosen one.
    if (form.elements[name]) {
      form.elements[name].value = value;
    }
  }
  document.getElementById("kept").hidden = kept.size === 0;
  isBlank &&= kept.size === 0;
  form.querySelectorAll("input, textarea, select").forEach((control) => {
    if (control.value && control.value !== control.defaultValue && control.type !== "hidden") {
      unfold(control);
    }
  });
}

/** Returns the id of a control by its name. */
function idOf(name) {
  return "f-" + name.replaceAll(/[[.]/g, "-").replaceAll("]", "");
}

/** Sets a text only if it differs, so that selections stay and nothing is announced twice. */
function setText(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

/** Returns a finding in one line. */
function textOf(finding) {
  const code = finding.code ? ` (${finding.code})` : "";
  return finding.rule + code + (finding.advice ? `; ${finding.advice}` : "");
}

/** Shows the sentence about a check above its findings, and beside the button in narrow windows. */
function showState(text) {
  for (const id of ["state", "result"]) {
    setText(document.getElementById(id), text);
  }
}

/** Shows findings as a list of links to their controls. */
function showList(list, findings) {
  while (list.children.length > findings.length) {
    list.lastElementChild.remove();
  }
  findings.forEach((finding, index) => {
    let item = list.children[index];
    const href = finding.field && `#${idOf(finding.field)}`;
    const text = textOf(finding);
    const key = `${href} ${finding.label} ${text}`;
    if (item?.dataset.key === key) {
      return;
    }
    if (!item) {
      item = list.appendChild(document.createElement("li"));
    }
    item.dataset.key = key;
    const label = document.createElement(href ? "a" : "strong");
    if (href) {
      label.href = href;
    }
    label.textContent = finding.label;
    item.replaceChildren(label, `: ${text}`);
  });
}

/** Opens the parts of the form that a control is in. */
function unfold(control) {
  for (let part = control.closest("details"); part; part = part.parentElement.closest("details")) {
    part.open = true;
  }
}

/** Sets the value of a control as if the user had entered it. */
function setValue(control, value) {
  control.value = value;
  control.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Shows errors at the controls that the user has touched, or at all. */
function showAtControls(errors) {
  const byName = new Map();
  for (const error of errors) {
    if (error.field && (showsAll || touched.has(error.field))) {
      const texts = byName.get(error.field) ?? [];
      byName.set(error.field, [...texts, textOf(error)]);
    }
  }
  for (const control of form.querySelectorAll("input[id], select[id], textarea[id]")) {
    const place = document.getElementById(`${control.id}-error`);
    if (!place) {
      continue;
    }
    const texts = byName.get(control.name) ?? [];
    setText(place, texts.join(" "));
    place.hidden = texts.length === 0;
    if (texts.length > 0) {
      control.setAttribute("aria-invalid", "true");
      unfold(control);
    } else {
      control.removeAttribute("aria-invalid");
    }
  }
}

/** Shows the result of a check. */
function show(result) {
  const count = result.errors.length;
  const states = ["The job breaks no rule.", "1 rule is broken."];
  if (!isBlank) {
    showState(states[count] ?? `${count} rules are broken.`);
    showList(document.getElementById("errors"), result.errors);
  }
  showList(document.getElementById("warnings"), result.warnings);
  document.getElementById("warnings-title").hidden = result.warnings.length === 0;
  setText(document.getElementById("command"), result.command);
  setText(document.getElementById("body"), result.body);
  showAtControls(result.errors);
  const scripts = result.scripts.map((script) => {
    const option = document.createElement("option");
    option.value = script;
    return option;
  });
  document.getElementById("scripts").replaceChildren(...scripts);
  const bootFile = form.elements.boot_file;
  if (result.scripts.length === 1 && !bootFile.value && !touched.has("boot_file")) {
    setValue(bootFile, result.scripts[0]);
  }
  zones.show(new Map(result.files));
}

/** Checks the form now. The result of a submission is that of the form as it was. */
async function check() {
  clearTimeout(timer);
  if (submission.textContent === NOT_CREATED) {
    setText(submission, "");
  }
  running?.abort();
  const controller = new AbortController();
  running = controller;
  try {
    const { signal } = controller;
    show(await request("/create/check", { method: "POST", body: fields(), type: FORM, signal }));
  } catch (error) {
    if (error.name !== "AbortError") {
      showState(`The form is not checked: ${errorText(error)}`);
    }
  }
}

/** Checks the form soon. */
function checkSoon() {
  clearTimeout(timer);
  timer = setTimeout(check, DELAY);
}

/** Shows the progress of the files until the result is called. */
function pollProgress() {
  const url = `/create/progress/${form.elements.draft.value}`;
  const poll = async () => {
    const { progress } = await request(url).catch(() => ({ progress: null }));
    // The files are sent before the job is created.
    const isSending = progress !== null && progress.done < progress.total;
    if (!interval) {
      return;
    }
    staged.hidden = !isSending;
    staged.max = progress?.total || 1;
    staged.value = progress?.done ?? 0;
    setText(submission, isSending ? `Sending ${progress.part} to OBS…` : "Creating the job…");
  };
  let interval = setInterval(poll, POLL);
  return () => {
    clearInterval(interval);
    interval = 0;
    staged.hidden = true;
  };
}

/** Creates the job, and opens its page. */
async function create(button) {
  showsAll = true;
  isBlank = false;
  button.disabled = true;
  submission.classList.remove("error");
  setText(submission, "Waiting for the files…");
  let stop = () => {};
  try {
    await zones.finished();
    setText(submission, "Creating the job…");
    stop = pollProgress();
    const result = await request("/create", { method: "POST", body: fields("create"), type: FORM });
    if (result.location) {
      sessionStorage.removeItem(KEPT);
      location.assign(result.location);
      return;
    }
    show(result);
    setText(submission, NOT_CREATED);
    document.querySelector("#errors a")?.focus();
  } catch (error) {
    submission.classList.add("error");
    setText(submission, errorText(error));
  } finally {
    stop();
    button.disabled = false;
  }
}

/** Adds a row to a list, by default with the next number. */
function addRow(list, given) {
  const rows = list.querySelector("[data-rows]");
  const numbers = Array.from(rows.querySelectorAll("[name]"), (control) =>
    Number(/\[(\d+)\]/.exec(control.name)[1]));
  const number = given ?? String(Math.max(-1, ...numbers) + 1);
  const row = list.querySelector("template").content.firstElementChild.cloneNode(true);
  for (const element of [row, ...row.querySelectorAll("*")]) {
    for (const attribute of element.attributes) {
      attribute.value = attribute.value.replaceAll("INDEX", number);
    }
  }
  rows.append(row);
  reveal(row);
  return row;
}

/** Removes a row with its files. */
function removeRow(row) {
  const list = row.closest("[data-list]");
  zones.clear(row);
  row.remove();
  list.querySelector("[data-add]").focus();
  keep();
  checkSoon();
}

/** Shows what works with scripts only. */
function reveal(root) {
  for (const button of root.querySelectorAll("[data-add], [data-remove], [data-browse]")) {
    button.hidden = false;
  }
  for (const button of root.querySelectorAll("[data-more]")) {
    button.hidden = true;
  }
  if ("files" in form.dataset) {
    for (const zone of root.querySelectorAll(".drop")) {
      zone.hidden = false;
    }
  }
}

/** Flavors that the chosen algorithm permits; `null` for all. */
let permitted = null;
/** Rows of the algorithm that was chosen before. */
let filled = [];

/** Disables flavors of other types than the chosen one, and those that the algorithm forbids. */
function limitFlavors() {
  const type = form.elements.resource_type.value;
  for (const group of form.querySelectorAll("#f-flavor optgroup")) {
    group.disabled = type !== "" && ["CPU", "GPU", "Ascend"].includes(group.label) && group.label !== type;
    for (const option of group.children) {
      // A disabled option is not submitted, so the chosen one reports its rule instead.
      option.disabled =
        form.elements.mode.value === "stored" && permitted !== null && !permitted.has(option.value) && !option.selected;
    }
  }
}

/** Adds rows for names that a list does not have, with the values of their columns. */
function addRows(list, rows) {
  const place = form.querySelector(`[data-list="${list}"]`);
  const names = new Set([...place.querySelectorAll('[name$="].name"]')].map(({ value }) => value));
  for (const [name, value] of rows.filter(([name]) => !names.has(name))) {
    const row = addRow(place);
    row.querySelector('[name$="].name"]').value = name;
    if (value !== undefined) {
      row.querySelector('[name$="].value"]').value = value;
    }
    unfold(row);
    filled.push(row);
  }
}

/** Fills in the parameters and the channels of the chosen algorithm. */
async function takeAlgorithm() {
  const id = form.elements.algorithm.value;
  permitted = null;
  if (id) {
    try {
      const found = await request(`/create/algorithms/${encodeURIComponent(id)}`);
      if (form.elements.algorithm.value !== id) {
        return;
      }
      filled.forEach((row) => row.remove());
      filled = [];
      permitted = new Set(found.flavors);
      addRows("parameters", found.parameters);
      addRows("inputs", found.inputs.map((name) => [name]));
      addRows("outputs", found.outputs.map((name) => [name]));
    } catch {
      // An algorithm that the list does not have is checked by the service.
    }
  }
  limitFlavors();
  keep();
  checkSoon();
}

// The kept fields have the draft that contains the dropped files.
if (!showsAll) {
  restore();
}
const zones = dropZones(form, checkSoon);

form.addEventListener("input", (event) => {
  touched.add(event.target.name);
  filled = filled.filter((row) => !row.contains(event.target));
  isBlank = false;
  keep();
  limitFlavors();
  checkSoon();
});
form.elements.algorithm.addEventListener("change", takeAlgorithm);
form.addEventListener("focusout", (event) => {
  if (event.target.name && event.target.value && !touched.has(event.target.name)) {
    touched.add(event.target.name);
    checkSoon();
  }
});
form.addEventListener("click", (event) => {
  if (event.target.closest("[data-add]")) {
    addRow(event.target.closest("[data-list]")).querySelector("input, select")?.focus();
  } else if (event.target.closest("[data-remove]")) {
    removeRow(event.target.closest("[data-row]"));
  }
});
form.addEventListener("submit", (event) => {
  // The server fills in the form again.
  if (event.submitter?.value === "show") {
    return;
  }
  event.preventDefault();
  if (event.submitter?.value === "create") {
    create(event.submitter);
  } else {
    showsAll = true;
    isBlank = false;
    check();
  }
});
// A page that comes back from the history of the browser has its old state.
window.addEventListener("pageshow", check);
browseButtons(form, (control) => setValue(control, control.value));
const unfoldAll = document.getElementById("unfold");
unfoldAll.hidden = false;
unfoldAll.addEventListener("click", () => {
  form.querySelectorAll("details[data-fold]").forEach((part) => (part.open = true));
  unfoldAll.hidden = true;
});
document.querySelector(".create aside").addEventListener("click", ({ target }) => {
  const link = target.closest('a[href^="#f-"]');
  const control = link && document.getElementById(link.hash.slice(1));
  if (control) {
    unfold(control);
    control.focus();
  }
});
document.getElementById("start-over").addEventListener("click", () => {
  sessionStorage.removeItem(KEPT);
  location.reload();
});
reveal(document);
limitFlavors();
