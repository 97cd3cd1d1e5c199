// A job from the form to its end, as its user sees it.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { Browser } from "../support/browser.mjs";
import { eventRow, fillForm, logLine, phase } from "../support/job.mjs";
import { Steps } from "../support/programs.mjs";
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

test("a job is created in the form and completes", { timeout }, async () => {
  await server.put("bucket/code/train.py", "print('trained')\n");
  const page = await browser.open("/create");
  await fillForm(page, "from-the-form", "obs://bucket/code/");
  await page.locator("#state", { hasText: "The job breaks no rule." }).waitFor();
  await page.getByRole("button", { name: "Create job" }).click();
  await page.waitForURL(/\/jobs\/[0-9a-f-]+$/);
  await phase(page, "Completed");
  await page.getByRole("link", { name: "Logs" }).click();
  await logLine(page, "trained");
  await page.context().close();
});

test("a job runs code that was chosen on this computer", { timeout }, async () => {
  const page = await browser.open("/create");
  await fillForm(page, "with-files");
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("group", { name: "Files for code directory" }).getByRole("button", { name: "choose files" }).click();
  const files = [{ name: "train.py", mimeType: "text/x-python", buffer: Buffer.from("print('from this computer')\n") }];
  await (await chooser).setFiles(files);
  await page.locator("#state", { hasText: "The job breaks no rule." }).waitFor();
  await page.getByRole("button", { name: "Create job" }).click();
  await page.waitForURL(/\/jobs\/[0-9a-f-]+$/);
  await phase(page, "Completed");
  await page.getByRole("link", { name: "Logs" }).click();
  await logLine(page, "from this computer");
  await page.context().close();
});

test("mistakes appear at their fields while they are typed", { timeout }, async () => {
  const page = await browser.open("/create");
  await fillForm(page, "not a name!", "obs://bucket/code/");
  await page.getByRole("textbox", { name: "Auto restart" }).fill("1000");
  await page.getByRole("textbox", { name: "Compute nodes" }).fill("0");
  await page.getByRole("combobox", { name: "Auto stop" }).fill("1000");
  await page.getByRole("textbox", { name: "Work directory" }).fill("relative");
  await page.locator("#state", { hasText: "5 rules are broken." }).waitFor();
  for (const id of ["f-name", "f-restarts", "f-nodes", "f-auto_stop", "f-working_dir"]) {
    await page.locator(`#${id}[aria-invalid="true"]`).waitFor();
    assert.match(await page.locator(`#${id}-error`).textContent(), /must/);
  }
  await page.context().close();
});

test("events and the log of a job follow it to its end", { timeout }, async () => {
  const steps = await Steps.create();
  const id = await server.run("followed", steps.program("print('step 1')", "print('step 2')"));
  const log = await browser.open(`/jobs/${id}/logs`);
  const events = await browser.tab(log.context(), `/jobs/${id}/events`);
  await logLine(log, "step 1");
  await phase(log, "Running");
  await phase(events, "Running");
  const region = log.getByRole("log");
  assert.equal(await region.getAttribute("aria-live"), "polite");
  await log.getByText("Options").click();
  await log.getByLabel("Announce new lines").uncheck();
  assert.equal(await region.getAttribute("aria-live"), "off");
  await log.getByLabel("Announce new lines").check();
  const before = await events.locator("#event-rows tr").count();
  await steps.release(1);
  await logLine(log, "step 2");
  await phase(log, "Completed");
  await phase(events, "Completed");
  await eventRow(events, /completed/i);
  assert.ok((await events.locator("#event-rows tr").count()) > before);
  assert.deepEqual(await log.locator("#log .row .text").allTextContents(), ["step 1", "step 2"]);
  // No new lines follow, so what appears by scrolling is not announced.
  await log.locator('#log[aria-live="off"]').waitFor();
  assert.equal(await log.getByLabel("Announce new lines").isVisible(), false);
  await log.context().close();
  await steps.end();
});

test("a running job is stopped on its page", { timeout }, async () => {
  const steps = await Steps.create();
  const id = await server.run("stopped", steps.program("print('started')", "print('never')"));
  const page = await browser.open(`/jobs/${id}`);
  await phase(page, "Running");
  await page.getByRole("link", { name: "Stop" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "hidden" });
  await page.getByRole("link", { name: "Stop" }).click();
  await dialog.getByRole("button", { name: "Stop" }).click();
  await phase(page, "Terminated");
  await page.getByRole("link", { name: "Stop" }).waitFor({ state: "detached" });
  await page.context().close();
  await steps.end();
});

test("a failed job shows its diagnosis", { timeout }, async () => {
  const steps = await Steps.create();
  const id = await server.run("failing", steps.program("print('started')", "import torchvision_of_nobody"));
  const page = await browser.open(`/jobs/${id}`);
  await phase(page, "Running");
  await steps.release(1);
  await phase(page, "Failed");
  const diagnosis = page.getByRole("region", { name: "Why it failed" });
  await diagnosis.waitFor();
  await diagnosis.getByText("torchvision_of_nobody").first().waitFor();
  await page.context().close();
  await steps.end();
});

test("a restart of the server loses nothing and doubles nothing", { timeout }, async () => {
  const steps = await Steps.create();
  const id = await server.run("restarted", steps.program("print('before')", "print('meanwhile')", "print('after')"));
  const log = await browser.open(`/jobs/${id}/logs`);
  const events = await browser.tab(log.context(), `/jobs/${id}/events`);
  await logLine(log, "before");
  await phase(events, "Running");
  await server.stopPage();
  for (const page of [log, events]) {
    await page.getByText("Connection lost").waitFor();
  }
  await steps.release(1);
  await server.startPage();
  for (const page of [log, events]) {
    await page.getByText("Connection lost").waitFor({ state: "hidden" });
  }
  await logLine(log, "meanwhile");
  await steps.release(2);
  await phase(log, "Completed");
  await phase(events, "Completed");
  await logLine(log, "after");
  await eventRow(events, /completed/i);
  assert.deepEqual(await log.locator("#log .row .text").allTextContents(), ["before", "meanwhile", "after"]);
  const shown = await events.locator("#event-rows tr").allTextContents();
  await events.reload();
  await eventRow(events, /completed/i);
  assert.deepEqual(shown, await events.locator("#event-rows tr").allTextContents());
  await log.context().close();
  await steps.end();
});

test("files of an output are seen and downloaded", { timeout }, async () => {
  await server.put("bucket/out/.keep", "");
  const job = {
    kind: "job",
    metadata: { name: "with-outputs" },
    algorithm: {
      engine: { image_url: "a/b:1" },
      command: "python3 -c \"import os; open(os.environ['train_url'] + '/metrics.json', 'w').write('{\\\"loss\\\": 0.25}')\"",
      outputs: [{ name: "train_url", access_method: "env", remote: { obs: { obs_url: "/bucket/out/" } } }],
    },
    spec: { resource: { flavor_id: "modelarts.vm.cpu.8u", node_count: 1 } },
  };
  const { metadata } = await server.api("training-jobs", job);
  const page = await browser.open(`/jobs/${metadata.id}`);
  await phase(page, "Completed");
  await page.getByRole("link", { name: "Outputs" }).click();
  await page.getByRole("link", { name: "metrics.json", exact: true }).click();
  await page.getByText('{"loss": 0.25}').waitFor();
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download metrics.json" }).click();
  assert.equal((await download).suggestedFilename(), "metrics.json");
  await page.context().close();
});

test("an address in OBS is chosen in a dialog", { timeout }, async () => {
  await server.put("bucket/projects/resnet/train.py", "print('chosen')\n");
  const page = await browser.open("/create");
  await page.locator("#state", { hasText: "The form is checked while you fill it in." }).waitFor();
  assert.match(await page.getByRole("combobox", { name: "Preset image" }).inputValue(), /./);
  await page.getByRole("button", { name: "Browse for code directory", exact: false }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "projects/" }).click();
  await dialog.getByRole("button", { name: "resnet/" }).click();
  await dialog.getByText("train.py").waitFor();
  await dialog.getByRole("button", { name: "Choose this directory" }).click();
  assert.equal(await page.locator("#f-code_dir").inputValue(), "obs://bucket/projects/resnet/");
  await page.getByRole("button", { name: "Browse for boot file" }).click();
  await dialog.getByRole("button", { name: "train.py" }).click();
  assert.equal(await page.locator("#f-boot_file").inputValue(), "train.py");
  await page.getByRole("combobox", { name: "Specifications" }).selectOption("modelarts.vm.cpu.2u");
  await page.locator("#state", { hasText: "The job breaks no rule." }).waitFor();
  await page.getByRole("button", { name: "Create job" }).click();
  await page.waitForURL(/\/jobs\/[0-9a-f-]+$/);
  await phase(page, "Completed");
  await page.context().close();
});

test("values of the log are curves, and runs are compared", { timeout }, async () => {
  const code = (rate) => `for step in range(1, 6):\n    print(f"step {step} loss={${rate} / step:.4f} acc: {step / 10}")\n`;
  const first = await server.run("curves-a", code(1), { parameters: [{ name: "lr", value: "0.1" }] });
  const second = await server.run("curves-b", code(2), { parameters: [{ name: "lr", value: "0.2" }], nodes: 2 });
  const page = await browser.open(`/jobs/${first}/values`);
  await page.locator("#curves figcaption", { hasText: "loss" }).waitFor();
  await page.locator("#curves figcaption", { hasText: "acc" }).waitFor();
  await page.getByText("Values as a table").click();
  await page.getByRole("row", { name: "loss worker-0 5 0.2 0.2 1" }).waitFor();
  const chart = page.locator("#curves figure", { hasText: "loss" });
  await chart.locator(".u-over").hover({ position: { x: 1, y: 40 } });
  await chart.locator(".tip", { hasText: "Step 1 worker-0 1" }).waitFor();
  const ended = await browser.tab(page.context(), `/jobs/${second}`);
  await phase(ended, "Completed");
  const list = await browser.tab(page.context(), "/jobs?search=name:curves");
  const compare = list.getByRole("button", { name: "Compare" });
  await list.getByRole("checkbox", { name: "Select curves-a" }).check();
  assert.ok(await compare.isDisabled());
  await list.getByRole("checkbox", { name: "Select curves-b" }).check();
  await compare.click();
  await list.waitForURL(/\/jobs\/compare\?/);
  await list.getByRole("row", { name: "lr" }).filter({ hasText: /0\.[12]0\.[12]/ }).waitFor();
  await list.locator("#curves figure", { hasText: "loss" }).locator(".u-legend", { hasText: "curves-a" }).filter({ hasText: "curves-b" }).waitFor();
  await page.context().close();
});
