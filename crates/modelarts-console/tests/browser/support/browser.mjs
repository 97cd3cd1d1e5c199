// Starts Chromium, and opens pages that collect what must not happen on a page.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { AxeBuilder } from "@axe-core/playwright";
import { chromium } from "playwright-core";

/** Directory of the screenshots; the script `run` sets the variable. */
const SCREENSHOTS = process.env.CONSOLE_SCREENSHOTS;

/** Widths of the screenshots, in CSS pixels. */
export const WIDE = { width: 1400, height: 900 };
export const MEDIUM = { width: 800, height: 900 };
export const NARROW = { width: 400, height: 800 };
export const THEMES = ["light", "dark"];

/** A browser that is logged in. */
export class Browser {
  #browser;
  #session;
  #server;
  #faults = [];

  /** Starts Chromium and logs in. */
  static async start(server) {
    const browser = new Browser();
    browser.#server = server;
    browser.#browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      // Chromium has no sandbox for root.
      chromiumSandbox: process.getuid() !== 0,
    });
    const context = await browser.#browser.newContext();
    const page = await context.newPage();
    await page.goto(server.login);
    browser.#session = await context.storageState();
    await context.close();
    return browser;
  }

  /**
   * Opens a page in a new window. Options are those of a context of Playwright, such as `viewport`,
   * `colorScheme` and `javaScriptEnabled`.
   */
  async open(path, options = {}) {
    const context = await this.#browser.newContext({
      baseURL: this.#server.url,
      storageState: this.#session,
      viewport: WIDE,
      locale: "en-GB",
      timezoneId: "Europe/Berlin",
      ...options,
    });
    // The machine may compile at the same time.
    context.setDefaultTimeout(30_000);
    context.setDefaultNavigationTimeout(30_000);
    return await this.tab(context, path);
  }

  /** Opens a page in a window that is open. */
  async tab(context, path) {
    const page = await context.newPage();
    page.on("pageerror", (error) => this.#faults.push(`${path}: ${error.stack}`));
    page.on("console", (message) => {
      // Chromium itself reports failed requests; the page shows them too.
      const isNetwork = message.text().includes("net::ERR_") || message.text().startsWith("Failed to load resource");
      if (message.type() === "error" && !isNetwork) {
        this.#faults.push(`${path}: ${message.text()}`);
      }
    });
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (url.protocol !== "data:" && url.protocol !== "blob:" && url.origin !== this.#server.url) {
        this.#faults.push(`${path}: a request to ${url}`);
      }
    });
    await page.goto(path);
    return page;
  }

  /** Fails if a page of this browser has reported an error or sent a request to another server. */
  assertNoFaults() {
    assert.deepEqual(this.#faults.splice(0), []);
  }

  async end() {
    await this.#browser.close();
  }
}

/** Fails if a page breaks a rule of axe. */
export async function assertAccessible(page) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const found = violations.flatMap(({ id, help, nodes }) =>
    nodes.map((node) => `${id} (${help}): ${node.html}\n${node.failureSummary}`),
  );
  assert.deepEqual(found, [], page.url());
}

/** Fails if a page is wider than the window. Elements that scripts size have time to follow. */
export async function assertFits(page) {
  const tooWide = () => {
    const width = document.documentElement.clientWidth;
    const scrolls = (element) => {
      for (let up = element; up && up !== document.documentElement; up = up.parentElement) {
        if (getComputedStyle(up).overflowX !== "visible") {
          return true;
        }
      }
      return false;
    };
    return [...document.querySelectorAll("body *")]
      .filter((element) => element.getBoundingClientRect().right > width + 1 && !scrolls(element))
      .map((element) => element.outerHTML.slice(0, 120));
  };
  const fits = page.waitForFunction(`(${tooWide})().length === 0`, undefined, { timeout: 5_000 });
  await fits.catch(() => {});
  assert.deepEqual(await page.evaluate(tooWide), [], `${page.url()} is wider than its window`);
}

/** Writes a screenshot of the whole page. */
export async function shoot(page, name) {
  await mkdir(SCREENSHOTS, { recursive: true });
  await page.screenshot({
    path: join(SCREENSHOTS, `${name}.png`),
    fullPage: true,
    animations: "disabled",
    caret: "hide",
  });
}

/** Returns the bytes that a page has received, with scripts and styles, without streams. */
export async function weight(page) {
  return await page.evaluate(() => {
    const kinds = ["navigation", "resource"];
    const entries = kinds.flatMap((kind) => performance.getEntriesByType(kind));
    return entries.reduce((sum, entry) => sum + entry.transferSize, 0);
  });
}
