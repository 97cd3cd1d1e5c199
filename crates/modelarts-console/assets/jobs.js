// List of jobs: live rows, times in the zone of the user, and changes of several jobs.
import { banner, errorText, request, stream } from "./page.js";
import { patch, patchEach } from "./patch.js";
import { durationSince, secondsSince } from "./times.js";

const AGE_INTERVAL = 10_000;

const form = document.getElementById("bulk");
const rows = document.getElementById("rows");
const news = document.getElementById("news");
const selectAll = document.getElementById("select-all");

/** Writes ages, and times of their titles in the zone of the user. */
function writeAges() {
  for (const time of document.querySelectorAll("time[data-age]")) {
    const created = new Date(time.dateTime);
    const age = durationSince(created);
    if (time.textContent !== age) {
      time.textContent = age;
    }
    time.title = created.toLocaleString();
  }
}

/** Changes the rows to those of the server. Rows that remain keep their selection and the focus. */
function showRows(data) {
  const { ids, html } = JSON.parse(data);
  const template = document.createElement("template");
  template.innerHTML = html;
  const row = (id) => template.content.getElementById(id) ?? document.getElementById(id);
  const focused = rows.contains(document.activeElement) ? document.activeElement : null;
  patch(rows, ids.map((id) => row(`job-${id}`)?.outerHTML ?? "").join(""));
  const isEmpty = rows.rows.length === 0;
  document.getElementById("list").hidden = isEmpty;
  document.getElementById("empty").hidden = !isEmpty;
  document.getElementById("bulk-actions").hidden = isEmpty;
  document.getElementById("service-problem")?.remove();
  writeAges();
  sort();
  if (focused && document.activeElement !== focused) {
    // Moving a row loses the focus in it.
    (rows.contains(focused) ? focused : document.getElementById("main")).focus();
  }
  showSelection();
}

/** Column by which the rows of the page are sorted, and its direction; `null` for the newest first. */
let sorted = null;

/** Returns the text of a cell, or the number or the time by which it is sorted. */
function keyOf(cell) {
  const start = cell.querySelector("[data-age], [data-since]");
  if (start) {
    return secondsSince(new Date(start.dateTime ?? start.dataset.since));
  }
  const text = cell.textContent.trim();
  const parts = [...text.matchAll(/(\d+)([dhms])/g)];
  if (parts.length && parts.map(([part]) => part).join("") === text) {
    const seconds = { d: 86_400, h: 3_600, m: 60, s: 1 };
    return parts.reduce((sum, [, count, unit]) => sum + count * seconds[unit], 0);
  }
  return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text.toLowerCase();
}

/** Sorts the rows of the page. */
function sort() {
  if (!sorted) {
    return;
  }
  const keyed = [...rows.rows].map((row) => [keyOf(row.cells[sorted.column]), row]);
  const compare = (one, other) =>
    typeof one === typeof other && typeof one === "number" ? one - other : String(one).localeCompare(String(other));
  keyed.sort(([one], [other]) => sorted.direction * compare(one, other));
  if (keyed.some(([, row], index) => rows.rows[index] !== row)) {
    rows.append(...keyed.map(([, row]) => row));
  }
}

/** Makes the titles of the columns buttons that sort the rows. */
function makeSortable() {
  for (const title of document.querySelectorAll("#list thead th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.textContent = title.textContent;
    button.title = "Sorts the rows of this page";
    button.addEventListener("click", () => {
      const column = title.cellIndex;
      const isAgain = sorted?.column === column;
      sorted = { column, direction: isAgain ? -sorted.direction : 1 };
      document.querySelectorAll("#list thead th").forEach((other) => other.removeAttribute("aria-sort"));
      title.setAttribute("aria-sort", sorted.direction > 0 ? "ascending" : "descending");
      sort();
    });
    title.replaceChildren(button);
  }
}

/** Returns the check boxes of the selected jobs. */
function selection() {
  return [...rows.querySelectorAll('input[name="id"]:checked')];
}

/** Shows the number of selected jobs, and permits what can be done with them. */
function showSelection() {
  const chosen = selection();
  const all = rows.querySelectorAll('input[name="id"]').length;
  selectAll.checked = all > 0 && chosen.length === all;
  selectAll.indeterminate = chosen.length > 0 && chosen.length < all;
  const text = chosen.length === 0 ? "Select jobs in the list." : `${chosen.length} selected`;
  for (const button of document.querySelectorAll("#bulk-actions button")) {
    button.disabled = chosen.length < Number(button.dataset.least ?? 1);
  }
  const element = document.getElementById("selected");
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

/** Returns the name of the job of a check box. */
function name(box) {
  return box.closest("tr").querySelector("th a").textContent;
}

/** Returns a number of jobs as text. */
function count(number) {
  return number === 1 ? "1 job" : `${number} jobs`;
}

/** Opens the dialog that confirms the change of a button for the selected jobs. */
function confirm({ value: action, dataset: { verb, effect } }) {
  const chosen = selection();
  const cannot = chosen.filter((box) => !("canStop" in box.dataset)).length;
  const note = ` Jobs that have ended or are being stopped do not change: ${cannot} of these.`;
  const dialog = document.getElementById("confirm");
  document.getElementById("confirm-title").textContent = `${verb} ${count(chosen.length)}?`;
  document.getElementById("confirm-text").textContent =
    effect + (action === "stop" && cannot > 0 ? note : "");
  document.getElementById("confirm-problem").textContent = "";
  const items = chosen.map((box) => {
    const item = document.createElement("li");
    item.textContent = name(box);
    return item;
  });
  document.getElementById("confirm-jobs").replaceChildren(...items);
  const yes = document.getElementById("confirm-yes");
  yes.textContent = `${verb} ${count(chosen.length)}`;
  yes.disabled = false;
  yes.onclick = () => change(action, chosen, dialog, yes);
  dialog.showModal();
}

/** Changes the jobs, and reports the results. */
async function change(action, chosen, dialog, yes) {
  yes.disabled = true;
  const names = new Map(chosen.map((box) => [box.value, name(box)]));
  const body = new URLSearchParams(chosen.map((box) => ["id", box.value]));
  try {
    const { results } = await request(`/jobs/${action}`, { method: "POST", body });
    const failed = results.filter((result) => result.error);
    for (const box of chosen) {
      box.checked = failed.some((result) => result.id === box.value);
    }
    showSelection();
    dialog.close();
    const done = results.filter((result) => result.result);
    const lines = [...Map.groupBy(done, (result) => result.result)].map(
      ([result, jobs]) => `${jobs.map((job) => names.get(job.id)).join(", ")}: ${result}`,
    );
    lines.push(...failed.map(({ id, error }) => `${names.get(id)}: ${problemText(error)}`));
    news.replaceChildren(...lines.map(line));
    news.scrollIntoView({ block: "nearest" });
  } catch (error) {
    document.getElementById("confirm-problem").textContent = errorText(error);
    yes.disabled = false;
  }
}

/** Returns a line of the news. */
function line(text) {
  const element = document.createElement("span");
  element.textContent = text;
  return element;
}

/** Returns a problem of the service with its code and request id. */
function problemText({ message, advice, code, request_id: id }) {
  const facts = [code && `code ${code}`, id && `request ${id}`].filter(Boolean).join(", ");
  return [message, advice, facts].filter(Boolean).join("; ");
}

writeAges();
// Narrow windows show rows without titles of columns.
if (matchMedia("(min-width: 901px)").matches) {
  makeSortable();
}
setInterval(writeAges, AGE_INTERVAL);
selectAll.hidden = false;
selectAll.addEventListener("change", () => {
  for (const box of rows.querySelectorAll('input[name="id"]')) {
    box.checked = selectAll.checked;
  }
  showSelection();
});
rows.addEventListener("change", showSelection);
form.addEventListener("submit", (event) => {
  const button = event.submitter ?? form.querySelector("button");
  if (button.value) {
    event.preventDefault();
    confirm(button);
  }
});
showSelection();
if (form.dataset.stream) {
  stream(form.dataset.stream, {
    rows: showRows,
    counts: patchEach,
    interrupted: (reason) => banner(`The service does not return the jobs: ${reason}`),
    resumed: () => {
      banner("");
      document.getElementById("service-problem")?.remove();
    },
  });
}
