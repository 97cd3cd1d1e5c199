// Files of the form: dropped with the mouse, removed, and removed with their row.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";

import { Browser, NARROW } from "../support/browser.mjs";
import { fillForm, logLine, phase } from "../support/job.mjs";
import { Server } from "../support/server.mjs";

const timeout = 60_000;
const CODE = "Files for code directory";

let server;
let browser;
let directory;

before(async () => {
  server = await Server.start();
  browser = await Browser.start(server);
  directory = await mkdtemp(join(tmpdir(), "console-files-"));
  await mkdir(join(directory, "code", "lib"), { recursive: true });
  await mkdir(join(directory, "code", ".git"), { recursive: true });
  await writeFile(join(directory, "code", "train.py"), "from lib import text\nprint(text.WORDS)\n");
  await writeFile(join(directory, "code", "lib", "text.py"), "WORDS = 'dropped with the mouse'\n");
  await writeFile(join(directory, "code", ".git", "HEAD"), "ref: main\n");
  await writeFile(join(directory, "rows.csv"), "1\n2\n3\n");
});

afterEach(() => browser.assertNoFaults());

after(async () => {
  await browser?.end();
  await server?.end();
  await rm(directory, { recursive: true });
});

/** Drags files and directories of this computer over an element, and drops them there. */
async function drop(page, element, ...names) {
  await element.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await element.boundingBox();
  const protocol = await page.context().newCDPSession(page);
  const data = { items: [], files: names.map((name) => join(directory, name)), dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"]) {
    if (type === "drop") {
      assert.match(await element.getAttribute("class"), /over/);
    }
    await protocol.send("Input.dispatchDragEvent", { type, x: x + width / 2, y: y + height / 2, data });
  }
  assert.doesNotMatch(await element.getAttribute("class"), /over/);
}

/** Waits until a place for files shows this text. */
async function waitForState(area, text) {
  await area.locator("[data-state]", { hasText: text }).waitFor();
}

test("a job runs a directory that was dropped with the mouse", { timeout }, async () => {
  const page = await browser.open("/create");
  await fillForm(page, "dropped");
  const area = page.getByRole("group", { name: CODE });
  await drop(page, area, "code");
  // The files of git are no code.
  await waitForState(area, "2 files");
  await page.locator("#state", { hasText: "The job breaks no rule." }).waitFor();
  await page.getByRole("button", { name: "Create job" }).click();
  await phase(page, "Completed");
  await page.getByRole("link", { name: "Logs" }).click();
  await logLine(page, "dropped with the mouse");
  await page.context().close();
});

test("files are removed from a place, and with their row", { timeout }, async () => {
  const page = await browser.open("/create");
  await fillForm(page, "removed");
  const area = page.getByRole("group", { name: CODE });
  await drop(page, area, "code");
  await waitForState(area, "2 files");
  await page.locator("#state", { hasText: "The job breaks no rule." }).waitFor();
  await area.getByRole("button", { name: "Remove the files" }).click();
  await page.locator("#errors a", { hasText: "Code directory" }).or(page.locator("#state", { hasText: "broken" })).first().waitFor();
  assert.equal(await area.locator("[data-state]").textContent(), "");
  assert.equal(await area.getByRole("button", { name: "Remove the files" }).isVisible(), false);
  // What is dropped after a removal is received again.
  await drop(page, area, "code");
  await waitForState(area, "2 files");

  const input = page.locator('[data-list="inputs"] [data-row]').first();
  await input.getByRole("textbox", { name: "Name" }).fill("data_url");
  await drop(page, input.locator(".drop"), "rows.csv");
  await waitForState(input.locator(".drop"), "1 file");
  await page.getByText("Request body", { exact: true }).click();
  await page.locator("#body", { hasText: "data_url" }).waitFor();
  await input.getByRole("button", { name: "Remove this input" }).click();
  await input.filter({ hasText: "1 file" }).waitFor({ state: "detached" });
  await page.waitForFunction(() => !document.getElementById("body").textContent.includes("data_url"));
  await page.getByRole("button", { name: "Create job" }).click();
  await phase(page, "Completed");
  await page.context().close();
});

test("an empty directory is refused where it was dropped", { timeout }, async () => {
  await mkdir(join(directory, "empty"), { recursive: true });
  const page = await browser.open("/create");
  const area = page.getByRole("group", { name: CODE });
  await drop(page, area, "empty");
  await waitForState(area, "there are no files to send");
  await page.context().close();
});

test("a phone shows the result of the check beside the button", { timeout }, async () => {
  const page = await browser.open("/create", { viewport: NARROW, hasTouch: true, isMobile: true });
  const result = page.locator("#result");
  await page.getByRole("textbox", { name: "Name" }).first().fill("not a name!");
  await result.filter({ hasText: "3 rules are broken." }).waitFor();
  await result.click();
  await page.waitForFunction(() => document.activeElement?.id === "check");
  const top = await page.locator("#check").evaluate((title) => title.getBoundingClientRect().top);
  assert.ok(top >= 0 && top < NARROW.height, `${top}`);
  await page.context().close();
});
