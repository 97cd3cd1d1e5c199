// Window of the lines of a log: a part of the log is in the page, and more is read by scrolling.
import { request } from "./page.js";
import { long, short } from "./times.js";

/** Maximum number of lines that are read at once. */
const CHUNK = 500;
/** Maximum number of new lines that are read at once. */
const MANY = 2000;
/** Maximum number of lines in the page. */
const MOST = 5000;
/** Pause after many new lines, in milliseconds. */
const PAUSE = 250;
/** Distance from the end of the window at which more lines are read, in pixels. */
const EDGE = 400;
/** Distance from the end at which the last line counts as visible, in pixels. */
const NEAR = 40;

/** Time for which changes of lines are not announced, in milliseconds. */
const SILENCE = 500;
/** Number of lines of the platform, one after another, from which on they are folded. */
const GROUP = 3;

/** Adds the time of a line, or an empty one. */
export function addTime(row) {
  const { time } = row.dataset;
  const isRead = "read" in row.dataset;
  const shown = element("time", "time");
  if (time) {
    const at = new Date(time * 1000);
    shown.textContent = `${isRead ? "≈ " : ""}${short.format(at)}`;
    shown.dateTime = at.toISOString();
    shown.title = `${isRead ? "Read at " : ""}${long.format(at)}`;
  }
  row.querySelector(".number").after(shown);
}

/** Addresses in a text. */
const ADDRESS = /https?:\/\/[^\s<>"'`]+[^\s<>"'`.,;:!?)\]}]/g;

/** Makes the addresses in the texts of an element links. */
export function addLinks(root) {
  // A hit may be a part of an address.
  if (root.querySelector("mark")) {
    return;
  }
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) {
    texts.push(walker.currentNode);
  }
  for (const text of texts.filter(({ data, parentElement }) => data.includes("://") && !parentElement.closest("a"))) {
    const parts = [];
    let end = 0;
    for (const { 0: address, index } of text.data.matchAll(ADDRESS)) {
      const link = element("a", "", address);
      link.href = address;
      link.rel = "noreferrer noopener";
      link.target = "_blank";
      parts.push(text.data.slice(end, index), link);
      end = index + address.length;
    }
    parts.push(text.data.slice(end));
    text.replaceWith(...parts);
  }
}

/** Gives parts of a text the colours of a terminal, before links are added. */
export function paint(root, colours) {
  for (const [from, to, style] of colours) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) {
      texts.push(walker.currentNode);
    }
    let at = 0;
    for (const text of texts) {
      const [start, end] = [Math.max(0, from - at), Math.min(text.length, to - at)];
      at += text.length;
      if (start < end) {
        const part = start > 0 ? text.splitText(start) : text;
        part.splitText(end - start);
        const painted = element("span", style);
        part.replaceWith(painted);
        painted.append(part);
      }
    }
  }
}

/** Lines of a log in an element. */
export class LineWindow {
  /**
   * @param {HTMLElement} element Scrolled element whose children are the lines.
   * @param {object} options
   * @param {() => URLSearchParams} options.query Returns the fields of the task and of the search.
   * @param {string} options.job Address of the job.
   * @param {() => void} options.changed Called after each change of the lines.
   */
  constructor(element, { query, job, changed }) {
    Object.assign(this, { element, query, job, changed });
    /** Number of lines of the log, also of those that are not in the page. */
    this.total = 0;
    /** Number of the marked line; 0 for none. */
    this.marked = 0;
    /** `true` if the lines in the page must be read again. */
    this.isStale = false;
    /** `true` while lines are read because of scrolling. */
    this.isReading = false;
    /** Time until which changes are no news. */
    this.silentUntil = 0;
    this.work = Promise.resolve();
    /** The call of `follow` that waits for its turn. */
    this.following = null;
    element.addEventListener("scroll", () => this.onScroll(), { passive: true });
  }

  /** Number of the first line in the page; 0 for none. */
  get first() {
    return Number(this.element.firstElementChild?.dataset.number ?? 0);
  }

  /** Number of the last line in the page; 0 for none. */
  get last() {
    return Number(this.element.lastElementChild?.dataset.number ?? 0);
  }

  /** `true` if the end of the window is visible. */
  get isAtEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.element;
    return scrollHeight - scrollTop - clientHeight < NEAR;
  }

  /** Row of the first visible line. */
  get visibleRow() {
    const top = this.element.getBoundingClientRect().top;
    const rows = [...this.element.children];
    return rows.find((row) => row.offsetHeight > 0 && row.getBoundingClientRect().bottom > top);
  }

  /** Number of the first visible line. */
  get visible() {
    return Number(this.visibleRow?.dataset.number ?? 0);
  }

  /** Returns a function that scrolls to the lines that are visible now, after a change of the rows. */
  hold() {
    const row = this.visibleRow;
    const id = row?.id;
    const top = row && row.offsetTop - this.element.scrollTop;
    return () => {
      let shown = id && document.getElementById(id);
      while (shown && shown.offsetHeight === 0) {
        shown = shown.previousElementSibling;
      }
      if (shown) {
        this.element.scrollTop = shown.offsetTop - top;
      }
    };
  }

  /** Changes how lines are shown, without moving those that are read. */
  keep(change) {
    const { isAtEnd } = this;
    const restore = this.hold();
    this.silence();
    change();
    restore();
    if (isAtEnd) {
      this.element.scrollTop = this.element.scrollHeight;
    }
    this.fill();
  }

  /** Lines that change now are no news for screen readers, which see the change a little later. */
  silence() {
    this.silentUntil = performance.now() + SILENCE;
    setTimeout(() => this.changed(), SILENCE);
  }

  /** Runs a task after the tasks before it, so that lines are never added twice. */
  enqueue(task) {
    const run = this.work.then(task);
    this.work = run.catch(() => {});
    return run;
  }

  /** Replaces the lines by those around a line, and shows it. */
  show(number) {
    return this.enqueue(async () => {
      const row = document.getElementById(`line-${number}`);
      if (!row || this.isStale) {
        await this.replace(Math.max(1, number - CHUNK / 2));
      }
      this.mark(number);
      this.center(number);
    });
  }

  /** Scrolls a line to the middle, without scrolling the page. */
  center(number) {
    const row = document.getElementById(`line-${number}`);
    if (row) {
      this.element.scrollTop = row.offsetTop - this.element.clientHeight / 2;
    }
  }

  /** Replaces the lines by the last ones. */
  showEnd() {
    return this.enqueue(async () => {
      await this.replace(Math.max(1, this.total - CHUNK + 1));
      this.element.scrollTop = this.element.scrollHeight;
    });
  }

  /** Replaces the lines by the first ones. */
  showStart() {
    return this.enqueue(async () => {
      await this.replace(1);
      this.element.scrollTop = 0;
    });
  }

  /** Reads the lines in the page again, for example with other hits. */
  reload() {
    return this.enqueue(async () => {
      const restore = this.hold();
      await this.replace(Math.max(1, this.visible - CHUNK / 2));
      restore();
    });
  }

  /**
   * Shows the end. If more lines have arrived than the page can have, only the last of them are
   * read: a log may grow faster than a page can show it.
   */
  follow() {
    this.following ??= this.enqueue(async () => {
      // Lines that arrive from now on need another call.
      this.following = null;
      const behind = this.total - this.last;
      if (behind > MOST) {
        await this.replace(Math.max(1, this.total - CHUNK + 1));
      } else if (behind > 0) {
        await this.append(MANY);
      }
      this.element.scrollTop = this.element.scrollHeight;
      if (behind > CHUNK) {
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
      if (this.last < this.total) {
        this.follow();
      }
    });
    return this.following;
  }

  /** Marks a line; 0 for none. */
  mark(number) {
    this.marked = number;
    this.element.querySelector(".marked")?.classList.remove("marked");
    const row = document.getElementById(`line-${number}`);
    row?.classList.add("marked");
    this.fold();
  }

  /** Folds lines of the platform that follow each other, without hits and marks, to their first one. */
  fold() {
    for (let row = this.element.firstElementChild; row; row = row.nextElementSibling) {
      if (!row.classList.contains("system")) {
        continue;
      }
      const group = [row];
      while (isPlain(row) && row.nextElementSibling && isPlain(row.nextElementSibling)) {
        row = row.nextElementSibling;
        group.push(row);
      }
      let hasFocus = false;
      const isOpen = group.length < GROUP || group.some((line) => line.classList.contains("open"));
      group.forEach((line, at) => {
        line.classList.toggle("folded", !isOpen && at > 0);
        const button = line.querySelector(".more");
        hasFocus ||= button !== null && button === document.activeElement;
        if (isOpen || at > 0) {
          button?.remove();
        } else if (!button) {
          const more = element("button", "more", "System logs");
          more.type = "button";
          more.title = "Shows the lines of the platform that are folded to this one";
          line.querySelector(".text").before(more);
        }
      });
      // Groups may have become one.
      if (hasFocus) {
        group[0].querySelector(".more, .number").focus({ preventScroll: true });
      }
    }
  }

  /** Shows the lines that are folded to a line. */
  unfold(row) {
    for (let next = row; next && isPlain(next); next = next.nextElementSibling) {
      next.classList.add("open");
    }
    this.fold();
    row.querySelector(".number").focus();
  }

  async read(from, count) {
    const query = this.query();
    query.set("from", from);
    query.set("count", count);
    const window = await request(`${this.job}/logs/lines?${query}`);
    this.total = window.lines;
    return window.rows.map((row) => this.row(row));
  }

  async replace(from) {
    const rows = await this.read(from, CHUNK);
    this.silence();
    this.isStale = false;
    this.element.replaceChildren(...rows);
    this.mark(this.marked);
    this.changed();
    this.fill();
  }

  async append(count = CHUNK) {
    this.element.append(...(await this.read(this.last + 1, count)));
    this.trimStart();
    this.changed();
  }

  async prepend() {
    const from = Math.max(1, this.first - CHUNK);
    const rows = await this.read(from, this.first - from);
    const restore = this.hold();
    this.silence();
    this.element.prepend(...rows);
    this.fold();
    restore();
    while (this.element.children.length > MOST) {
      this.element.lastElementChild.remove();
    }
    this.changed();
  }

  /** Reads more lines if those in the page, some of which are folded, do not fill the window. */
  fill() {
    const { children, scrollHeight, clientHeight } = this.element;
    if (scrollHeight - clientHeight < EDGE && children.length < MOST) {
      this.onScroll();
    }
  }

  onScroll() {
    const { scrollHeight, scrollTop, clientHeight } = this.element;
    // In a full window whose lines are folded, reading at one end would remove what the other reads.
    const isFolded = this.element.children.length >= MOST && scrollHeight - clientHeight < 2 * EDGE;
    if (this.isReading || this.isStale || isFolded) {
      return;
    }
    let task = null;
    if (scrollTop < EDGE && this.first > 1) {
      task = () => this.prepend();
    } else if (scrollHeight - scrollTop - clientHeight < EDGE && this.last < this.total) {
      task = () => this.append();
    }
    if (task) {
      this.isReading = true;
      this.enqueue(task).then(() => {
        this.isReading = false;
        this.fill();
      }, () => {
        this.isReading = false;
      });
    }
  }

  /** Folds new lines, and removes the first ones of a window that is too long. */
  trimStart() {
    const more = this.element.children.length - MOST;
    if (more <= 0) {
      this.fold();
      return;
    }
    const restore = this.hold();
    [...this.element.children].slice(0, more).forEach((row) => row.remove());
    this.fold();
    restore();
  }

  /** Returns the element of a line. All texts are text, never HTML. */
  row({ number, task, parts, colours, level, is_gap: isGap, is_system: isSystem, time, is_read_time: isRead, len }) {
    const styles = ["row", level, isGap && "gap", isSystem && "system"];
    const row = element("div", styles.filter(Boolean).join(" "));
    row.id = `line-${number}`;
    row.dataset.number = number;
    const link = element("a", "number", String(number));
    const query = this.query();
    query.set("line", number);
    link.href = `${this.job}/logs?${query}#line-${number}`;
    row.append(link);
    if (time) {
      row.dataset.time = time;
      if (isRead) {
        row.dataset.read = "";
      }
    }
    if (this.element.classList.contains("timed")) {
      addTime(row);
    }
    if (task) {
      row.append(element("span", "task", task));
    }
    const text = element("span", "text");
    parts.forEach((part, at) => text.append(at % 2 ? element("mark", "", part) : part));
    paint(text, colours ?? []);
    addLinks(text);
    row.append(text);
    if (len) {
      const whole = element("a", "cut", `… whole line (${len} bytes)`);
      whole.href = `${this.job}/logs/line?${query}`;
      whole.download = "";
      row.append(" ", whole);
    }
    return row;
  }
}

/** Returns whether a line may be folded: it is one of the platform without a hit, and not marked. */
function isPlain(row) {
  return row.matches(".system:not(.marked):not(:has(mark))");
}

function element(name, style, text = "") {
  const made = document.createElement(name);
  if (style) {
    made.className = style;
  }
  made.textContent = text;
  return made;
}
