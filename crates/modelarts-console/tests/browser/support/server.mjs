// Starts the server of the tests: an emulator with the page beside it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

/** Program of `server.rs`; the script `run` sets the variable. */
const PROGRAM = process.env.CONSOLE_SERVER;

/** Server of the tests. The code of its jobs runs as processes, unless a script is given. */
export class Server {
  #child;
  #lines;
  #ready;
  #ended = false;

  /** Starts a server. Options: `speed`, `script` (file), `readOnly`, `clockAhead` (seconds). */
  static async start(settings = {}) {
    const server = new Server();
    const stdio = ["pipe", "pipe", "inherit"];
    server.#child = spawn(PROGRAM, [JSON.stringify(settings)], { stdio });
    // Node waits for neither the process nor its pipes, so a failed test ends the run.
    server.#child.once("exit", () => (server.#ended = true));
    server.#lines = createInterface(server.#child.stdout)[Symbol.asyncIterator]();
    server.#ready = await server.#line();
    server.login = server.#ready.login;
    return server;
  }

  async #line() {
    const { value, done } = await this.#lines.next();
    if (done) {
      throw new Error("the server of the tests has ended");
    }
    return JSON.parse(value);
  }

  async #command(name) {
    this.#child.stdin.write(`${JSON.stringify(name)}\n`);
    return await this.#line();
  }

  /** Address of the page. */
  get url() {
    return this.#ready.url;
  }

  /** Ends the page; jobs continue. */
  async stopPage() {
    await this.#command("stop");
  }

  /** Starts the page again, on the same port. */
  async startPage() {
    const { login } = await this.#command("start");
    this.login = login;
  }

  /** Ends the server and its jobs. */
  async end() {
    if (!this.#ended) {
      const exit = once(this.#child, "exit");
      this.#child.stdin.end();
      await exit;
    }
  }

  /** Calls a control route of the emulator. */
  async control(route, body, method = body === undefined ? "GET" : "POST") {
    return await this.#send(`${this.#ready.emulator}/_emulator/${route}`, body, method);
  }

  /** Calls the API of the project. */
  async api(route, body, method = body === undefined ? "GET" : "POST") {
    const project = `${this.#ready.emulator}/v2/${this.#ready.project}`;
    return await this.#send(`${project}/${route}`, body, method);
  }

  async #send(url, body, method) {
    const headers = { "Content-Type": "application/json", "X-Auth-Token": this.#ready.token };
    const text = body === undefined ? undefined : JSON.stringify(body);
    const response = await fetch(url, { method, headers, body: text });
    const answer = await response.text();
    if (!response.ok) {
      throw new Error(`${method} ${url}: ${response.status} ${answer}`);
    }
    return answer ? JSON.parse(answer) : null;
  }

  /** Adds jobs with an invented past. Returns their ids. */
  async seed(jobs) {
    const seeded = await this.control("seeds", { jobs });
    return seeded.ids ?? seeded;
  }

  /** Applies a fault to the next responses of an operation. */
  async fault(operation, fault, times = 1) {
    await this.control("faults", { operation, times, ...fault });
  }

  /** Removes all faults. */
  async clearFaults() {
    await this.control("faults", undefined, "DELETE");
  }

  /** Writes an object of OBS. */
  async put(key, contents) {
    const file = join(this.#ready.obs_root, key);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, contents);
  }

  /** Creates a job that runs this Python program. Returns its id. */
  async run(name, program, { description, parameters = [], nodes = 1, flavor } = {}) {
    await this.put(`bucket/${name}/train.py`, program);
    const job = await this.api("training-jobs", {
      kind: "job",
      metadata: { name, description },
      algorithm: {
        code_dir: `/bucket/${name}/`,
        boot_file: `/bucket/${name}/train.py`,
        engine: { engine_name: "PyTorch", engine_version: "pytorch_1.8.0" },
        parameters,
      },
      spec: {
        resource: { flavor_id: flavor ?? "modelarts.vm.cpu.8u", node_count: nodes },
      },
    });
    return job.metadata.id;
  }

  /** Resident memory of the server, in bytes. */
  async memory() {
    const status = await readFile(`/proc/${this.#child.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)[1]) * 1024;
  }
}
