// Screens of the page: the name of the screenshot, the address, and what is visible when the screen
// is ready.

/** Returns the screens for the jobs of `sample.mjs`. */
export function screens(ids) {
  const done = ids["resnet-50-baseline"];
  const heading = (name) => (page) => page.getByRole("heading", { name });
  return [
    ["jobs", "/jobs", (page) => page.getByRole("link", { name: "resnet-50-baseline" })],
    ["not-found", "/nothing", heading("Not found")],
  ];
}
