// Programs of jobs, which wait for files that a test writes.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A Python program in steps: each step runs when the test lets it. */
export class Steps {
  #directory;

  static async create() {
    const steps = new Steps();
    steps.#directory = await mkdtemp(join(tmpdir(), "console-steps-"));
    return steps;
  }

  /** Returns the program. Step n + 1 runs after `release(n + 1)`; the first runs at once. */
  program(...steps) {
    const wait = (n) => `wait(${JSON.stringify(join(this.#directory, String(n)))})`;
    const code = steps.map((step, n) => (n === 0 ? step : `${wait(n)}\n${step}`));
    return `import os, sys, time

def wait(path):
    while not os.path.exists(path):
        time.sleep(0.02)

${code.join("\n")}
`;
  }

  /** Lets step n run. Steps are counted from 0. */
  async release(n) {
    await writeFile(join(this.#directory, String(n)), "");
  }

  async end() {
    await rm(this.#directory, { recursive: true });
  }
}
