// Dialog that chooses an address in OBS for a control of the form.
import { errorText, request } from "./page.js";

const dialog = document.getElementById("browse");
const field = document.getElementById("browse-address");
const list = document.getElementById("browse-list");
const problem = document.getElementById("browse-problem");
const choose = document.getElementById("browse-choose");

/** Control whose value is chosen. */
let control = null;
/** Called after a value was chosen. */
let onChosen = () => {};

/** Returns the address of the code directory, in which the boot file is. */
function codeDirectory() {
  return control.form.elements.code_dir.value.replace(/^\/(?=[^/])/, "obs://");
}

/** Number of the last request, whose response is shown. */
let latest = 0;
/** Address of the directory that is shown. */
let shown = "";

/** Shows the contents of a directory; without an address, those of the bucket for new files. */
async function open(address) {
  latest += 1;
  const number = latest;
  problem.textContent = "";
  field.value = address;
  choose.disabled = true;
  let directory = null;
  try {
    directory = await request(`/create/objects?${new URLSearchParams(address ? { address } : {})}`);
  } catch (error) {
    if (number === latest) {
      list.replaceChildren();
      problem.textContent = errorText(error);
    }
    return;
  }
  if (number !== latest) {
    return;
  }
  field.value = directory.address;
  shown = directory.address;
  const isFile = control.name === "boot_file";
  choose.hidden = isFile;
  choose.disabled = false;
  const rows = directory.directories.map(({ name, address }) => row(`${name}/`, "", () => open(address)));
  rows.push(...directory.files.map(({ name, address, size }) =>
    row(name, size, isFile && name.endsWith(".py") ? () => take(address) : null)));
  if (directory.parent) {
    rows.unshift(row("..", "", () => open(directory.parent)));
  }
  if (rows.length === 0) {
    rows.push(row("Nothing is below this address.", "", null));
  }
  if (directory.has_more) {
    rows.push(row("There are more entries.", "", null));
  }
  list.replaceChildren(...rows);
  (list.querySelector("button") ?? field).focus();
}

/** Returns an entry: a button if it can be opened or chosen, otherwise a text. */
function row(name, size, action) {
  const item = document.createElement("li");
  const text = document.createElement(action ? "button" : "span");
  text.textContent = name;
  if (action) {
    text.type = "button";
    text.addEventListener("click", action);
  }
  item.append(text);
  if (size) {
    const note = document.createElement("span");
    note.className = "muted";
    note.textContent = ` ${size}`;
    item.append(note);
  }
  return item;
}

function take(address) {
  const code = codeDirectory();
  const isInside = control.name === "boot_file" && code && address.startsWith(code.replace(/\/*$/, "/"));
  control.value = isInside ? address.slice(code.replace(/\/*$/, "/").length) : address;
  dialog.close();
  control.focus();
  onChosen(control);
}

/**
 * Lets buttons with `data-browse` choose the values of their controls.
 *
 * @param {HTMLFormElement} form Form with the controls.
 * @param {(control: HTMLElement) => void} chosen Called with a control that has a new value.
 */
export function browseButtons(form, chosen) {
  onChosen = chosen;
  form.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-browse]");
    if (button) {
      control = document.getElementById(button.dataset.browse);
      dialog.showModal();
      open(control.name === "boot_file" ? codeDirectory() : control.value);
    }
  });
  document.getElementById("browse-open").addEventListener("click", () => open(field.value));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      open(field.value);
    }
  });
  choose.addEventListener("click", () => take(shown));
}
