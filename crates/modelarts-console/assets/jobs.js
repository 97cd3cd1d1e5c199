// List of jobs: live rows, times in the zone of the user, and changes of several jobs.
import { banner, errorText, request, stream } from "./page.js";
import { patch, patchEach } from "./patch.js";
import { durationSince } from "./times.js";

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
  const hadFocus = rows.contains(document.activeElement);
  patch(rows, ids.map((id) => row(`job-${id}`)?.outerHTML ?? "").join(""));
  if (hadFocus && !rows.contains(document.activeElement)) {
    document.getElementById("main").focus();
  }
  const isEmpty = rows.rows.length === 0;
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
    const button = event.submitter ?? form.querySelector("button");
    if (button.value) {
      event.preventDefault();
      confirm(button);
    }
  });
  showSelection();
}
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
