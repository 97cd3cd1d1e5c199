// Runs the files of `openapi/vectors` that apply to this client. Prints `ok FILE COUNT` for each,
// or fails with the name of a case. `../responses.py` serves the lists of `pagination.json`.

import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";

import createClient from "openapi-fetch";

import type { paths } from "./modelarts.js";
import { allEvents } from "./pages.js";
import { description, outcome, Refused } from "./policy.js";
import { authorization } from "./sign.js";

/** A case of any file; each file has some of the fields. */
interface Case {
  name: string;
  needs?: string;
  [field: string]: any;
}

const directory = process.env["MODELARTS_VECTORS"] ?? "../../vectors";
const endpoint = process.env["MODELARTS_VECTORS_ENDPOINT"];

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
  if (!endpoint || test.needs || test["operation"] !== "ListTrainingJobEvents") return false;
  const client = createClient<paths>({ baseUrl: endpoint });
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

const patterns = new Map<string, string>(
  description["x-events"].placeholders.map((row: any) => [row.name, row.pattern]),
);

/** Returns a pattern for the texts that a template of x-events produces. */
function pattern(template: string): RegExp {
  const source = template
    .replace(/\.$/, "")
    .replace(/[.*+?^$()|[\]\\]/g, "\\$&")
    .replace(/\{(\w+)\}/g, (_, name) => `(?<${name}>${patterns.get(name)})`);
  return new RegExp(`^${source}\\.?$`, "is");
}

const templates: [string, RegExp][] = description["x-events"].kinds.flatMap((kind: any) =>
  [...kind.texts.guide, ...kind.texts.api].map((text) => [kind.kind, pattern(text)]),
);

function events(test: Case): boolean {
  if (!test["exact"] && test["kind"] !== "Other") return false;
  const found = templates.flatMap(([kind, text]) => {
    const match = text.exec(test["text"].trim());
    return match ? [{ kind, values: match.groups ?? {} }] : [];
  });
  const [first = { kind: "Other", values: {} }, ...others] = found;
  check(test, others.filter(({ kind }) => kind !== first.kind), []);
  check(test, first.kind, test["kind"]);
  const values = Object.entries(first.values).map(([name, text]) => [name, VALUES[name]?.(text) ?? text]);
  const expected = Object.entries(test["fields"]).filter(([, value]) => value !== null);
  return check(test, Object.fromEntries(values), Object.fromEntries(expected));
}

function waiters(test: Case): boolean {
  const answer = test["status"] < 400 ? test["body"] : new Refused(test["status"], test["text"] ?? test["body"]);
  return check(test, outcome(test["waiter"], answer), test["outcome"]);
}

function errors(test: Case): boolean {
  const error = new Refused(test["status"], test["body"]);
  const found = { code: error.code, message: error.text, retry: error.retry(test["effect"]) };
  return check(test, found, test["expected"]);
}

if (!endpoint) {
  const command = "python3 ../responses.py node out/vectors.js";
  console.log(`pagination.json is omitted; run \`${command}\`, which serves its lists`);
}
for (const run of [signing, pagination, events, waiters, errors]) {
  let count = 0;
  const { cases } = JSON.parse(readFileSync(`${directory}/${run.name}.json`, "utf8"));
  for (const test of cases) if (await run(test)) count++;
  if (count) console.log("ok", run.name, count);
}
