// Measurements. The values are printed, and compared with their limits.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Browser } from "../support/browser.mjs";
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
