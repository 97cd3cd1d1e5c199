// Times in the zone of the user.

const long = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const short = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/**
 * Writes the times below an element in the zone of the user. Elements with `data-short` have only
 * the time of day if it is today. An element whose text is no time, such as an age, keeps its text.
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
  const isToday = day.format(time) === day.format(new Date());
  const format = "short" in element.dataset && isToday ? short : long;
  element.textContent = format.format(time);
  element.title = value;
}
