// Runs a first training job with the client that @hey-api/openapi-ts generates.

import { setTimeout as sleep } from "node:timers/promises";

import {
  createTrainingJob,
  listTrainingJobEvents,
  listTrainingJobs,
  showTrainingJobDetails,
} from "./generated";
import { client } from "./generated/client.gen";

const FINAL = ["Completed", "Failed", "Terminated", "Abnormal"];
const env = process.env as Record<string, string>;
const project_id = env.HUAWEICLOUD_SDK_PROJECT_ID;
client.setConfig({
  baseUrl: env.MODELARTS_ENDPOINT,
  auth: (auth) => (auth.name === "X-Auth-Token" ? env.MODELARTS_TOKEN : undefined),
});

async function main() {
  const name = `from-hey-api-${Date.now()}`;
  const { data: job } = await createTrainingJob({
    path: { project_id },
    body: {
      kind: "job",
      metadata: { name },
      algorithm: {
        code_dir: `${env.MODELARTS_OBS}/code/`,
        boot_file: `${env.MODELARTS_OBS}/code/train.py`,
        engine: {
          engine_name: "PyTorch",
          engine_version: "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64",
        },
        parameters: [{ name: "epochs", value: "3" }],
      },
      spec: { resource: { flavor_id: "modelarts.vm.cpu.2u", node_count: 1 } },
    },
    throwOnError: true,
  });
  const path = { project_id, training_job_id: job.metadata.id ?? "" };
  console.log("created", name, path.training_job_id);

  for (let last = ""; !FINAL.includes(last); await sleep(200)) {
    const { data } = await showTrainingJobDetails({ path, throwOnError: true });
    const phase = data.status?.phase ?? "";
    if (phase !== last) console.log("phase", phase);
    last = phase;
  }

  const { data: found } = await listTrainingJobs({
    path: { project_id },
    body: { limit: 10, filters: [{ key: "name", operator: "like", value: [name] }] },
    throwOnError: true,
  });
  for (const it of found.items ?? []) console.log("listed", it.metadata.name);

  for (let events = 0, pages = 1; ; pages++) {
    const query = { offset: events, limit: 5 };
    const { data: page } = await listTrainingJobEvents({ path, query, throwOnError: true });
    events += page.events?.length ?? 0;
    if (!page.events?.length || events >= Number(page.total)) {
      console.log("events", events, "pages", pages);
      return;
    }
  }
}

void main();
