// Values that jobs print: charts of one job, or of several over each other.
import { CURVES, liveCharts } from "./chart.js";

/** Pause between two reads of a log that grows, in milliseconds. */
const PAUSE = 5000;

const element = document.getElementById("curves");
await liveCharts(element, document.getElementById("curve-tables"), CURVES, element.dataset.url, PAUSE);
