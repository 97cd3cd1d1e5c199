// Charts of the usage of a job, and of values that jobs print, which are read again while they grow.
import { banner, errorText, request } from "./page.js";
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

const dark = matchMedia("(prefers-color-scheme: dark)");

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

/** Parts of charts of the usage in percent over the time. */
const USAGE = {
  caption: (chart) => `${chart.title}, usage in percent`,
  scales: { y: { range: [0, 100] } },
  xAxis: { values: clockTimes, incrs: INCREMENTS, space: 80 },
  yAxis: { values: (_, ticks) => ticks.map((tick) => `${tick} %`) },
  x: () => {
    const time = new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeStyle: "short" });
    return { label: "Time", value: (_, at) => (at === null ? "last" : time.format(new Date(at * 1000))) };
  },
  value: (value) => `${value.toFixed(1)} %`,
  spanGaps: false,
};

/** Parts of charts of values over the steps of a training. */
const CURVES = {
  caption: (chart) => chart.title,
  scales: { x: { time: false } },
  xAxis: { space: 80 },
  yAxis: {},
  x: (chart) => ({ label: chart.axis === "step" ? "Step" : "Value", value: (_, at) => at ?? "last" }),
  value: (value) => Number(value.toPrecision(6)).toString(),
  spanGaps: true,
};

/** Returns the plugin that shows the values at the pointer. */
function tip(chart, kind) {
  const shown = document.createElement("div");
  shown.className = "tip";
  shown.hidden = true;
  // The tables below the charts have the values for screen readers.
  shown.setAttribute("aria-hidden", "true");
  const line = (text, parts = []) => {
    const made = document.createElement("p");
    made.append(...parts, text);
    return made;
  };
  // Curves of several jobs have values at different steps: a value lasts until the next one.
  const valueAt = (values, at) => {
    const isBetween = kind.spanGaps && chart.series.length > 1 && values.slice(at).some((one) => one !== null);
    return isBetween ? values.slice(0, at + 1).findLast((one) => one !== null) : values[at];
  };
  const show = (plot) => {
    const { left, top, idx: at } = plot.cursor;
    const values = chart.series
      .map(({ label }, index) => ({ label, index, value: valueAt(plot.data[index + 1], at) }))
      .filter(({ index, value }) => plot.series[index + 1].show && typeof value === "number");
    shown.hidden = left < 0 || values.length === 0;
    if (shown.hidden) {
      return;
    }
    const { label, value } = kind.x(chart);
    shown.replaceChildren(
      line(`${label} ${value(plot, plot.data[0][at])}`),
      ...values.map(({ label, index, value }) =>
        line(` ${label} ${kind.value(value)}`, [sample(colourOf(index), dashOf(index))])),
    );
    const isRight = left > plot.over.clientWidth / 2;
    shown.style.left = `${Math.max(0, isRight ? left - shown.offsetWidth - 12 : left + 12)}px`;
    shown.style.top = `${Math.max(0, Math.min(top, plot.over.clientHeight - shown.offsetHeight))}px`;
  };
  return { hooks: { init: (plot) => plot.over.append(shown), setCursor: show } };
}

function options(chart, width, kind) {
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 } };
  return {
    width,
    height: HEIGHT,
    scales: kind.scales,
    axes: [{ ...axis, ...kind.xAxis }, { ...axis, size: 64, ...kind.yAxis }],
    cursor: { drag: { x: true, y: false } },
    plugins: [tip(chart, kind)],
    legend: { markers: { width: 0 } },
    series: [
      kind.x(chart),
      ...chart.series.map((series, index) => ({
        label: series.label,
        stroke: colourOf(index),
        dash: dashOf(index),
        width: 2,
        points: { size: 4, fill: colourOf(index) },
        spanGaps: kind.spanGaps,
        // Without a pointer on the chart, the legend has the last values.
        value: (plot, value, row, column) => {
          const shown = column === null ? plot.data[row].findLast((one) => one !== null) : value;
          return shown === null || shown === undefined ? "–" : kind.value(shown);
        },
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

/**
 * Shows the charts of an address, and the tables of the same values.
 *
 * @param {HTMLElement} element Parent of the charts.
 * @param {HTMLElement} tables Parent of the tables.
 * @param {object} kind {@link USAGE} or {@link CURVES}.
 * @param {string} url Address that returns `charts`, `tables` and, at the end, `has_ended`.
 * @param {number} pause Pause between two requests in milliseconds; 0 for a single request.
 */
async function liveCharts(element, tables, kind, url, pause) {
  /** Charts by their titles: the plot, its labels, and the labels of hidden lines. */
  const plots = new Map();
  let charts = [];
  let isReading = false;
  let hasEnded = false;

  const draw = (chart) => {
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
      caption.textContent = kind.caption(chart);
      figure.append(caption);
      element.append(figure);
    }
    const plot = new globalThis.uPlot(options(chart, widthOf(figure), kind), data, figure);
    const canvas = plot.root.querySelector("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${chart.title}: chart; the values are in the tables below`);
    makeButtons(plot, chart, hidden);
    plots.set(chart.title, { plot, labels, hidden, figure });
  };

  const refresh = async () => {
    if (document.hidden || isReading || hasEnded) {
      return;
    }
    isReading = true;
    try {
      const data = await request(url);
      banner("");
      charts = data.charts;
      charts.forEach(draw);
      patch(tables, data.tables);
      hasEnded = data.has_ended || pause === 0;
    } catch (error) {
      banner(`The values are not read: ${errorText(error)}`);
    }
    isReading = false;
    if (pause > 0 && !hasEnded) {
      setTimeout(refresh, pause);
    }
  };

  dark.addEventListener("change", () => {
    for (const known of plots.values()) {
      known.labels = null;
    }
    charts.forEach(draw);
  });
  new ResizeObserver(() => {
    for (const { plot, figure } of plots.values()) {
      plot.setSize({ width: widthOf(figure), height: HEIGHT });
    }
  }).observe(element);
  document.getElementById("task")?.addEventListener("change", (event) => event.target.form.submit());
  document.addEventListener("visibilitychange", refresh);
  await refresh();
}

function widthOf(figure) {
  return figure.clientWidth || 600;
}

/** Pause between two reads of a log that grows, in milliseconds. */
const PAUSE = 5000;

const usage = document.getElementById("usage");
if (usage) {
  const job = encodeURIComponent(document.getElementById("job").dataset.id);
  const url = `/jobs/${job}/usage/data?task=${encodeURIComponent(usage.dataset.task)}`;
  const pause = Number(usage.dataset.refresh) * 1000;
  await liveCharts(usage, document.getElementById("usage-tables"), USAGE, url, pause);
} else {
  const curves = document.getElementById("curves");
  await liveCharts(curves, document.getElementById("curve-tables"), CURVES, curves.dataset.url, PAUSE);
}
