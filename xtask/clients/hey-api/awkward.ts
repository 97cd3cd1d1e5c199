// Reads unusual responses, and prints a line for each: `CASE JSON` or `CASE ! ERROR`.

import { listTrainingJobEvents, showTrainingJobDetails } from "./generated";
import { client } from "./generated/client.gen";

client.setConfig({ baseUrl: process.env["MODELARTS_ENDPOINT"] });

const path = (project_id: string) => ({ path: { project_id, training_job_id: "c1b7e5de" } });
const show = (name: string) => showTrainingJobDetails(path(name));
const events = (name: string) => listTrainingJobEvents(path(name));

const cases: Record<string, (name: string) => Promise<unknown>> = {
  "unknown-enum": async (name) => (await show(name)).data?.status?.phase,
  "number-as-text": async (name) => (await events(name)).data?.total,
  "beyond-double": async (name) => (await show(name)).data?.status?.duration,
  "null-list": async (name) => ((await events(name)).data?.events ?? []).length,
  "null-object": async (name) => (await show(name)).data?.algorithm,
  "missing-field": async (name) => (await show(name)).data?.status?.phase,
  "extra-field": async (name) => (await show(name)).data?.metadata.name,
  "missing-job": async (name) => (await show(name)).error?.error_code,
  "html-502": async (name) => (await show(name)).response?.status,
};

async function main() {
  for (const [name, read] of Object.entries(cases)) {
    try {
      console.log(name, JSON.stringify((await read(name)) ?? null));
    } catch (error) {
      console.log(name, "!", (error as Error).name);
    }
  }
}

void main();
