// Prints the value that the generated client reads from each unusual response, as `CASE JSON` or
// `CASE ! ERROR`. `openapi/clients/run` compares the lines with the table in CLIENTS.md.

import createClient from "openapi-fetch";

import type { paths } from "./modelarts.js";

const baseUrl = process.env["MODELARTS_VECTORS_ENDPOINT"];
if (!baseUrl) {
  console.error("error: start this program by `python3 ../responses.py`, which serves the responses");
  process.exit(1);
}
const client = createClient<paths>({ baseUrl });

const show = (project_id: string) =>
  client.GET("/v2/{project_id}/training-jobs/{training_job_id}", {
    params: { path: { project_id, training_job_id: "c1b7e5de" } },
  });

const events = (project_id: string) =>
  client.GET("/v2/{project_id}/training-jobs/{training_job_id}/events", {
    params: { path: { project_id, training_job_id: "c1b7e5de" } },
  });

const cases: Record<string, (name: string) => Promise<unknown>> = {
  "unknown-enum": async (name) => (await show(name)).data?.status?.phase,
  "number-as-text": async (name) => (await events(name)).data?.total,
  "beyond-double": async (name) => (await show(name)).data?.status?.duration,
  "null-list": async (name) => ((await events(name)).data?.events ?? []).length,
  "null-object": async (name) => (await show(name)).data?.algorithm,
  "missing-field": async (name) => (await show(name)).data?.status?.phase,
  "extra-field": async (name) => (await show(name)).data?.metadata?.name,
  "missing-job": async (name) => (await show(name)).error?.error_code,
  "html-502": async (name) => (await show(name)).response.status,
};

for (const [name, read] of Object.entries(cases)) {
  try {
    console.log(name, JSON.stringify((await read(name)) ?? null));
  } catch (error) {
    console.log(name, "!", (error as Error).name);
  }
}
