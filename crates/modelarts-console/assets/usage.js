// Usage of a job: charts of its workers.
import { errorText, request } from "./page.js";
import { patch } from "./patch.js";

/** Colours of lines by theme, each with a contrast of 3 to 1 or more. */
const COLOURS = {
  light: ["#0b57c2", "#b3201d", "#17692f", "#8a5a00", "#7a2fb0", "#00707a", "#a3206f", "#545c6b"],
  dark: ["#8ab8ff", "#ff9b94", "#7fd69a", "#f0c36a", "#d3a6ff", "#6fd3dc", "#ff9ad1", "#c3cad6"],
};
/** Dashes of lines, so that lines differ by more than their colour. */
const DASHES = [[], [8, 4], [2, 3], [12, 3, 2, 3], [5, 5], [16, 4], [1, 5], [10, 2, 2, 2, 2, 2]];
const HEIGHT = 260;
/** Distances of labels of the time axis in seconds. The service has a value for each minute. */
const INCREMENTS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080].map((minutes) => minutes * 60);

const root = document.getElementById("job");
const element = document.getElementById("usage");
const dark = matchMedia("(prefers-color-scheme: dark)");
const address = `/jobs/${encodeURIComponent(root.dataset.id)}/usage/data?task=${encodeURIComponent(element.dataset.task)}`;
/** Charts by their titles: the plot, its labels, and the labels of hidden lines. */
const plots = new Map();
let charts = [];

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function colourOf(index) {
  const colours = COLOURS[dark.matches ? "dark" : "light"];
  return colours[index % colours.length];
}

function dashOf(index) {
  return DASHES[(index + Math.floor(index / COLOURS.light.length)) % DASHES.length];
}

/** Returns a piece of a line for the legend. */
function sample(stroke, dash) {
  const make = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    return made;
  };
  const svg = make("svg", { width: 36, height: 10, "aria-hidden": "true", class: "sample" });
  const line = { x1: 0, y1: 5, x2: 36, y2: 5, stroke, "stroke-width": 2, "stroke-dasharray": dash.join(" ") };
  svg.append(make("line", line));
  return svg;
}

/** Returns the times of an axis as the user writes them, with the date where it changes. */
function clockTimes(_, ticks) {
  const time = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
  const date = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
  let last = "";
  return ticks.map((tick) => {
    const at = new Date(tick * 1000);
    const day = date.format(at);
    const isNew = day !== last;
    last = day;
    return isNew ? `${time.format(at)}\n${day}` : time.format(at);
  });
}

function options(chart, width) {
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 } };
  const percent = (value) => (value === null || value === undefined ? "–" : `${value.toFixed(1)} %`);
  const time = new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeStyle: "short" });
  return {
    width,
    height: HEIGHT,
    scales: { y: { range: [0, 100] } },
    axes: [{ ...axis, values: clockTimes, incrs: INCREMENTS, space: 80 }, { ...axis, values: (_, ticks) => ticks.map((tick) => `${tick} %`), size: 56 }],
    cursor: { drag: { x: true, y: false } },
    legend: { markers: { width: 0 } },
    series: [
      { label: "Time", value: (_, at) => (at === null ? "–" : time.format(new Date(at * 1000))) },
      ...chart.series.map((series, index) => ({
        label: series.label,
        stroke: colourOf(index),
        dash: dashOf(index),
        width: 2,
        spanGaps: false,
        value: (_, value) => percent(value),
      })),
    ],
  };
}

/** Makes the entries of the legend buttons for the keyboard: uPlot handles clicks only. */
function makeButtons(plot, chart, hidden) {
  const entries = [...plot.root.querySelectorAll(".u-legend .u-series")].slice(1);
  entries.forEach((entry, index) => {
    const label = entry.querySelector(".u-label");
    const name = chart.series[index].label;
    const show = () => {
      label.setAttribute("aria-pressed", String(plot.series[index + 1].show));
    };
    label.prepend(sample(colourOf(index), dashOf(index)));
    label.tabIndex = 0;
    label.setAttribute("role", "button");
    label.title = `Shows or hides ${name}`;
    label.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        label.click();
      }
    });
    // uPlot handles the click of the cell that the label is in, before this.
    entry.querySelector("th").addEventListener("click", () => {
      const isShown = plot.series[index + 1].show;
      hidden[isShown ? "delete" : "add"](name);
      show();
    });
    if (hidden.has(name)) {
      plot.setSeries(index + 1, { show: false });
    }
    show();
  });
}

function draw(chart) {
  const data = [chart.times, ...chart.series.map((series) => series.values)];
  const labels = chart.series.map((series) => series.label).join("\n");
  const known = plots.get(chart.title);
  if (known?.labels === labels) {
    // The zoom of the user stays.
    const { min, max } = known.plot.scales.x;
    const all = known.plot.data[0];
    const isZoomed = min > all[0] || max < all[all.length - 1];
    known.plot.setData(data, !isZoomed);
    return;
  }
  const hidden = known?.hidden ?? new Set();
  const figure = known?.figure ?? document.createElement("figure");
  known?.plot.destroy();
  if (!known) {
    const caption = document.createElement("figcaption");
    caption.textContent = `${chart.title}, usage in percent`;
    figure.append(caption);
    element.append(figure);
  }
  const plot = new globalThis.uPlot(options(chart, element.clientWidth || 600), data, figure);
  const canvas = plot.root.querySelector("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${chart.title}: chart of usage; the values are in the tables below`);
  makeButtons(plot, chart, hidden);
  plots.set(chart.title, { plot, labels, hidden, figure });
}

async function refresh() {
  if (document.hidden) {
    return;
  }
  let data;
  try {
    data = await request(address);
  } catch (error) {
    if (!charts.length) {
      element.textContent = errorText(error);
    }
    return;
  }
  if (!charts.length) {
    element.textContent = "";
  }
  charts = data.charts;
  charts.forEach(draw);
  patch(document.getElementById("usage-tables"), data.tables);
}

/** Draws the charts again in the colours of the theme. */
function redraw() {
  for (const known of plots.values()) {
    known.labels = null;
  }
  charts.forEach(draw);
}

dark.addEventListener("change", redraw);
new ResizeObserver(() => {
  for (const { plot } of plots.values()) {
    plot.setSize({ width: element.clientWidth || 600, height: HEIGHT });
  }
}).observe(element);
document.getElementById("task")?.addEventListener("change", (event) => event.target.form.submit());
await refresh();
const pause = Number(element.dataset.refresh) * 1000;
if (pause > 0) {
  setInterval(refresh, pause);
  document.addEventListener("visibilitychange", refresh);
}
