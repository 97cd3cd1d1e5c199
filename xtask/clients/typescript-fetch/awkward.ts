// Reads unusual responses, and prints a line for each: `CASE JSON` or `CASE ! ERROR`.

import { ApiErrorFromJSON, Configuration, ResponseError, TrainingJobsApi } from "./generated";

const jobs = new TrainingJobsApi(new Configuration({ basePath: process.env["MODELARTS_ENDPOINT"] }));
const path = (projectId: string) => ({ projectId, trainingJobId: "c1b7e5de" });
const show = (name: string) => jobs.showTrainingJobDetails(path(name));
const events = (name: string) => jobs.listTrainingJobEvents(path(name));

async function refused(name: string): Promise<Response> {
  try {
    await show(name);
  } catch (error) {
    if (error instanceof ResponseError) return error.response;
    throw error;
  }
  throw new Error("not refused");
}

const cases: Record<string, (name: string) => Promise<unknown>> = {
  "unknown-enum": async (name) => (await show(name)).status?.phase,
  "number-as-text": async (name) => (await events(name)).total,
  "beyond-double": async (name) => (await show(name)).status?.duration,
  "null-list": async (name) => ((await events(name)).events ?? []).length,
  "null-object": async (name) => (await show(name)).algorithm,
  "missing-field": async (name) => (await show(name)).status?.phase,
  "extra-field": async (name) => (await show(name)).metadata.name,
  "missing-job": async (name) => ApiErrorFromJSON(await (await refused(name)).json()).errorCode,
  "html-502": async (name) => (await refused(name)).status,
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
