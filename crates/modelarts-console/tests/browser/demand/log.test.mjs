// A log of 2,000,000 lines and 500 MB: the page shows a window of it, and stays usable.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Browser } from "../support/browser.mjs";
import { phase } from "../support/job.mjs";
import { Server } from "../support/server.mjs";

const LINES = 2_000_000;
/** Number of the line that the test searches for. */
const NEEDLE = 1_234_567;
const PROGRAM = `import sys
pad = "x" * 210
for first in range(1, ${LINES} + 1, 10000):
    block = []
    for n in range(first, first + 10000):
        found = " needle" if n == ${NEEDLE} else ""
        block.append(f"2026-01-15 08:30:00,000 INFO step {n}{found} {pad}\\n")
    sys.stdout.write("".join(block))
`;
/** Maximum number of lines in the page. */
const MOST_ROWS = 10_000;
/** Maximum time for which the page may not draw, in milliseconds. */
const LONGEST_PAUSE = 1_000;
const timeout = 1_800_000;

let server;
let browser;

before(async () => {
  server = await Server.start();
  browser = await Browser.start(server);
});

after(async () => {
  await browser?.end();
  await server?.end();
});

test("a log of 500 MB and 2,000,000 lines does not freeze the page", { timeout }, async (t) => {
  const id = await server.run("long-log", PROGRAM);
  const job = await browser.open(`/jobs/${id}`);
  job.context().setDefaultTimeout(timeout);
  await phase(job, "Completed");
  await job.context().close();

  const begin = Date.now();
  const seconds = () => ((Date.now() - begin) / 1000).toFixed(1);
  const page = await browser.open(`/jobs/${id}/logs`);
  page.context().setDefaultTimeout(timeout);
  t.diagnostic(`the page is open after ${seconds()} s`);
  await page.evaluate(() => {
    window.pauses = [];
    let last = performance.now();
    const draw = (now) => {
      window.pauses.push(now - last);
      last = now;
      requestAnimationFrame(draw);
    };
    requestAnimationFrame(draw);
  });
  const rows = async () => {
    const count = await page.locator("#log .row").count();
    assert.ok(count <= MOST_ROWS, `${count} lines in the page`);
    return count;
  };
  await page.waitForFunction(
    ([lines, most]) => {
      if (document.querySelectorAll("#log .row").length > most) {
        throw new Error("too many lines in the page");
      }
      return document.getElementById("lines").textContent === String(lines);
    },
    [LINES, MOST_ROWS],
    { polling: 500 },
  );
  t.diagnostic(`all lines are read after ${seconds()} s`);
  await page.locator(`#line-${LINES}`).waitFor();
  assert.ok((await rows()) > 0);

  const search = Date.now();
  await page.getByRole("searchbox", { name: "Search" }).fill("NEEDLE");
  await page.getByRole("button", { name: "Previous hit" }).click();
  await page.locator("#log-message", { hasText: `Line ${NEEDLE}, 1 of 1 matching lines` }).waitFor();
  t.diagnostic(`the hit is found after ${((Date.now() - search) / 1000).toFixed(1)} s`);
  const hit = page.locator(`#line-${NEEDLE}.marked`);
  await hit.waitFor();
  assert.equal(await hit.locator("mark").textContent(), "needle");
  await page.waitForFunction((n) => {
    const box = document.getElementById("log").getBoundingClientRect();
    const row = document.getElementById(`line-${n}`).getBoundingClientRect();
    return row.top >= box.top && row.bottom <= box.bottom;
  }, NEEDLE);

  await page.getByText("Options").click();
  await page.getByRole("spinbutton", { name: "Line" }).fill("42");
  await page.keyboard.press("Enter");
  await page.locator("#line-42.marked").waitFor();
  assert.match(page.url(), /line=42/);
  await page.getByRole("link", { name: "Last", exact: true }).click();
  await page.locator(`#line-${LINES}`).waitFor();
  // Scrolling reads more lines, and removes others.
  for (let n = 0; n < 15; n += 1) {
    const first = Number(await page.locator("#first").textContent());
    await page.locator("#log").evaluate((log) => (log.scrollTop = 0));
    await page.waitForFunction((known) => Number(document.getElementById("first").textContent) < known, first);
    await rows();
  }
  const longest = Math.max(...(await page.evaluate(() => window.pauses)));
  t.diagnostic(`the page draws at least every ${longest.toFixed(0)} ms; ${await rows()} lines are in it`);
  assert.ok(longest < LONGEST_PAUSE, `${longest} ms without drawing`);
  browser.assertNoFaults();
  await page.context().close();
});
