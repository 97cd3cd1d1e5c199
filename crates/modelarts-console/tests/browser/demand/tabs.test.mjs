// Eight tabs at once, and a list of 10,000 jobs.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Browser } from "../support/browser.mjs";
import { logLine, phase } from "../support/job.mjs";
import { Steps } from "../support/programs.mjs";
import { Server } from "../support/server.mjs";

let server;
let browser;

before(async () => {
  // With delays, the client makes the pauses of its polls.
  server = await Server.start({ speed: 100 });
  browser = await Browser.start(server);
});

after(async () => {
  await browser?.end();
  await server?.end();
});

test("eight tabs of a browser follow a job at once", { timeout: 120_000 }, async () => {
  const steps = await Steps.create();
  const id = await server.run("watched", steps.program("print('step 1')", "print('step 2')"));
  const first = await browser.open(`/jobs/${id}`);
  const pages = [first];
  for (const tab of ["/logs", "/events", "/usage", "/request", "/logs", "/events"]) {
    pages.push(await browser.tab(first.context(), `/jobs/${id}${tab}`));
  }
  const list = await browser.tab(first.context(), "/jobs");
  for (const page of pages) await phase(page, "Running");
  // The server reads the job once, however many pages show it.
  const before = (await server.control("requests")).ShowTrainingJobDetails.received;
  const start = Date.now();
  await list.waitForResponse("**/jobs/stream**").catch(() => {});
  const seconds = (Date.now() - start) / 1000;
  const after = (await server.control("requests")).ShowTrainingJobDetails.received;
  assert.ok(after - before <= 6 + 4 * seconds, `${after - before} reads in ${seconds} seconds`);
  await steps.release(1);
  for (const page of pages) await phase(page, "Completed");
  await list.locator("#rows tr", { hasText: "watched" }).getByText("Completed").waitFor();
  for (const page of [pages[1], pages[5]]) await logLine(page, "step 2");
  browser.assertNoFaults();
  await first.context().close();
  await steps.end();
});

test("a list of 10,000 jobs is paged and searched", { timeout: 120_000 }, async () => {
  await server.seed([{ name: "many-{n}", count: 10_000 }]);
  const page = await browser.open("/jobs?search=name:many-");
  await page.getByText("10,000 in all").waitFor();
  assert.equal(await page.locator("#rows tr").count(), 50);
  await page.getByRole("link", { name: "Last" }).click();
  await page.getByRole("link", { name: "many-0", exact: true }).waitFor();
  await page.getByText("Page 200 of 200").waitFor();
  await page.getByRole("searchbox").fill("name:many-9999");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByText("1 in all").waitFor();
  await page.getByRole("link", { name: "many-9999", exact: true }).waitFor();
  browser.assertNoFaults();
  await page.context().close();
});
