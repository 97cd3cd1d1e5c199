// Retries and waiters, by the tables of `modelarts.json`.

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import type { operations } from "./modelarts.js";

export type Operation = keyof operations;
type Answer<T> = { data?: T; error?: unknown; response: Response };

export const description: any = JSON.parse(
  readFileSync(process.env["MODELARTS_DESCRIPTION"] ?? "../../modelarts.json", "utf8"),
);
const effects = new Map<string, string>(
  Object.values<any>(description.paths)
    .flatMap((path) => Object.values<any>(path))
    .map((operation) => [operation.operationId, operation["x-effect"]]),
);

/** An error response. A missing job has the code ModelArts.2775, not the status 404. */
export class Refused extends Error {
  readonly code: string | null;
  readonly text: string | null;

  /** `body` is text, or the value that openapi-fetch has parsed. */
  constructor(
    readonly status: number,
    body: unknown,
    readonly retryAfter = 0,
  ) {
    const { code, text } = readError(body);
    super(`status ${status}: ${code}: ${text}`);
    this.code = code;
    this.text = text;
  }

  /** Returns `never`, `backoff`, `poll` or `token`, for the effect of the operation. */
  retry(effect: string): string {
    const text = this.text ?? "";
    if ([401, 403].includes(this.status) && text.includes("token expires")) return "token";
    // The prefix of gateway codes has three spellings.
    const code = this.code?.replace(/^(APIGW|APIC)\./, "APIG.");
    const row = description["x-error-table"].find((row: any) => row.code === code && row.status === this.status);
    if (row) return text.includes(row["retry-only-with"] ?? "") ? row.retry[effect] : "never";
    if ([408, 500, 502, 503, 504].includes(this.status)) return effect === "create" ? "never" : "backoff";
    return { 429: "backoff", 204: "poll" }[this.status] ?? "never";
  }
}

/** Returns the code and message of an error response of the service, its gateways or IAM. */
function readError(body: any): { code: string | null; text: string | null } {
  if (typeof body === "string") {
    try {
      body = JSON.parse(body);
    } catch {
      const text = body.trim();
      return { code: null, text: text.startsWith("<") ? null : text || null };
    }
  }
  body = typeof body?.error === "object" ? (body.error ?? body) : (body ?? {});
  const code = body.error_code || body.errorCode || body.code;
  const text = body.error_msg || body.error_message || body.errorMsg || body.message;
  return { code: code ? String(code) : null, text: text ? String(text) : null };
}

/** Calls an operation. Sends the request up to five times, as long as the table permits it. */
export async function call<T>(operation: Operation, send: () => Promise<Answer<T>>): Promise<T> {
  for (let delay = 1; ; delay *= 2) {
    const { data, error, response } = await send();
    if (response.ok) return data as T;
    // The header may also contain a date, which this sample ignores.
    const refused = new Refused(response.status, error, Number(response.headers.get("Retry-After")) || 0);
    if (delay > 8 || !["backoff", "poll"].includes(refused.retry(effects.get(operation)!))) throw refused;
    await sleep(1000 * Math.max(delay, refused.retryAfter));
  }
}

/** Returns the outcome of a waiter for a response, or `wait` or `error` if none is defined. */
export function outcome(name: string, answer: unknown): string {
  const waiter = description["x-waiters"].find((waiter: any) => waiter.name === name);
  const refused = answer instanceof Refused;
  const value = refused
    ? answer.code
    : waiter.field.split(".").reduce((value: any, step: string) => value?.[step], answer);
  const row = waiter.outcomes.find((row: any) => value && value === (refused ? row.error : row.value));
  return row?.outcome ?? (refused ? "error" : "wait");
}

/**
 * Calls the operation of a waiter until a response has an outcome, and returns the outcome. Passes
 * each successful response to `report`.
 */
export async function wait<T>(
  name: string,
  send: () => Promise<Answer<T>>,
  report: (answer: T) => void,
): Promise<string> {
  const { operation } = description["x-waiters"].find((waiter: any) => waiter.name === name);
  for (let delay = 1; ; delay = Math.min(1.5 * delay, 30)) {
    const answer = await call(operation, send).then(
      (answer) => (report(answer), answer),
      (error: unknown) => {
        if (error instanceof Refused) return error;
        throw error;
      },
    );
    const found = outcome(name, answer);
    if (found === "error") throw answer;
    if (found !== "wait") return found;
    await sleep(1000 * delay);
  }
}
