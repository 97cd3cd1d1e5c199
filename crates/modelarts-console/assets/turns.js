// Streams of several tabs. A browser opens at most six connections to a server for all tabs
// together, so tabs whose streams need more take turns, and pages and requests keep two of them.

/** Number of streams that are open at a time. */
const PLACES = 4;
/** Time that a stream stays open while another waits for its place, in milliseconds. */
const TURN = 3000;
const PREFIX = "stream-";

/**
 * Calls `open` when a place is free, and `close` when another tab waits for it; then waits for the
 * next place. Returns a function that ends this.
 */
export function takeTurns(open, close) {
  if (!navigator.locks) {
    open();
    return close;
  }
  const end = new AbortController();
  const { signal } = end;
  const hold = async (lock) => {
    open();
    try {
      await turn(lock.name, signal);
    } finally {
      close();
    }
  };
  const run = async () => {
    while (!signal.aborted) {
      const place = await shortestQueue();
      if (!signal.aborted) {
        await navigator.locks.request(place, { signal }, hold);
      }
    }
  };
  run().catch((error) => {
    if (error.name !== "AbortError") {
      throw error;
    }
  });
  return () => end.abort();
}

/** Returns the name of the place for which the fewest tabs wait. */
async function shortestQueue() {
  const { held, pending } = await navigator.locks.query();
  const load = Array.from({ length: PLACES }, (_, n) => {
    const name = PREFIX + n;
    return [...held, ...pending].filter((lock) => lock.name === name).length;
  });
  return PREFIX + load.indexOf(Math.min(...load));
}

/** Waits until another tab waits for the place, and at least for a turn, or until the end. */
async function turn(name, signal) {
  let isWaitedFor = false;
  while (!signal.aborted && !isWaitedFor) {
    await new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, TURN);
      signal.addEventListener("abort", end);
    });
    const { pending } = await navigator.locks.query();
    isWaitedFor = pending.some((lock) => lock.name === name);
  }
}
