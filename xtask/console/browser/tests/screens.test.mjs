// Each screen in both themes and two widths: rules of axe, width, weight, screenshots.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { assertAccessible, assertFits, Browser, NARROW, shoot, THEMES, WIDE } from "../support/browser.mjs";
import { assertReachable } from "../support/keyboard.mjs";
import { seed } from "../support/sample.mjs";
import { screens } from "../support/screens.mjs";
import { Server } from "../support/server.mjs";

/** Maximum size of a page with its scripts and styles, in bytes. */
const HEAVIEST = 200_000;

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
  test(`${name} keeps the rules in both themes and widths`, { timeout: 60_000 }, async (t) => {
    const [, path, ready] = all.find(([known]) => known === name);
    for (const colorScheme of THEMES) {
      const page = await browser.open(path, { colorScheme, reducedMotion: "reduce" });
      for (const viewport of [WIDE, NARROW]) {
        await page.setViewportSize(viewport);
        await ready(page).first().waitFor();
        await assertFits(page);
        await shoot(page, `${name}-${colorScheme}-${viewport.width}`);
        await assertAccessible(page);
      }
      await page.context().close();
    }
    const page = await browser.open(path);
    await ready(page).first().waitFor();
    await assertReachable(page);
    const weight = await browser.weight(page);
    t.diagnostic(`${name} has ${weight} bytes`);
    assert.ok(weight <= HEAVIEST, `${name} has ${weight} bytes`);
    await page.context().close();
    browser.assertNoFaults();
  });
}
