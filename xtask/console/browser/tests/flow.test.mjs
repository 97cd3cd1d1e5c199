// A job from the form to its end, as its user sees it.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { Browser } from "../support/browser.mjs";
import { Steps } from "../support/programs.mjs";
import { Server } from "../support/server.mjs";

let server;
let browser;
let steps;

before(async () => {
  server = await Server.start();
  browser = await Browser.start(server);
});

afterEach(() => browser.assertNoFaults());

after(async () => {
  await steps?.end();
  await browser?.end();
  await server?.end();
});

const timeout = 60_000;

/** Waits for a phase in the header of a job. */
const phase = (page, name) => page.locator("#job-head .phase", { hasText: name }).waitFor();

/** Returns the texts of the lines of the log that a page shows. */
const logLines = (page) => page.locator("[role=log] .line .text").allTextContents();

test("a job is created in the form and completes", { timeout }, async () => {
  await server.put("bucket/code/train.py", "print('trained')\n");
  const page = await browser.open("/create");
  await page.getByLabel("Name", { exact: true }).fill("from-the-form");
  await page.getByLabel("Preset image", { exact: true }).selectOption({ index: 1 });
  await page.getByLabel("Code directory", { exact: true }).fill("obs://bucket/code/");
  await page.getByLabel("Boot file", { exact: true }).fill("train.py");
  await page.getByLabel("Specifications", { exact: true }).selectOption("modelarts.vm.cpu.2u");
  await page.getByRole("button", { name: "Create" }).click();
  await page.waitForURL(/\/jobs\/[0-9a-f-]+$/);
  await phase(page, "Completed");
  await page.getByRole("link", { name: "Logs" }).click();
  await page.getByText("trained", { exact: true }).waitFor();
  await page.context().close();
});
