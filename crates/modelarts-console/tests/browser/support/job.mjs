// Parts of the pages of a job.

/** Waits until the header of a job has a phase. */
export async function phase(page, name) {
  await page.locator("#job-head .phase", { hasText: name }).waitFor();
}

/** Waits until the log shows a line with this text. */
export async function logLine(page, text) {
  await page.locator("#log .row .text", { hasText: text }).first().waitFor();
}

/** Waits until the table of events has a row with this text. */
export async function eventRow(page, text) {
  await page.locator("#event-rows tr", { hasText: text }).first().waitFor();
}

/** Fills in the form for a job that runs `train.py` of a directory. */
export async function fillForm(page, name, code) {
  await page.getByRole("button", { name: "Show all settings" }).click();
  await page.getByRole("textbox", { name: "Name" }).first().fill(name);
  await page.getByRole("combobox", { name: "Preset image" }).selectOption({ label: "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64" });
  if (code) {
    await page.getByRole("textbox", { name: "Code directory", exact: true }).fill(code);
  }
  await page.getByRole("combobox", { name: "Boot file" }).fill("train.py");
  await page.getByRole("combobox", { name: "Specifications" }).selectOption("modelarts.vm.cpu.2u");
}
