// Each screen in both themes and two widths: rules of axe, width, screenshots.
import { after, before, test } from "node:test";

import { assertAccessible, assertFits, Browser, NARROW, shoot, THEMES, WIDE } from "../support/browser.mjs";
import { seed } from "../support/sample.mjs";
import { Server } from "../support/server.mjs";

let server;
let browser;
let ids;

before(async () => {
  server = await Server.start();
  ids = await seed(server);
  browser = await Browser.start(server);
});

after(async () => {
  await browser?.end();
  await server?.end();
});

/** Screens: the name of the screenshot, the address, and what is visible when the screen is ready. */
const SCREENS = [
  ["jobs", () => "/jobs", (page) => page.getByRole("link", { name: "resnet-50-baseline" })],
  ["not-found", () => "/nothing", (page) => page.getByRole("heading", { name: "Not found" })],
];

for (const [name, path, ready] of SCREENS) {
  test(`${name} is accessible and fits in both themes and widths`, { timeout: 60_000 }, async () => {
    for (const colorScheme of THEMES) {
      const page = await browser.open(path(ids), { colorScheme, reducedMotion: "reduce" });
      for (const viewport of [WIDE, NARROW]) {
        await page.setViewportSize(viewport);
        await ready(page).waitFor();
        await assertFits(page);
        await assertAccessible(page);
        await shoot(page, `${name}-${colorScheme}-${viewport.width}`);
      }
      await page.context().close();
    }
    browser.assertNoFaults();
  });
}
