// Usage of a job: charts of its workers.
import { liveCharts, USAGE } from "./chart.js";

const element = document.getElementById("usage");
const job = encodeURIComponent(document.getElementById("job").dataset.id);
const url = `/jobs/${job}/usage/data?task=${encodeURIComponent(element.dataset.task)}`;
const pause = Number(element.dataset.refresh) * 1000;
await liveCharts(element, document.getElementById("usage-tables"), USAGE, url, pause);
