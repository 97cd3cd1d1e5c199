// Pictures of the page for documents. CONSOLE_PICTURES=1 writes them to book/src/pictures.
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { Browser } from "../support/browser.mjs";
import { seed } from "../support/sample.mjs";
import { Server } from "../support/server.mjs";

const PICTURES_FOLDER = fileURLToPath(new URL("../../../../../book/src/pictures/", import.meta.url));

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

/** Pictures: the file, the theme, the address, and what is visible when the page is ready. */
const PICTURES = [
  ["jobs", "light", () => "/jobs", (page) => page.locator("time[title]")],
  [
    "failed-job",
    "dark",
    () => `/jobs/${ids["resnet-50-large-batch"]}`,
    (page) => page.getByText("CUDA out of memory"),
  ],
];

for (const [name, colorScheme, path, ready] of PICTURES) {
  const skip = process.env.CONSOLE_PICTURES ? false : "set CONSOLE_PICTURES=1 to write it";
  test(`the picture ${name} is written`, { timeout: 60_000, skip }, async () => {
    const page = await browser.open(path(), { colorScheme, viewport: { width: 1200, height: 720 } });
    await ready(page).first().waitFor();
    await page.screenshot({ path: `${PICTURES_FOLDER}${name}.png`, animations: "disabled", caret: "hide" });
    await page.context().close();
  });
}
