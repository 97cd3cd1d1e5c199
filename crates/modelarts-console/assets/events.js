// Tab with the events of a job: new rows as they arrive, or on request.
import { handlers } from "./job.js";
import { stream } from "./page.js";
import { showTimes } from "./times.js";

const root = document.getElementById("events");
const table = document.getElementById("event-rows");
const region = document.getElementById("event-log");
const shown = document.getElementById("shown");
const empty = document.getElementById("no-events");
const live = document.getElementById("live");
const refreshButton = document.getElementById("refresh");
const status = document.getElementById("events-status");
const time = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

/** Position of the rows of the page in the stream. */
let last = root.dataset.last;
let close = null;

/** Returns the rows of a fragment of this server, in which all text is escaped. */
function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return [...template.content.querySelectorAll("tr")];
}

function count() {
  shown.textContent = table.rows.length;
  empty.hidden = table.rows.length > 0;
}

/** Inserts a row by its time, which is mostly the last one. Rows of equal time keep their order. */
function insert(row) {
  if (document.getElementById(row.id)) {
    return;
  }
  let before = null;
  let previous = table.lastElementChild;
  while (previous && Number(previous.dataset.time) > Number(row.dataset.time)) {
    before = previous;
    previous = previous.previousElementSibling;
  }
  table.insertBefore(row, before);
  showTimes(row);
}

function add(html) {
  parse(html).forEach(insert);
  count();
}

/** Returns the conditions of the page as the query of an address. */
function conditions() {
  const query = new URLSearchParams(location.search);
  query.delete("refresh");
  return query;
}

function open() {
  const query = conditions();
  query.set("view", "events");
  query.set("last", last);
  close = stream(`${root.dataset.job}/stream?${query}`, {
    ...handlers,
    reset: () => {
      table.replaceChildren();
      count();
    },
    events: add,
    end: () => {
      status.textContent = "The job has ended.";
      // No event follows, so there is nothing to refresh.
      live.closest("label").hidden = true;
      region.setAttribute("aria-live", "off");
    },
  });
}

/** Reads all rows again. Rows that the page has stay, so that focus and selection survive. */
async function refresh() {
  refreshButton.setAttribute("aria-busy", "true");
  try {
    const response = await fetch(location.href);
    if (!response.ok) {
      throw new Error(`${response.status} ${response.statusText}`);
    }
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = page.getElementById("events");
    const position = fresh.dataset.last;
    // Another series of events has other numbers.
    if (position.split("-")[0] !== last.split("-")[0]) {
      table.replaceChildren();
    }
    last = position;
    page.querySelectorAll("#event-rows tr").forEach((row) => insert(document.adoptNode(row)));
    handlers.head(page.getElementById("job-head").innerHTML);
    count();
    status.textContent = `Refreshed at ${time.format(new Date())}.`;
  } catch (error) {
    status.textContent = `Not refreshed: ${error.message}`;
  } finally {
    refreshButton.removeAttribute("aria-busy");
  }
}

/** Starts or ends the automatic refresh, and writes the choice to the address and to the form. */
async function change() {
  const address = new URL(location.href);
  const field = document.getElementById("refresh-field");
  field.disabled = live.checked;
  region.setAttribute("aria-live", live.checked ? "polite" : "off");
  if (live.checked) {
    address.searchParams.delete("refresh");
  } else {
    address.searchParams.set("refresh", "manual");
  }
  history.replaceState(null, "", address);
  close?.();
  close = null;
  if (live.checked) {
    await refresh();
    open();
  } else {
    status.textContent = "Automatic refresh is off.";
  }
}

live.closest("label").hidden = false;
live.addEventListener("change", change);
refreshButton.addEventListener("click", (event) => {
  event.preventDefault();
  refresh();
});
showTimes(root);
if (live.checked) {
  open();
}
