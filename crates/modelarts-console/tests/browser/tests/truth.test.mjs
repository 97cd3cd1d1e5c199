// What the page shows stays true while it is open.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { Browser, NARROW, WIDE } from "../support/browser.mjs";
import { eventRow, fillForm, logLine, phase } from "../support/job.mjs";
import { Steps } from "../support/programs.mjs";
import { ago, lines } from "../support/sample.mjs";
import { Server } from "../support/server.mjs";

const timeout = 60_000;

let server;
let browser;

before(async () => {
  server = await Server.start();
  browser = await Browser.start(server);
});

afterEach(() => browser.assertNoFaults());

after(async () => {
  await browser?.end();
  await server?.end();
});

test("the log of an ended job is complete", { timeout }, async () => {
  const steps = await Steps.create();
  const id = await server.run("ends", steps.program("print('first')", "print('last')"));
  const page = await browser.open(`/jobs/${id}/logs`);
  await logLine(page, "first");
  await page.getByText("more may follow").waitFor();
  await steps.release(1);
  await logLine(page, "last");
  await page.getByText("more may follow").waitFor({ state: "hidden" });
  await page.context().close();
  const large = await server.run("large", "print('\\n'.join(f'line {n}' for n in range(1, 700_001)))");
  const ended = await browser.open(`/jobs/${large}`);
  await phase(ended, "Completed");
  const other = await browser.tab(ended.context(), `/jobs/${large}/logs`);
  await logLine(other, "line 700000");
  await other.getByText("more may follow").waitFor({ state: "hidden" });
  await other.context().close();
  await steps.end();
});

test("durations of what runs go on", { timeout }, async () => {
  const steps = await Steps.create();
  const id = await server.run("clock", steps.program("print('first')", "print('last')"));
  const page = await browser.open(`/jobs/${id}`);
  const list = await browser.tab(page.context(), "/jobs?search=name:clock");
  await page.locator(".step.current [data-since]").waitFor();
  for (const [shown, place] of [[page, ".step.current [data-since]"], [list, "#rows [data-since]"]]) {
    const first = await shown.locator(place).textContent();
    await shown.waitForFunction(([place, first]) => document.querySelector(place).textContent !== first, [place, first]);
  }
  assert.equal(await page.locator("#job-head", { hasText: "ran" }).count(), 0);
  await steps.release(1);
  await phase(page, "Completed");
  await page.locator("#job-head", { hasText: /ran \d+s/ }).waitFor();
  await page.locator("[data-since]").waitFor({ state: "detached" });
  await page.context().close();
  await steps.end();
});

test("a stage has the width of its duration", { timeout }, async () => {
  const [id] = await server.seed([
    { name: "widths", phase: "Completed", created: ago(241), started: ago(240), ended: ago(0) },
  ]);
  const page = await browser.open(`/jobs/${id}`);
  await phase(page, "Completed");
  const widths = await page.locator(".timeline .step").evaluateAll((steps) =>
    steps.map((step) => step.getBoundingClientRect().width));
  assert.ok(widths[0] < widths[1] / 5, `${widths}`);
  await page.context().close();
});

test("the form keeps its fields over a reload and the way back", { timeout }, async () => {
  const page = await browser.open("/create");
  await fillForm(page, "kept", "obs://bucket/code/");
  await page.getByRole("button", { name: "Add variable" }).click();
  await page.getByRole("group", { name: "variable" }).last().getByLabel("Name").fill("SEED");
  const fields = () => page.evaluate(() => {
    const names = ["name", "engine", "code_dir", "boot_file", "flavor", "environments[1].name"];
    const { elements } = document.getElementById("create");
    return names.map((name) => elements[name]?.value);
  });
  const before = await fields();
  assert.ok(before.every(Boolean), `${before}`);
  await page.reload();
  await page.getByText("values that you entered before").waitFor();
  assert.deepEqual(await fields(), before);
  await page.getByRole("link", { name: "Jobs" }).click();
  await page.getByRole("heading", { name: "Jobs" }).waitFor();
  await page.goBack();
  await page.getByText("values that you entered before").waitFor();
  assert.deepEqual(await fields(), before);
  await page.getByRole("button", { name: "Start over" }).click();
  await page.waitForFunction(() => document.getElementById("create").elements.boot_file.value === "");
  await page.context().close();
});

test("changes of several jobs begin at Cancel", { timeout }, async () => {
  await server.seed([{ name: "several-1", phase: "Running" }, { name: "several-2", phase: "Running" }]);
  const page = await browser.open("/jobs?search=name:several");
  const remove = page.getByRole("button", { name: "Delete…" });
  await page.locator("#bulk-actions button:disabled").first().waitFor();
  assert.ok(await remove.isDisabled());
  await page.getByRole("checkbox", { name: "Select several-1" }).check();
  await remove.click();
  const focused = page.getByRole("dialog").getByRole("button", { name: "Cancel" });
  assert.ok(await focused.evaluate((button) => button === document.activeElement));
  await page.context().close();
});

test("the events of an ended job are not refreshed", { timeout }, async () => {
  const id = await server.run("ended", "print('end')");
  const page = await browser.open(`/jobs/${id}/events`);
  await eventRow(page, /completed/i);
  await page.getByText("The job has ended.").waitFor();
  assert.ok(!(await page.getByLabel("Refresh automatically").isVisible()));
  await page.context().close();
});

test("colours of a terminal are shown", { timeout }, async () => {
  const text = "\u001b[32mok\u001b[0m then \u001b[1;31mERROR https://example.com/a\u001b[0m end\n";
  const [id] = await server.seed([{ name: "coloured", phase: "Completed", logs: { "worker-0": text } }]);
  const page = await browser.open(`/jobs/${id}/logs`);
  await logLine(page, "then");
  const check = async () => {
    assert.equal(await page.locator("#log .text .green").textContent(), "ok");
    assert.equal(await page.locator("#log .text .red").textContent(), "ERROR https://example.com/a");
    assert.equal(await page.locator("#log .text .red a").getAttribute("href"), "https://example.com/a");
    assert.equal(await page.locator("#log .text").textContent(), "ok then ERROR https://example.com/a end");
  };
  await check();
  // The rows are made again by the script.
  await page.getByRole("searchbox", { name: "Search" }).fill("ok then");
  await page.getByRole("button", { name: "Next hit" }).click();
  await page.locator("#log mark").first().waitFor();
  assert.equal(await page.locator("#log .text").textContent(), "ok then ERROR https://example.com/a end");
  await page.context().close();
});

test("lines of the platform are folded, and lines have times", { timeout }, async () => {
  const system = (count) => Array.from({ length: count }, (_, n) => `[ModelArts Service Log] part ${n}`);
  const text = [...system(300), "2026-01-15T08:30:07+01:00 epoch 1", ...system(2), "end"];
  const [id] = await server.seed([{ name: "folded", phase: "Completed", logs: { "worker-0": text.join("\n") } }]);
  const page = await browser.open(`/jobs/${id}/logs`);
  await logLine(page, "end");
  const shown = () => page.locator("#log .row:visible .text").allTextContents();
  // The window begins at the line 105, and the lines before it are read at once, because it is short.
  const more = page.getByRole("button", { name: "System logs" });
  await page.locator("#line-1").getByRole("button", { name: "System logs" }).waitFor();
  const short = [text[0], ...text.slice(300)];
  assert.deepEqual(await shown(), short);
  const search = page.getByRole("searchbox", { name: "Search" });
  await search.fill("part 250");
  await page.getByRole("button", { name: "Next hit" }).click();
  await page.locator("#log .marked:visible mark").waitFor();
  await search.fill("");
  await page.getByText("Options").click();
  const time = page.locator("#line-301 time");
  assert.equal(await time.count(), 0);
  await page.getByRole("checkbox", { name: "Times" }).check();
  assert.equal(await time.textContent(), "08:30:07");
  await page.getByRole("checkbox", { name: "System logs" }).check();
  assert.equal((await shown()).length, 304);
  await page.getByRole("checkbox", { name: "System logs" }).uncheck();
  await page.keyboard.press("Escape");
  // Line 251 has the mark, so there are groups before it and after it.
  assert.deepEqual((await shown()).slice(0, 4), [text[0], text[250], text[251], text[300]]);
  await more.last().focus();
  await page.keyboard.press("Enter");
  assert.equal((await shown()).length, 1 + 1 + 49 + 4);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "252");
  assert.equal(await page.getByRole("link", { name: "Download" }).getAttribute("href"), `/jobs/${id}/logs/download?task=worker-0`);
  await page.context().close();
});

test("a line that arrives has the time of its arrival", { timeout }, async () => {
  // With delays, the client makes the pauses of its polls.
  const server = await Server.start({ speed: 1000 });
  const browser = await Browser.start(server);
  const steps = await Steps.create();
  const running = await server.run("arrives", steps.program("print('first')", "print('last')"));
  const other = await browser.open(`/jobs/${running}/logs`);
  await logLine(other, "first");
  await steps.release(1);
  await logLine(other, "last");
  const last = other.locator("#log .row", { hasText: "last" });
  const age = Date.now() / 1000 - Number(await last.getAttribute("data-time"));
  assert.ok(age >= 0 && age < 60, `${age} seconds`);
  browser.assertNoFaults();
  await browser.end();
  await steps.end();
  await server.end();
});

for (const viewport of [WIDE, NARROW]) {
  test(`the log begins high on a page of ${viewport.width} pixels`, { timeout }, async () => {
    const text = "see https://example.com/run/1.\n".repeat(50);
    const [id] = await server.seed([{ name: `high-${viewport.width}`, phase: "Completed", logs: { "worker-0": text } }]);
    const page = await browser.open(`/jobs/${id}/logs`, { viewport });
    await logLine(page, "example.com");
    const { y } = await page.locator("#log").boundingBox();
    assert.ok(y <= 200, `${y} pixels`);
    const link = page.locator("#log a", { hasText: "https://example.com/run/1" }).first();
    assert.equal(await link.getAttribute("href"), "https://example.com/run/1");
    assert.match(await page.title(), /^✓ /);
    await page.context().close();
  });
}

test("the priority of a waiting job is changed", { timeout }, async () => {
  const job = {
    kind: "job",
    metadata: { name: "waits" },
    algorithm: { engine: { image_url: "a/b:1" }, command: "true" },
    spec: { resource: { flavor_id: "modelarts.pool.visual.xlarge", pool_id: "pool-gpu", node_count: 1 } },
  };
  const [id] = await server.seed([{ name: "waits", phase: "Pending", job }]);
  const page = await browser.open(`/jobs/${id}`);
  await page.getByLabel("Priority in the pool").selectOption("2");
  await page.getByRole("button", { name: "Change" }).click();
  await page.locator("dt", { hasText: "Job priority" }).locator("xpath=following-sibling::dd[1]", { hasText: "2" }).waitFor();
  await page.context().close();
});

test("the rows of the list are sorted by a column, and stay sorted", { timeout }, async () => {
  const job = (name, minutes) => ({ name, phase: "Completed", created: ago(300), started: ago(minutes), ended: ago(0) });
  await server.seed([job("sorted-b", 200), job("sorted-a", 5), job("sorted-c", 60)]);
  const page = await browser.open("/jobs?search=name:sorted");
  const names = () => page.locator("#rows th").allTextContents();
  await page.getByRole("button", { name: "Ran" }).click();
  assert.deepEqual(await names(), ["sorted-a", "sorted-c", "sorted-b"]);
  await page.getByRole("button", { name: "Name" }).click();
  await page.getByRole("button", { name: "Name" }).click();
  assert.deepEqual(await names(), ["sorted-c", "sorted-b", "sorted-a"]);
  await server.seed([job("sorted-d", 7)]);
  await page.locator("#rows th", { hasText: "sorted-d" }).waitFor();
  assert.deepEqual(await names(), ["sorted-d", "sorted-c", "sorted-b", "sorted-a"]);
  await page.context().close();
});
