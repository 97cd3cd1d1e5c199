// Screens of the page: the name of the screenshot, the address, and what is visible when the screen
// is ready.

/** Returns the screens for the jobs of `sample.mjs`. */
export function screens(ids) {
  const done = ids["resnet-50-baseline"];
  const heading = (name) => (page) => page.getByRole("heading", { name });
  return [
    ["jobs", "/jobs", (page) => page.getByRole("link", { name: "resnet-50-baseline" })],
    ["jobs-failed", "/jobs?search=phase:Failed", (page) => page.getByRole("link", { name: "resnet-50-large-batch" })],
    ["jobs-rejected", "/jobs?search=colour:red", heading("Jobs")],
    ["overview", `/jobs/${done}`, heading("resnet-50-baseline")],
    ["failed", `/jobs/${ids["resnet-50-large-batch"]}`, heading("resnet-50-large-batch")],
    ["pending", `/jobs/${ids["bert-large-64-nodes-with-a-name-that-is-as-long-as-it-may-be-x"]}`, heading("bert-large")],
    ["events", `/jobs/${done}/events`, (page) => page.locator("#event-rows tr")],
    ["logs", `/jobs/${done}/logs`, (page) => page.locator("#log .row")],
    ["logs-found", `/jobs/${ids["resnet-50-large-batch"]}/logs?task=worker-1&q=RuntimeError`, (page) => page.locator("#log mark")],
    ["values", `/jobs/${done}/values`, (page) => page.locator("#curves canvas")],
    ["compare", `/jobs/compare?id=${done}&id=${ids["resnet-50-large-batch"]}&id=${ids["bert-finetune"]}`, (page) => page.locator("#curves canvas")],
    ["outputs", `/jobs/${done}/outputs?output=train_url&path=metrics.json`, (page) => page.getByText("accuracy")],
    ["usage", `/jobs/${done}/usage`, (page) => page.locator("#usage canvas")],
    ["request", `/jobs/${done}/request`, heading("resnet-50-baseline")],
    ["stop", `/jobs/${ids["bert-finetune"]}/stop`, heading("Stop bert-finetune")],
    ["create", "/create", heading("Create")],
    ["create-copy", `/create?from=${done}`, heading("Create")],
    ["emulator", "/emulator", heading("Emulator")],
    ["not-found", "/nothing", heading("Not found")],
  ];
}
