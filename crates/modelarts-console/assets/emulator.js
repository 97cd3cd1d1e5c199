// Control of the emulator: fields of the kind of fault, and requests as they arrive.
import { banner } from "./page.js";
import { showTimes } from "./times.js";
import { patch } from "./patch.js";

/** Pause between two reads of the requests, in milliseconds. */
const INTERVAL = 2000;

/** Shows the fields that the chosen kind of fault has. */
function chooseFields(form) {
  const kind = form.elements.fault.value;
  for (const field of form.querySelectorAll("[data-kinds]")) {
    field.hidden = !field.dataset.kinds.split(" ").includes(kind);
  }
}

/**
 * Makes the requests those of another page. It has more rows on top and fewer at the end, so rows
 * that stay keep the focus, the selection and open bodies.
 */
function updateRequests(page) {
  const old = document.getElementById("requests");
  const rows = [...page.getElementById("requests").rows];
  const text = (row) => row.textContent;
  const before = [...old.rows].map(text);
  const after = rows.map(text);
  let added = 0;
  while (added < rows.length && after.slice(added).some((row, at) => before[at] !== row)) {
    added += 1;
  }
  if (added > 0) {
    old.prepend(...rows.slice(0, added));
  }
  while (old.rows.length > rows.length) {
    old.rows[old.rows.length - 1].remove();
  }
}

/** Reads the page again, and shows what has changed. */
async function refresh() {
  let response;
  try {
    response = await fetch(location.href, { headers: { Accept: "text/html" } });
  } catch {
    banner("The server of this page does not respond; trying again…");
    return;
  }
  if (!response.ok) {
    banner(`The emulator does not respond (${response.status}); trying again…`);
    return;
  }
  banner("");
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  updateRequests(page);
  for (const id of ["now", "rules", "counts"]) {
    patch(document.getElementById(id), page.getElementById(id).innerHTML);
  }
}

showTimes(document);
const form = document.getElementById("fault");
if (form) {
  form.elements.fault.addEventListener("change", () => chooseFields(form));
  chooseFields(form);
}

const choice = document.getElementById("refresh");
choice.hidden = false;
// A page that shows a rejected change has no address that can be read again.
const isPage = location.pathname === "/emulator";
const repeat = async () => {
  if (isPage && !document.hidden && choice.querySelector("input").checked) {
    await refresh();
  }
  setTimeout(repeat, INTERVAL);
};
setTimeout(repeat, INTERVAL);
