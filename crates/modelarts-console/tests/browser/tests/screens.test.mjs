// Each screen: rules of axe, width, weight, screenshots.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { assertAccessible, assertFits, Browser, MEDIUM, NARROW, shoot, weight, WIDE } from "../support/browser.mjs";
import { seed } from "../support/sample.mjs";
import { screens } from "../support/screens.mjs";
import { Server } from "../support/server.mjs";

/** Maximum size of a page with its scripts and styles, in bytes. */
const HEAVIEST = 200_000;
/** Windows that are checked by the rules of axe: each theme and each width once. */
const CHECKED = [
  ["light", WIDE],
  ["dark", NARROW],
];
/** Windows of the other screenshots, which the check in CI leaves out. */
const OTHERS = process.env.CONSOLE_TESTS === "ci"
  ? []
  : [["light", NARROW], ["dark", WIDE], ["light", MEDIUM], ["dark", MEDIUM]];

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
    const open = async ([colorScheme, viewport]) => {
      const page = await browser.open(path, { colorScheme, viewport, reducedMotion: "reduce" });
      await ready(page).first().waitFor();
      await assertFits(page);
      await shoot(page, `${name}-${colorScheme}-${viewport.width}`);
      return page;
    };
    for (const window of CHECKED) {
      const page = await open(window);
      // Closed details are hidden from the rules.
      await page.evaluate(() => {
        for (const details of document.querySelectorAll("details")) details.open = true;
      });
      await assertFits(page);
      await assertAccessible(page);
      if (window[1] === WIDE) {
        const bytes = await weight(page);
        t.diagnostic(`${name} has ${bytes} bytes`);
        assert.ok(bytes <= HEAVIEST, `${name} has ${bytes} bytes`);
      }
      await page.context().close();
    }
    for (const window of OTHERS) {
      const page = await open(window);
      await page.context().close();
    }
    browser.assertNoFaults();
  });
}
