// Checks of the use without a mouse.
import assert from "node:assert/strict";

/** Maximum number of times that a check presses the tabulator. */
const MOST = 400;

/**
 * Fails if a control cannot be reached by the tabulator, or shows no outline when it is reached.
 */
export async function assertReachable(page) {
  const expected = await page.evaluate(() => {
    const controls = document.querySelectorAll(
      'a[href], button:not(:disabled), input:not([type="hidden"]):not(:disabled), select:not(:disabled), textarea:not(:disabled), summary, [tabindex="0"]',
    );
    const groups = new Set();
    window.tabbable = [];
    for (const control of controls) {
      if (!control.checkVisibility({ visibilityProperty: true }) || control.tabIndex < 0) continue;
      // The tabulator reaches one button of a group of radio buttons; arrows reach the others.
      if (control.type === "radio") {
        if (groups.has(control.name)) continue;
        groups.add(control.name);
      }
      window.tabbable.push(control);
    }
    document.activeElement?.blur();
    return window.tabbable.map((control) => control.outerHTML.slice(0, 160));
  });
  const reached = new Set();
  const bare = [];
  for (let n = 0; n < MOST; n += 1) {
    await page.keyboard.press("Tab");
    const found = await page.evaluate(() => {
      const element = document.activeElement;
      if (!element || element === document.body) return null;
      const isKnown = (control) =>
        control === element || (element.type === "radio" && control.name === element.name);
      const style = getComputedStyle(element);
      return {
        control: window.tabbable.findIndex(isKnown),
        isOutlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0,
        html: element.outerHTML.slice(0, 160),
      };
    });
    if (!found) break;
    if (found.control >= 0 && reached.has(found.control)) break;
    reached.add(found.control);
    if (!found.isOutlined) bare.push(found.html);
  }
  const missed = expected.filter((_, n) => !reached.has(n));
  assert.deepEqual(missed, [], `${page.url()} has controls that the tabulator does not reach`);
  assert.deepEqual(bare, [], `${page.url()} has controls without an outline`);
}
