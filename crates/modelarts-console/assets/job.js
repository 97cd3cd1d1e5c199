// Page of a job: its header, and the time line and the diagnosis on the tabs that show them.
import { request, stream } from "./page.js";
import { patch } from "./patch.js";
import { showTimes } from "./times.js";

/** Pauses in milliseconds after a change of the job: the service has events and logs late. */
const DELAYS = [0, 3000, 12000];
/** Pause in milliseconds between two refreshes of a job that has not ended. */
const REFRESH = 30000;

const root = document.getElementById("job");
const address = `/jobs/${encodeURIComponent(root.dataset.id)}`;
let timers = [];
let shown = "";

/** Colours of the icon of the page, by the style of the phase. */
const ICONS = { completed: "#17692f", failed: "#b3201d", running: "#0b57c2", waiting: "#8a5a00", stopped: "#545c6b" };
const TITLE = document.title;

/** Shows the phase in the title and in the icon of the tab of the browser. */
function showSign() {
  const phase = document.querySelector("#job-head .phase");
  const colour = ICONS[[...phase.classList].find((name) => name in ICONS)];
  document.title = `${phase.querySelector("[aria-hidden]").textContent} ${TITLE}`;
  const circle = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7" fill="${colour}"/></svg>`;
  document.querySelector('link[rel="icon"]').href = `data:image/svg+xml,${encodeURIComponent(circle)}`;
}

/**
 * Shows a new header of the job, and refreshes the time line and the diagnosis if it differs.
 *
 * @param {string} html Header as the server renders it.
 */
export function updateHead(html) {
  const head = document.getElementById("job-head");
  const before = head.querySelector(".phase").textContent;
  patch(head, html);
  showSign();
  // The first header of a stream is usually that of the page.
  const isNew = shown ? html !== shown : head.querySelector(".phase").textContent !== before;
  shown = html;
  if (isNew) {
    refreshSoon();
  }
}

/**
 * Shows a notice about the job above its header; an empty one hides it.
 *
 * @param {string} text Notice.
 */
export function notice(text) {
  const element = document.getElementById("job-notice");
  if (element.textContent !== text) {
    element.textContent = text;
  }
  element.hidden = !text;
}

/** Handlers of the events that the streams of all tabs have. */
export const handlers = {
  head: updateHead,
  interrupted: (text) => notice(text || "The service does not respond; trying again…"),
  resumed: () => notice(""),
  vanished: () => {
    notice("This job was deleted. The page shows its last state.");
    for (const element of root.querySelectorAll("[data-since]")) {
      delete element.dataset.since;
    }
  },
};

function refreshSoon() {
  timers.forEach(clearTimeout);
  timers = DELAYS.map((delay) => setTimeout(refresh, delay));
}

async function refresh() {
  const summary = document.getElementById("job-summary");
  if (document.hidden || !summary) {
    return;
  }
  let parts;
  try {
    // The query has the choice of the user to see secrets.
    parts = await request(`${address}/parts${location.search}`);
  } catch {
    // The stream reports why the service or the server does not respond.
    return;
  }
  patch(summary, parts.summary);
  showWidths();
  const settings = document.getElementById("settings");
  if (settings) {
    patch(settings, parts.settings);
  }
}

/** Gives the stages of the time line widths by their durations. */
function showWidths() {
  for (const step of root.querySelectorAll(".timeline .step")) {
    step.style.flexGrow = Math.max(1, Number(step.dataset.seconds));
  }
}

/** Opens the dialog of a link, which leads to a page with the same question otherwise. */
function openDialog(event) {
  const link = event.target.closest("a[data-dialog]");
  const dialog = link && document.getElementById(link.dataset.dialog);
  if (dialog) {
    event.preventDefault();
    dialog.showModal();
  }
}

async function copy(event) {
  const button = event.target.closest("button[data-copy]");
  if (!button) {
    return;
  }
  const status = document.getElementById("copied");
  try {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
    status.textContent = "Copied";
  } catch {
    button.textContent = "Select the text to copy it";
    status.textContent = "Not copied: select the text to copy it";
  }
  setTimeout(() => {
    button.textContent = "Copy";
    status.textContent = "";
  }, 2000);
}

root.addEventListener("click", openDialog);
root.addEventListener("click", copy);
root.addEventListener("input", ({ target }) => {
  if (target.form) {
    target.form.dataset.edited = "";
  }
});
for (const button of root.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
}
showTimes(root);
showWidths();
showSign();
// Other tabs have streams of their own.
if (!["events", "logs"].includes(root.dataset.tab)) {
  stream(`${address}/stream?view=overview`, handlers);
}
if (root.querySelector("[data-pending]")) {
  refreshSoon();
}
if (root.querySelector(".step.current")) {
  const timer = setInterval(() => {
    if (root.querySelector(".step.current")) {
      refresh();
    } else {
      clearInterval(timer);
    }
  }, REFRESH);
}
