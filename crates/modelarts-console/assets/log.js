// Tab with the logs of a job: follows the end, and jumps between the hits of a search.
import { handlers } from "./job.js";
import { addLinks, addTime, LineWindow, paint } from "./lines.js";
import { errorText, request, stream } from "./page.js";

/** Time for which the page keeps the lines of a server that was restarted, in milliseconds. */
const PATIENCE = 5000;

const byId = (id) => document.getElementById(id);
const root = byId("logs");
const log = byId("log");
const form = byId("log-search");
const message = byId("log-message");
const follow = byId("follow");
const job = root.dataset.job;

/** Numbers of lines, as the stream reports them. */
let counts = { lines: 0, tasks: [], has_ended: "ended" in root.dataset };
let timer = 0;

const lines = new LineWindow(log, { job, query, changed: showNumbers });
lines.total = Number(root.dataset.lines);
lines.marked = Number(root.dataset.line ?? 0);

/** Returns the fields of the task and of the search. */
function query() {
  const fields = new URLSearchParams({ task: byId("task").value });
  if (byId("q").value) {
    fields.set("q", byId("q").value);
    for (const name of ["regex", "case"].filter((name) => byId(name).checked)) {
      fields.set(name, "on");
    }
  }
  return fields;
}

/** Writes the view to the address of the page. */
function writeAddress() {
  const fields = query();
  if (lines.marked) {
    fields.set("line", lines.marked);
  }
  history.replaceState(null, "", `${job}/logs?${fields}`);
}

function showNumbers() {
  byId("first").textContent = lines.first;
  byId("last").textContent = lines.last;
  byId("lines").textContent = lines.total;
  byId("reading").hidden = counts.has_ended;
  setAnnounce();
  byId("no-lines").hidden = lines.total > 0;
}

/**
 * Lets screen readers announce lines only while new ones arrive: lines that are read by scrolling,
 * by a search or from the log of an ended job are no news.
 */
function setAnnounce() {
  const isNew = performance.now() >= lines.silentUntil && !counts.has_ended;
  const isNews = byId("announce").checked && follow.checked && isNew;
  log.setAttribute("aria-live", isNews ? "polite" : "off");
  for (const id of ["announce", "follow"]) {
    byId(id).closest("label").hidden = counts.has_ended;
  }
}

function setFollow(isOn) {
  follow.checked = isOn;
  setAnnounce();
}

function say(text, isError = false) {
  message.textContent = text;
  message.classList.toggle("error", isError);
}

/** Runs a change of the view, and shows its error. */
async function attempt(task) {
  try {
    await task();
    byId("q").removeAttribute("aria-invalid");
  } catch (error) {
    if (error.name === "AbortError") {
      return;
    }
    say(errorText(error), true);
    if (error.status === 400) {
      byId("q").setAttribute("aria-invalid", "true");
    }
  }
}

/** Returns the number of lines of the shown worker. */
function newTotal() {
  const task = byId("task").value;
  return task ? (counts.tasks.find((it) => it.task === task)?.lines ?? 0) : counts.lines;
}

/** Adds workers that have appeared. The download is that of the chosen one, or of the only one. */
function addTasks() {
  const known = new Set([...byId("task").options].map((option) => option.value));
  for (const { task } of counts.tasks.filter((it) => !known.has(it.task))) {
    byId("task").append(new Option(task, task));
  }
  const [, only, other] = byId("task").options;
  const task = byId("task").value || (other ? "" : (only?.value ?? ""));
  byId("download").href = `${job}/logs/download${task && `?${new URLSearchParams({ task })}`}`;
}

/** Takes new numbers of lines. */
function onLog(data) {
  counts = JSON.parse(data);
  addTasks();
  update();
}

function update() {
  const total = newTotal();
  if (lines.isStale) {
    // After a restart, the server reads the log again, up to the lines that the page shows.
    if (total < lines.last && !counts.has_ended && timer) {
      return;
    }
    clearTimeout(timer);
    timer = 0;
    lines.total = total;
    attempt(() => (follow.checked ? lines.showEnd() : lines.reload()));
    return;
  }
  lines.total = total;
  showNumbers();
  if (follow.checked && lines.last < total) {
    attempt(() => lines.follow());
  }
}

function onReset() {
  lines.isStale = true;
  clearTimeout(timer);
  timer = setTimeout(() => {
    timer = 0;
    update();
  }, PATIENCE);
}

/** Shows the next line that matches, from the marked line or the first visible one on. */
async function find(direction) {
  const isNext = direction.startsWith("next");
  const fields = query();
  if (!fields.has("q") && !direction.includes("-")) {
    say("Enter a text to search for.");
    byId("q").focus();
    return;
  }
  const from = lines.marked || lines.visible - (isNext ? 1 : 0);
  if (from > 0) {
    fields.set("line", from);
  }
  fields.set("find", direction);
  say("Searching…");
  // The server ends a search for which nobody waits.
  searching?.abort();
  searching = new AbortController();
  const { signal } = searching;
  const found = await request(`${job}/logs/search?${fields}`, { signal });
  if (found.line === null) {
    say("No line matches.");
    await lines.reload();
    return;
  }
  setFollow(false);
  if (searched !== query().toString()) {
    searched = query().toString();
    lines.isStale = true;
  }
  await lines.show(found.line);
  const hits = found.is_limited ? `more than ${found.hits}` : found.hits;
  const position = found.hit ? `${found.hit} of ${hits}` : `one of ${hits}`;
  const end = isNext ? "from the beginning again" : "from the end again";
  say(`Line ${found.line}, ${position} matching lines${found.is_wrapped ? `, ${end}` : ""}.`);
  writeAddress();
}

/** The request of the search that is under way. */
let searching = null;
/** The search whose hits are shown. */
let searched = query().toString();

function goTo(number) {
  setFollow(false);
  const line = Math.min(Math.max(1, number), lines.total);
  attempt(async () => {
    await lines.show(line);
    writeAddress();
  });
}

function goToEnd() {
  setFollow(true);
  lines.mark(0);
  attempt(() => lines.showEnd());
  writeAddress();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const direction = event.submitter?.value ?? "next";
  attempt(() => find(direction));
});
byId("line").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.value) {
    event.preventDefault();
    goTo(Number(event.target.value));
  }
});
byId("task").addEventListener("change", () => {
  addTasks();
  lines.total = newTotal();
  goToEnd();
});
byId("to-last").addEventListener("click", (event) => {
  event.preventDefault();
  goToEnd();
});
byId("to-first").addEventListener("click", (event) => {
  event.preventDefault();
  setFollow(false);
  lines.mark(0);
  attempt(() => lines.showStart());
});
follow.addEventListener("change", () => {
  setAnnounce();
  if (follow.checked) {
    goToEnd();
  }
});
byId("announce").addEventListener("change", setAnnounce);
for (const [id, style] of [["wrap", "wrapped"], ["times", "timed"], ["system", "unfolded"]]) {
  byId(id).addEventListener("change", ({ target }) => lines.keep(() => {
    log.classList.toggle(style, target.checked);
    if (id === "times") {
      log.querySelectorAll(".time").forEach((time) => time.remove());
      (target.checked ? [...log.children] : []).forEach(addTime);
    }
  }));
}
log.addEventListener("click", (event) => {
  if (event.target.matches(".more")) {
    setFollow(false);
    lines.unfold(event.target.parentElement);
  }
  const link = event.target.closest("a.number");
  if (link) {
    event.preventDefault();
    setFollow(false);
    lines.keep(() => lines.mark(Number(link.textContent)));
    writeAddress();
  }
});
// The user scrolls away from the end to read, and back to it to follow.
log.addEventListener("wheel", (event) => {
  if (event.deltaY < 0) {
    setFollow(false);
  }
}, { passive: true });
log.addEventListener("keydown", (event) => {
  if (["ArrowUp", "PageUp", "Home"].includes(event.key)) {
    setFollow(false);
  }
});
log.addEventListener("scroll", () => {
  if (lines.isAtEnd && lines.last >= lines.total && !lines.marked) {
    setFollow(true);
  } else if (!lines.isAtEnd && lines.last >= lines.total) {
    setFollow(false);
  }
}, { passive: true });

for (const label of root.querySelectorAll("label[hidden]")) {
  label.hidden = false;
}
for (const text of log.querySelectorAll(".text")) {
  paint(text, JSON.parse(text.dataset.colours ?? "[]"));
  addLinks(text);
}
lines.fold();
if (matchMedia("(max-width: 700px)").matches) {
  byId("wrap").checked = true;
  log.classList.add("wrapped");
}
const fullScreen = byId("full-screen");
fullScreen.hidden = !document.fullscreenEnabled;
fullScreen.addEventListener("click", () =>
  document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen());
const options = root.querySelector(".options");
options.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    options.open = false;
    options.querySelector("summary").focus();
  }
});
document.addEventListener("click", ({ target }) => {
  if (!options.contains(target)) {
    options.open = false;
  }
});
document.addEventListener("fullscreenchange", () => {
  // The reason of an interruption is shown there, too.
  (document.fullscreenElement ?? byId("job")).prepend(byId("job-notice"));
  fullScreen.textContent = document.fullscreenElement ? "Leave full screen" : "Full screen";
});
setAnnounce();
byId("to-earlier").hidden = true;
byId("to-later").hidden = true;
if (lines.marked) {
  lines.center(lines.marked);
} else {
  log.scrollTop = log.scrollHeight;
}
lines.fill();
stream(`${job}/stream?view=logs&last=${root.dataset.last}`, {
  ...handlers,
  reset: onReset,
  log: onLog,
});
