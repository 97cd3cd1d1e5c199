// Measurements. The values are printed, and compared with their limits.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Browser } from "../support/browser.mjs";
import { phase } from "../support/job.mjs";
import { lines } from "../support/sample.mjs";
import { Server } from "../support/server.mjs";

/** Number of repetitions of a measurement. */
const ROUNDS = 15;

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** Returns the time from the request of a page to its first content, in milliseconds. */
async function firstPaint(browser, path) {
  const page = await browser.open(path);
  const time = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const observer = new PerformanceObserver((list) => {
          const paint = list.getEntriesByName("first-contentful-paint")[0];
          if (paint) resolve(paint.startTime);
        });
        observer.observe({ type: "paint", buffered: true });
      }),
  );
  await page.context().close();
  return time;
}

test("the list of 10,000 jobs is painted as fast as that of 10", { timeout: 300_000 }, async (t) => {
  const servers = [await Server.start(), await Server.start()];
  const browsers = [];
  try {
    await servers[0].seed([{ name: "job-{n}", count: 10 }]);
    await servers[1].seed([{ name: "job-{n}", count: 10_000 }]);
    const times = [[], []];
    for (const server of servers) browsers.push(await Browser.start(server));
    for (let round = -2; round < ROUNDS; round += 1) {
      for (const [n, browser] of browsers.entries()) {
        const time = await firstPaint(browser, "/jobs");
        if (round >= 0) times[n].push(time);
      }
    }
    const [few, many] = times.map(median);
    t.diagnostic(`first paint: ${few.toFixed(0)} ms with 10 jobs, ${many.toFixed(0)} ms with 10,000 jobs, ratio ${(many / few).toFixed(2)}`);
    assert.ok(many <= 1.5 * few, `${many} ms with 10,000 jobs, ${few} ms with 10`);
  } finally {
    for (const browser of browsers) await browser.end();
    for (const server of servers) await server.end();
  }
});

test("a line of a worker is on the screen within a second", { timeout: 120_000 }, async (t) => {
  const server = await Server.start();
  const browser = await Browser.start(server);
  try {
    const program = "import time\nfor n in range(40):\n    print(f'line {n} at {time.time() * 1000:.0f}', flush=True)\n    time.sleep(0.37)\n";
    const id = await server.run("delays", program);
    const page = await browser.open(`/jobs/${id}/logs`);
    await page.evaluate(() => {
      window.delays = [];
      const seen = new Set();
      new MutationObserver(() => {
        const now = Date.now();
        for (const { textContent } of document.querySelectorAll("#log .row .text")) {
          const match = /^line \d+ at (\d+)$/.exec(textContent);
          if (match && !seen.has(textContent)) {
            seen.add(textContent);
            window.delays.push(now - Number(match[1]));
          }
        }
      }).observe(document.getElementById("log"), { childList: true, subtree: true, characterData: true });
    });
    await page.getByText("line 39 at").first().waitFor({ timeout: 60_000 });
    // The first lines were printed before the page was open.
    const delays = (await page.evaluate(() => window.delays)).slice(10);
    const longest = Math.max(...delays);
    t.diagnostic(`from print to the screen: median ${median(delays)} ms, longest ${longest} ms, ${delays.length} lines`);
    assert.ok(delays.length >= 20 && longest <= 1000, `${delays.length} lines, longest ${longest} ms`);
  } finally {
    await browser.end();
    await server.end();
  }
});

test("fifty open pages take at most 100 MB in the server", { timeout: 300_000 }, async (t) => {
  const server = await Server.start();
  const browser = await Browser.start(server);
  try {
    const ids = await server.seed([
      { name: "open-{n}", count: 10, phase: "Running", logs: { "worker-0": lines(20_000) } },
    ]);
    const tabs = ["", "/events", "/logs", "/usage", "/logs"];
    const first = await browser.open("/jobs");
    const before = await server.memory();
    for (let n = 0; n < 50; n += 1) {
      // Each page has a window of its own, so no page waits for the stream of another.
      const page = await browser.open(`/jobs/${ids[n % ids.length]}${tabs[n % tabs.length]}`);
      await phase(page, "Running");
    }
    await first.reload();
    await first.getByRole("link", { name: "open-0" }).waitFor();
    const after = await server.memory();
    const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
    t.diagnostic(`50 open pages: ${megabytes(after)} MB with the emulator, ${megabytes(after - before)} MB more than one page`);
    assert.ok(after <= 100e6, `${megabytes(after)} MB`);
  } finally {
    await browser.end();
    await server.end();
  }
});
