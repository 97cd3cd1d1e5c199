// List of jobs: live rows, times in the zone of the user, and changes of several jobs.
import { banner, errorText, request, stream } from "./page.js";

const AGE_INTERVAL = 10_000;

const form = document.getElementById("bulk");
const rows = document.getElementById("rows");
const news = document.getElementById("news");
const selectAll = document.getElementById("select-all");

/** Returns the elements of a text from this server, in which all text is escaped. */
function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

/** Returns a time span in its two largest units, such as `2m51s`. */
function duration(seconds) {
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3_600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [Math.floor(seconds) % 60, "s"],
  ];
  const first = Math.max(0, parts.findIndex(([count]) => count > 0));
  const shown = seconds < 1 ? [[0, "s"]] : parts.slice(first, first + 2);
  return shown.map(([count, unit]) => `${count}${unit}`).join("");
}

/** Writes ages, and times of their titles in the zone of the user. */
function writeAges() {
  for (const time of document.querySelectorAll("time[data-age]")) {
    const created = new Date(time.dateTime);
    const age = duration(Math.max(0, (Date.now() - created) / 1_000));
    if (time.textContent !== age) {
      time.textContent = age;
    }
    time.title = created.toLocaleString();
  }
}

/** Returns `true` if the script must not replace an element: only its age or its mark differ. */
function isSame(old, next) {
  const time = (cell) => cell.querySelector("time[data-age]")?.dateTime;
  if (time(old) && time(old) === time(next)) {
    return true;
  }
  const select = old.querySelector("input");
  if (select) {
    const can = next.querySelector("input").dataset.canStop;
    if (can === undefined) {
      delete select.dataset.canStop;
    } else {
      select.dataset.canStop = can;
    }
    return true;
  }
  return old.isEqualNode(next);
}

/** Changes the rows to those of the server. Rows that remain keep their selection and the focus. */
function replaceRows(html) {
  const table = document.createElement("table");
  table.innerHTML = `<tbody>${html}</tbody>`;
  const next = [...table.tBodies[0].rows];
  const wanted = new Set(next.map((row) => row.id));
  const hadFocus = rows.contains(document.activeElement);
  for (const row of [...rows.rows]) {
    if (!wanted.has(row.id)) {
      row.remove();
    }
  }
  let place = rows.firstElementChild;
  for (const row of next) {
    const old = document.getElementById(row.id);
    if (old && old === place) {
      place = place.nextElementSibling;
    } else {
      rows.insertBefore(old ?? row, place);
    }
    [...(old?.cells ?? [])].forEach((cell, index) => {
      if (!isSame(cell, row.cells[index])) {
        cell.replaceWith(row.cells[index].cloneNode(true));
      }
    });
  }
  if (hadFocus && !rows.contains(document.activeElement)) {
    document.getElementById("main").focus();
  }
  const isEmpty = next.length === 0;
  document.getElementById("list").hidden = isEmpty;
  document.getElementById("empty").hidden = !isEmpty;
  const actions = document.getElementById("bulk-actions");
  if (actions) {
    actions.hidden = isEmpty;
  }
  document.getElementById("service-problem")?.remove();
  writeAges();
  showSelection();
}

/** Replaces the numbers and the links of phases and pages, and keeps the focus. */
function replaceCounts(html) {
  for (const next of [...parse(html).children]) {
    const old = document.getElementById(next.id);
    if (old && !old.isEqualNode(next)) {
      const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
      old.replaceWith(next);
      if (focused) {
        document.getElementById(focused)?.focus();
      }
    }
  }
}

/** Returns the check boxes of the selected jobs. */
function selection() {
  return [...rows.querySelectorAll('input[name="id"]:checked')];
}

/** Shows the number of selected jobs, and permits what can be done with them. */
function showSelection() {
  if (!selectAll) {
    return;
  }
  const chosen = selection();
  const all = rows.querySelectorAll('input[name="id"]').length;
  selectAll.checked = all > 0 && chosen.length === all;
  selectAll.indeterminate = chosen.length > 0 && chosen.length < all;
  const text = chosen.length === 0 ? "Select jobs in the list." : `${chosen.length} selected`;
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

/** Opens the dialog that confirms a change of the selected jobs. */
function confirm(action) {
  const chosen = selection();
  if (chosen.length === 0) {
    news.textContent = "Select jobs in the list first.";
    return;
  }
  const isStop = action === "stop";
  const ended = isStop ? chosen.filter((box) => box.dataset.canStop === undefined).length : 0;
  const text = isStop
    ? "Processes of these jobs end, and are not started again."
    : "Events and logs are deleted too. Outputs in OBS remain. This cannot be undone.";
  const verb = isStop ? "Stop" : "Delete";
  const dialog = document.getElementById("confirm");
  document.getElementById("confirm-title").textContent = `${verb} ${count(chosen.length)}?`;
  document.getElementById("confirm-text").textContent =
    text + (ended ? ` ${count(ended)} of these ended before, and will not change.` : "");
  document.getElementById("confirm-problem").textContent = "";
  const items = chosen.map((box) => {
    const item = document.createElement("li");
    item.textContent = name(box);
    return item;
  });
  document.getElementById("confirm-jobs").replaceChildren(...items);
  const yes = document.getElementById("confirm-yes");
  yes.textContent = `${verb} ${count(chosen.length)}`;
  yes.className = isStop ? "primary" : "danger";
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
setInterval(writeAges, AGE_INTERVAL);
if (selectAll) {
  selectAll.hidden = false;
  selectAll.addEventListener("change", () => {
    for (const box of rows.querySelectorAll('input[name="id"]')) {
      box.checked = selectAll.checked;
    }
    showSelection();
  });
  rows.addEventListener("change", showSelection);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    confirm(event.submitter?.value ?? "stop");
  });
  showSelection();
}
if (form.dataset.stream) {
  stream(form.dataset.stream, {
    rows: replaceRows,
    counts: replaceCounts,
    interrupted: (reason) => banner(`The service does not return the jobs: ${reason}`),
    resumed: () => {
      banner("");
      document.getElementById("service-problem")?.remove();
    },
  });
}
