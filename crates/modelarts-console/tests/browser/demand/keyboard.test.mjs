// Use without a mouse.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Browser, NARROW } from "../support/browser.mjs";
import { phase } from "../support/job.mjs";
import { assertReachable } from "../support/keyboard.mjs";
import { Steps } from "../support/programs.mjs";
import { seed } from "../support/sample.mjs";
import { screens } from "../support/screens.mjs";
import { Server } from "../support/server.mjs";

let server;
let browser;
let all;

before(async () => {
  server = await Server.start();
  all = screens(await seed(server));
  browser = await Browser.start(server);
});

after(async () => {
  await browser?.end();
  await server?.end();
});

for (const name of screens({}).map(([name]) => name)) {
  test(`the tabulator reaches the controls of ${name}`, { timeout: 120_000 }, async () => {
    const [, path, ready] = all.find(([known]) => known === name);
    const page = await browser.open(path);
    await ready(page).first().waitFor();
    await assertReachable(page);
    await page.context().close();
    browser.assertNoFaults();
  });
}

/** Presses a key until the focus is at an element, and returns this element. */
async function moveTo(page, selector, key = "Tab") {
  for (let n = 0; n < 200; n += 1) {
    const isThere = await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector);
    if (isThere) return;
    await page.keyboard.press(key);
  }
  assert.fail(`the keyboard does not reach ${selector}`);
}

for (const viewport of [undefined, NARROW]) {
  const device = viewport ? "a phone" : "a keyboard";
  test(`a job is created and stopped with the keys of ${device}`, { timeout: 120_000 }, async () => {
    const steps = await Steps.create();
    const name = viewport ? "by-phone" : "by-keys";
    await server.put(`bucket/${name}/train.py`, steps.program("print('started')", "print('never')"));
    const page = await browser.open("/jobs", viewport && { viewport, hasTouch: true, isMobile: true });
    await moveTo(page, ".skip");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement?.id === "main");
    await moveTo(page, 'nav a[href="/create"]', "Shift+Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/create");
    const fill = async (selector, text) => {
      await moveTo(page, selector);
      await page.keyboard.press("Control+A");
      await page.keyboard.type(text);
    };
    await fill("#f-name", name);
    await fill("#f-engine", "pytorch_1.8");
    await fill("#f-code_dir", `obs://bucket/${name}/`);
    await fill("#f-boot_file", "train.py");
    await fill("#f-flavor", "modelarts.vm.cpu.2u");
    await page.locator("#state", { hasText: "The job breaks no rule." }).waitFor();
    await moveTo(page, "button.primary");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/jobs\/[0-9a-f-]+$/);
    await phase(page, "Running");
    await moveTo(page, "#stop");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await moveTo(page, "dialog button.danger");
    await page.keyboard.press("Enter");
    await phase(page, "Terminated");
    await page.context().close();
    await steps.end();
    browser.assertNoFaults();
  });
}
