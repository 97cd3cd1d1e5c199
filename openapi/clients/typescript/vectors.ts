// Runs the files of `openapi/vectors` that apply to this client. Prints `ok FILE COUNT` for each,
// or fails with the name of a case.

import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";

import createClient from "openapi-fetch";

import { allEvents } from "./answers.js";
import type { paths } from "./modelarts.js";
import { authorization } from "./sign.js";

/** A case of any file; each file has some of the fields. */
interface Case {
  name: string;
  needs?: string;
  [field: string]: any;
}

/** Runs a case; returns false if it does not apply to this client. */
type Run = (test: Case) => Promise<boolean> | boolean;

const directory = process.env["MODELARTS_VECTORS"] ?? "../../vectors";
const read = (file: string): any => JSON.parse(readFileSync(file, "utf8"));
/** Returns the description, read from its JSON form. */
const description = () => read(process.env["MODELARTS_DESCRIPTION"]!);

function check(test: Case, value: unknown, expected: unknown): true {
  if (isDeepStrictEqual(value, expected)) return true;
  throw new Error(`${test.name}: ${JSON.stringify(value)} instead of ${JSON.stringify(expected)}`);
}

function signing(test: Case): boolean {
  if (test.needs) return false;
  const headers = Object.fromEntries(
    Object.entries<string>(test["headers"]).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const body = Buffer.from(test["body_base64"] ?? test["body"], test["body_base64"] ? "base64" : "utf8");
  const url = new URL(`https://${headers["host"]}${test["target"]}`);
  const keys = { accessKey: test["access_key"], secretKey: test["secret_key"], projectId: "" };
  return check(test, authorization(keys, test["method"], url, headers, body), test["authorization"]);
}

async function pagination(test: Case): Promise<boolean> {
  if (test.needs || test["operation"] !== "ListTrainingJobEvents") return false;
  const client = createClient<paths>({ baseUrl: process.env["MODELARTS_ENDPOINT"]! });
  const { events } = await allEvents(client, test.name, "j");
  return check(test, events.map((event) => event.message), test["expected"]);
}

/** Conversions of placeholders to seconds, a number or a list; all others remain text. */
const VALUES: Record<string, (text: string) => unknown> = {
  seconds: Number,
  exit_code: Number,
  limit: (text) => 3600 * parseInt(text),
  files: (text) => text.split(", "),
};

/** Returns a pattern for the texts of a template of x-events. `forms` maps placeholders to patterns. */
function pattern(template: string, forms: Map<string, string>): RegExp {
  const source = template
    .replace(/\.$/, "")
    .replace(/[.*+?^$()|[\]\\]/g, "\\$&")
    .replace(/\{(\w+)\}/g, (_, name) => `(?<${name}>${forms.get(name)})`);
  return new RegExp(`^${source}\\.?$`, "is");
}

function events(): Run {
  const catalogue = description()["x-events"];
  const forms = new Map<string, string>(catalogue.placeholders.map((it: any) => [it.name, it.pattern]));
  const kinds: [string, RegExp][] = catalogue.kinds.flatMap((kind: any) =>
    [...kind.texts.guide, ...kind.texts.api].map((text) => [kind.kind, pattern(text, forms)]),
  );
  return (test) => {
    if (!test["exact"] && test["kind"] !== "Other") return false;
    const found = kinds.flatMap(([kind, text]) => {
      const match = text.exec(test["text"].trim());
      return match ? [{ kind, values: match.groups ?? {} }] : [];
    });
    const [first = { kind: "Other", values: {} }, ...others] = found;
    check(test, others.filter(({ kind }) => kind !== first.kind), []);
    check(test, first.kind, test["kind"]);
    const values = Object.entries(first.values).map(([name, text]) => [name, VALUES[name]?.(text) ?? text]);
    const expected = Object.entries(test["fields"]).filter(([, value]) => value !== null);
    return check(test, Object.fromEntries(values), Object.fromEntries(expected));
  };
}

function waiters(): Run {
  const waiters: any[] = description()["x-waiters"];
  return (test) => {
    const waiter = waiters.find(({ name }) => name === test["waiter"]);
    const failed = test["status"] >= 400;
    const path: string[] = failed ? ["error_code"] : waiter.field.split(".");
    const answer = path.reduce((value, step) => value?.[step], test["body"]);
    const row = waiter.outcomes.find((row: any) => answer && answer === (failed ? row.error : row.value));
    return check(test, row?.outcome ?? (failed ? "error" : "wait"), test["outcome"]);
  };
}

const NOTHING = { code: null, message: null };

/** Returns the code and message of an error response of the service, its gateways or IAM. */
function readError(text: string): { code: string | null; message: string | null } {
  let body: any;
  try {
    body = JSON.parse(text);
  } catch {
    const message = text.trim();
    return message === "" || message.startsWith("<") ? NOTHING : { code: null, message };
  }
  if (body === null || typeof body !== "object") return NOTHING;
  body = body.error ?? body;
  const code = body.error_code || body.errorCode || body.code;
  const message = body.error_msg || body.error_message || body.errorMsg || body.message;
  return { code: code ? String(code) : null, message: message || null };
}

function errors(): Run {
  const table: any[] = description()["x-error-table"];
  const retry = (code: string | null, message: string, status: number, effect: string): string => {
    if ([401, 403].includes(status) && message.includes("token expires")) return "token";
    // The prefix of gateway codes has three spellings.
    const known = code?.replace(/^(APIGW|APIC)\./, "APIG.");
    const row = table.find((row) => row.code === known && row.status === status);
    if (row) return message.includes(row["retry-only-with"] ?? "") ? row.retry[effect] : "never";
    if ([408, 500, 502, 503, 504].includes(status)) return effect === "create" ? "never" : "backoff";
    return { 429: "backoff", 204: "poll" }[status] ?? "never";
  };
  return (test) => {
    const { code, message } = readError(test["body"]);
    const decision = retry(code, message ?? "", test["status"], test["effect"]);
    return check(test, { code, message, retry: decision }, test["expected"]);
  };
}

const FILES: Record<string, () => Run> = {
  signing: () => signing,
  pagination: () => pagination,
  events,
  waiters,
  errors,
};

for (const [name, prepare] of Object.entries(FILES)) {
  const run = prepare();
  let count = 0;
  for (const test of read(`${directory}/${name}.json`).cases) if (await run(test)) count++;
  console.log("ok", name, count);
}
