// Times in the zone of the user, and durations that continue.

/** Formats of a time with its day, and of a time of day. */
export const long = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
export const short = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/**
 * Writes the times below an element in the zone of the user. Elements with `data-short` have only
 * the time of day if it is the day on which the job of the page was created. An element whose text is no time, such as an age, keeps its text.
 *
 * @param {Element} root Parent of the `time` elements.
 */
export function showTimes(root) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    showTime(element);
  }
}

function showTime(element) {
  const value = element.getAttribute("datetime");
  if (element.textContent !== value) {
    return;
  }
  const time = new Date(value);
  if (Number.isNaN(time.getTime())) {
    return;
  }
  const created = document.querySelector("#job-head time")?.getAttribute("datetime") ?? Date.now();
  const isKnown = day.format(new Date(created)) === day.format(time);
  const format = "short" in element.dataset && isKnown ? short : long;
  element.textContent = format.format(time);
  element.title = value;
}

/** Time by which the clock of the service is ahead of that of this computer, in milliseconds. */
const AHEAD = Number(document.body.dataset.ahead ?? 0) * 1_000;

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

/**
 * Returns the time that has passed since a time of the service, such as `2m51s`.
 *
 * @param {Date} start Start of the time span.
 */
export function durationSince(start) {
  return duration(secondsSince(start));
}

/** Returns the seconds that have passed since a time of the service. */
export function secondsSince(start) {
  return Math.max(0, (Date.now() + AHEAD - start) / 1_000);
}

/** Continues the durations of what runs, unless the clock of the service stands still. */
function showDurations() {
  if ("stands" in document.body.dataset) {
    return;
  }
  for (const element of document.querySelectorAll("[data-since]")) {
    const text = durationSince(new Date(element.dataset.since));
    if (element.textContent !== text) {
      element.textContent = text;
    }
  }
}

setInterval(showDurations, 1_000);
