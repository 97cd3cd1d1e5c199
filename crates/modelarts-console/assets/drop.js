// Files that are dropped on the form, or chosen in it.
import { errorText, request } from "./page.js";

/** Directories that are no code, which modelarts-obs leaves out, too. */
const LEFT_OUT = new Set([".git", "__pycache__", "node_modules", ".venv", "venv", ".ipynb_checkpoints"]);
const PARALLEL = 3;

/** Returns the entries of a directory; a browser returns some at a time. */
async function entriesOf(directory) {
  const reader = directory.createReader();
  const entries = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) {
      return entries;
    }
    entries.push(...some);
  }
}

/** Returns the files below an entry, with their paths. */
async function filesOf(entry, parent = "") {
  if (LEFT_OUT.has(entry.name)) {
    return [];
  }
  const path = parent + entry.name;
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ path, file }];
  }
  const files = [];
  for (const inner of await entriesOf(entry)) {
    files.push(...(await filesOf(inner, `${path}/`)));
  }
  return files;
}

/** Sends a file. Calls `advanced` with the number of bytes that were sent. */
function send(url, csrf, file, advanced) {
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    sending.open("POST", url);
    sending.setRequestHeader("Accept", "application/json");
    sending.setRequestHeader("X-CSRF-Token", csrf);
    sending.setRequestHeader("Content-Type", "application/octet-stream");
    sending.upload.onprogress = (event) => advanced(event.loaded);
    sending.onerror = () => reject(new Error("the upload broke off; drop the files again"));
    sending.onload = () => {
      if (sending.status < 300) {
        resolve();
        return;
      }
      let problem = null;
      try {
        problem = JSON.parse(sending.responseText).error;
      } catch {
        // A response without JSON has no message.
      }
      const parts = [problem?.message ?? `status ${sending.status}`, problem?.advice];
      reject(new Error(parts.filter(Boolean).join("; ")));
    };
    sending.send(file);
  });
}

/**
 * Makes the places for files of a form work. `changed` is called after their files have changed.
 * Returns `show(texts)`, which shows the files of each place; `finished()`, which waits for uploads;
 * and `clear(root)`, which removes the files of the places in an element.
 */
export function dropZones(form, changed) {
  const base = `/create/files/${form.elements.draft.value}`;
  const csrf = form.elements.csrf.value;
  const uploads = new Map();
  let texts = new Map();

  const zonesOf = (slot) => form.querySelectorAll(`.drop[data-slot="${slot}"]`);

  const showState = (slot, text, { isError = false, value = null } = {}) => {
    for (const zone of zonesOf(slot)) {
      const state = zone.querySelector("[data-state]");
      if (state.textContent !== text) {
        state.textContent = text;
      }
      state.classList.toggle("error", isError);
      const bar = zone.querySelector("progress");
      bar.hidden = value === null;
      bar.value = value ?? 0;
      zone.querySelector("[data-clear]").hidden = !texts.has(slot) && !isError;
    }
  };

  const upload = async (slot, files) => {
    if (files.length === 0) {
      throw new Error("there are no files to send");
    }
    const total = files.reduce((sum, { file }) => sum + file.size, 0) || 1;
    const sent = new Map();
    const queue = [...files];
    let done = 0;
    const worker = async () => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        const { path, file } = next;
        const url = `${base}/${slot}/${path.split("/").map(encodeURIComponent).join("/")}`;
        await send(url, csrf, file, (bytes) => {
          sent.set(path, Math.min(bytes, file.size));
          const all = Array.from(sent.values()).reduce((sum, size) => sum + size, 0);
          const count = files.length === 1 ? "1 file" : `${files.length} files, ${done} done`;
          showState(slot, `Receiving ${count}`, { value: all / total });
        }).catch((error) => {
          queue.length = 0;
          throw new Error(`${path}: ${error.message}`);
        });
        done += 1;
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, worker));
  };

  /** Changes the files of a place after the changes before it. */
  const enqueue = (slot, change, state) => {
    const before = uploads.get(slot) ?? Promise.resolve();
    const work = before
      .then(change)
      .then(
        () => showState(slot, state),
        (error) => showState(slot, errorText(error), { isError: true }),
      )
      .finally(() => {
        if (uploads.get(slot) === work) {
          uploads.delete(slot);
        }
        changed();
      });
    uploads.set(slot, work);
  };

  const start = (slot, reading) =>
    enqueue(slot, async () => upload(slot, await reading), "Received");

  const clear = (slot) =>
    enqueue(slot, async () => {
      await request(`${base}/${slot}`, { method: "DELETE" });
      texts.delete(slot);
    }, "");

  const choose = (slot, isDirectory) => {
    const input = document.createElement("input");
    input.type = "file";
    input.multiple = true;
    input.webkitdirectory = isDirectory;
    input.addEventListener("change", () => {
      const files = Array.from(input.files, (file) => ({ path: file.webkitRelativePath || file.name, file }));
      const isSent = ({ path }) => !path.split("/").some((step) => LEFT_OUT.has(step));
      start(slot, files.filter(isSent));
    });
    input.click();
  };

  form.addEventListener("dragover", (event) => {
    const zone = event.target.closest(".drop");
    if (zone) {
      event.preventDefault();
      zone.classList.add("over");
    }
  });
  form.addEventListener("dragleave", (event) => event.target.closest(".drop")?.classList.remove("over"));
  form.addEventListener("drop", (event) => {
    const zone = event.target.closest(".drop");
    if (!zone) {
      return;
    }
    event.preventDefault();
    zone.classList.remove("over");
    // The entries must be taken during the event.
    const dropped = Array.from(event.dataTransfer.items, (item) => {
      const entry = item.webkitGetAsEntry();
      const file = entry ? null : item.getAsFile();
      return entry ? filesOf(entry) : (file ? [{ path: file.name, file }] : []);
    });
    start(zone.dataset.slot, Promise.all(dropped).then((files) => files.flat()));
  });
  form.addEventListener("click", (event) => {
    const zone = event.target.closest(".drop");
    if (zone && event.target.dataset.choose) {
      choose(zone.dataset.slot, event.target.dataset.choose === "directory");
    } else if (zone && "clear" in event.target.dataset) {
      clear(zone.dataset.slot);
    }
  });

  return {
    show(found) {
      texts = found;
      for (const zone of form.querySelectorAll(".drop")) {
        const { slot } = zone.dataset;
        const isError = zone.querySelector("[data-state]").classList.contains("error");
        if (!uploads.has(slot) && !isError) {
          showState(slot, texts.get(slot) ?? "");
        }
      }
    },
    async finished() {
      await Promise.all(uploads.values());
    },
    clear(root) {
      for (const zone of root.querySelectorAll(".drop")) {
        if (texts.has(zone.dataset.slot)) {
          clear(zone.dataset.slot);
        }
      }
    },
  };
}
