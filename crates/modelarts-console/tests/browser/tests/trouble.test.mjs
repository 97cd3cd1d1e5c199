// Bad input, and a service or a session that fails while a page is open.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { assertAccessible, Browser } from "../support/browser.mjs";
import { fillForm, logLine, phase } from "../support/job.mjs";
import { Steps } from "../support/programs.mjs";
import { Server } from "../support/server.mjs";

const timeout = 60_000;
/** Markup that a text of a job may have. A page that treats it as HTML runs the script. */
const MARKUP = '<script>window.ran = 1</script><img src="x" onerror="window.ran = 1">';
const TABS = ["", "/events", "/logs", "/usage", "/request"];

let server;
let browser;

before(async () => {
  server = await Server.start();
  browser = await Browser.start(server);
});

afterEach(async () => {
  await server.clearFaults();
  browser.assertNoFaults();
});

after(async () => {
  await browser?.end();
  await server?.end();
});

test("pages report that the service is down, and come back", { timeout }, async () => {
  const [id] = await server.seed([{ name: "open", phase: "Running" }]);
  const job = await browser.open(`/jobs/${id}`);
  const list = await browser.tab(job.context(), "/jobs");
  await phase(job, "Running");
  await server.fault("*", { fault: "status", status: 503 }, 1_000_000);
  await job.locator("#job-notice, #connection").filter({ hasText: "503" }).waitFor();
  await list.locator("#connection").filter({ hasText: "503" }).waitFor();
  const blank = await browser.open("/jobs?search=phase:Running");
  await blank.locator("#service-problem", { hasText: "503" }).waitFor();
  await server.clearFaults();
  await job.locator("#job-notice, #connection").filter({ hasText: "503" }).waitFor({ state: "hidden" });
  await list.locator("#connection").filter({ hasText: "503" }).waitFor({ state: "hidden" });
  await blank.getByRole("link", { name: "open" }).waitFor();
  await blank.context().close();
  await job.context().close();
});

test("a page reports that its job was deleted", { timeout }, async () => {
  const [id] = await server.seed([{ name: "doomed", phase: "Running" }]);
  const page = await browser.open(`/jobs/${id}`);
  await phase(page, "Running");
  await server.api(`training-jobs/${id}`, undefined, "DELETE");
  await page.getByText("This job was deleted").waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Not found" }).waitFor();
  await page.context().close();
});

test("a page reports that its session has expired", { timeout }, async () => {
  const page = await browser.open("/jobs");
  await page.getByRole("heading", { name: "Jobs" }).waitFor();
  await page.context().clearCookies();
  await server.stopPage();
  await page.getByText("Connection lost").waitFor();
  await server.startPage();
  await page.getByText("the session has expired").waitFor();
  await page.getByRole("link", { name: "Create", exact: true }).click();
  await page.getByRole("heading", { name: "Log in" }).waitFor();
  await page.context().close();
});

test("pages report a service whose clock is off, and count ages by it", { timeout }, async () => {
  const minutes = 7;
  const off = await Server.start({ clockAhead: -60 * minutes });
  const other = await Browser.start(off);
  try {
    const [id] = await off.seed([{ name: "off", phase: "Running" }]);
    const list = await other.open("/jobs");
    const note = /7m\d+s behind that of this computer\. Ages and running times are counted by it\./;
    await list.locator(".note.clock", { hasText: note }).waitFor();
    // Scripts have written the age.
    const age = list.locator("#rows tr", { hasText: "off" }).locator("time[data-age]");
    await list.waitForFunction(() => document.querySelector("time[data-age]").title.includes(","));
    assert.match(await age.textContent(), /^\d+s$/);
    const job = await other.tab(list.context(), `/jobs/${id}/events`);
    await job.locator(".note.clock", { hasText: note }).waitFor();
    await assertAccessible(job);
    other.assertNoFaults();
  } finally {
    await other.end();
    await off.end();
  }
});

test("texts of a job are never HTML", { timeout }, async () => {
  const job = {
    kind: "job",
    metadata: { name: "unused", description: MARKUP },
    algorithm: {
      engine: { image_url: "a/b:1" },
      command: `echo '${MARKUP}'`,
      parameters: [{ name: "text", value: MARKUP }],
      environments: { TEXT: MARKUP },
    },
    spec: { resource: { flavor_id: "modelarts.vm.cpu.8u", node_count: 1 } },
  };
  const now = new Date().toISOString();
  const [id] = await server.seed([
    {
      name: "markup",
      job,
      phase: "Failed",
      created: now,
      events: [{ time: now, message: MARKUP }],
      logs: { "worker-0": `${MARKUP}\nValueError: ${MARKUP}\n` },
      tags: { key: MARKUP },
    },
  ]);
  for (const tab of TABS) {
    const page = await browser.open(`/jobs/${id}${tab}`);
    await phase(page, "Failed");
    if (tab !== "/usage") {
      await page.getByText("window.ran").locator("visible=true").first().waitFor();
    }
    assert.equal(await page.evaluate(() => window.ran), undefined);
    assert.equal(await page.locator("main script, main img").count(), 0);
    await page.context().close();
  }
  const search = await browser.open(`/jobs?search=${encodeURIComponent(MARKUP)}`);
  assert.equal(await search.evaluate(() => window.ran), undefined);
  await search.context().close();
});

test("a line of ten megabytes is cut, and can be downloaded", { timeout }, async () => {
  const size = 10_000_000;
  const [id] = await server.seed([
    { name: "long-line", phase: "Completed", logs: { "worker-0": `first\n${"x".repeat(size)}\nlast\n` } },
  ]);
  const page = await browser.open(`/jobs/${id}/logs`);
  await logLine(page, "last");
  // The client passes lines of more than a mebibyte on in pieces.
  const rows = page.locator("#log .row", { hasText: "xxx" });
  for (const text of await rows.locator(".text").allTextContents()) {
    assert.ok(text.length <= 4096, `${text.length} characters`);
  }
  const saved = async (link) => {
    const download = page.waitForEvent("download");
    await link.click();
    const chunks = [];
    for await (const chunk of await (await download).createReadStream()) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  };
  assert.match(await saved(rows.getByRole("link", { name: "whole line" }).first()), /^x{1000000,}\n?$/);
  const log = await saved(page.getByRole("link", { name: "Download" }));
  assert.equal(log.length, "first\n\nlast\n".length + size);
  await page.context().close();
});

test("an upload that breaks off is reported, and can be repeated", { timeout }, async () => {
  const page = await browser.open("/create");
  await fillForm(page, "broken-upload");
  await page.route("**/create/files/**", (route) => route.abort("connectionreset"));
  const area = page.getByRole("group", { name: "Files for code directory" });
  const choose = async () => {
    const chooser = page.waitForEvent("filechooser");
    await area.getByRole("button", { name: "choose files" }).click();
    const buffer = Buffer.from("print('uploaded')\n");
    await (await chooser).setFiles([{ name: "train.py", mimeType: "text/x-python", buffer }]);
  };
  await choose();
  await area.getByText("the upload broke off").waitFor();
  await page.unroute("**/create/files/**");
  await choose();
  await page.locator("#state", { hasText: "The job breaks no rule." }).waitFor();
  await page.getByRole("button", { name: "Create job" }).click();
  await phase(page, "Completed");
  await page.context().close();
});

test("pages can be read without scripts", { timeout }, async () => {
  const steps = await Steps.create();
  const id = await server.run("no-scripts", steps.program("print('a line of the log')"));
  const waiting = await browser.open(`/jobs/${id}`);
  await phase(waiting, "Completed");
  await waiting.context().close();
  const page = await browser.open("/jobs", { javaScriptEnabled: false });
  await page.getByRole("link", { name: "no-scripts" }).click();
  await phase(page, "Completed");
  await page.getByRole("link", { name: "Logs" }).click();
  await logLine(page, "a line of the log");
  await page.getByRole("link", { name: "Events" }).click();
  await page.locator("#event-rows tr").first().waitFor();
  await page.getByRole("link", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "Jobs" }).waitFor();
  await page.context().close();
  await steps.end();
});
