// Functions that all pages share.
import { takeTurns } from "./turns.js";

/** Returns the value that changes must contain. */
function csrf() {
  return document.querySelector('meta[name="csrf-token"]')?.content ?? "";
}

/**
 * Sends a request and returns the JSON of the response. Throws an Error with the message of the
 * server.
 */
export async function request(url, { method = "GET", body, type, signal } = {}) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") {
    headers["X-CSRF-Token"] = csrf();
  }
  if (type) {
    headers["Content-Type"] = type;
  }
  let response;
  try {
    response = await fetch(url, { method, body, headers, signal });
  } catch (error) {
    if (error.name === "AbortError") {
      throw error;
    }
    throw new Error("the server of this page does not respond");
  }
  const text = await response.text();
  let value;
  try {
    value = text ? JSON.parse(text) : null;
  } catch {
    value = null;
  }
  if (!response.ok) {
    const problem = value?.error;
    const error = new Error(problem?.message ?? `${response.status} ${response.statusText}`);
    error.advice = problem?.advice ?? null;
    error.status = response.status;
    throw error;
  }
  return value;
}

/** Returns the message of an error and its advice as one text. */
export function errorText(error) {
  return [error.message, error.advice].filter(Boolean).join("; ");
}

/** Shows a message below the header; an empty one hides it. */
export function banner(message) {
  const element = document.getElementById("connection");
  if (element.textContent !== message) {
    element.textContent = message;
  }
  element.hidden = !message;
}

/** Shows why the server rejects a stream, such as an expired session. */
async function explain(address) {
  const headers = { Accept: "application/json" };
  const response = await fetch(address, { headers }).catch(() => null);
  if (response && !response.ok) {
    const { error } = await response.json().catch(() => ({}));
    banner(errorText(error ?? { message: `${response.status} ${response.statusText}` }));
  }
  response?.body?.cancel().catch(() => {});
}

/**
 * Opens a stream of server-sent events while the page is visible, and again after errors. The
 * handlers are called with the data of the events of their names. Returns a function that closes it.
 */
export function stream(url, handlers) {
  let source = null;
  let retry = 0;
  let last = "";
  let end = null;
  const open = () => {
    // A new EventSource does not send the id of the last event of an earlier one.
    const address = new URL(url, location.href);
    if (last) {
      address.searchParams.set("last", last);
    }
    source = new EventSource(address);
    source.onopen = () => banner("");
    source.onerror = () => {
      banner("Connection lost; trying again…");
      if (source?.readyState === EventSource.CLOSED) {
        close();
        retry = setTimeout(open, 2000);
        explain(address);
      }
    };
    for (const [name, handler] of Object.entries(handlers)) {
      source.addEventListener(name, (event) => {
        last = event.lastEventId || last;
        handler(event.data);
      });
    }
  };
  const close = () => {
    clearTimeout(retry);
    source?.close();
    source = null;
  };
  const change = () => {
    if (document.hidden) {
      end?.();
      end = null;
    } else {
      end ??= takeTurns(open, close);
    }
  };
  document.addEventListener("visibilitychange", change);
  change();
  return () => {
    document.removeEventListener("visibilitychange", change);
    end?.();
    end = null;
  };
}
