// Runs a first training job with the client that OpenAPI Generator generates (plain variant).

import { setTimeout as sleep } from "node:timers/promises";

import { Configuration, FilterOperator, TrainingJobsApi } from "./generated";

const FINAL = ["Completed", "Failed", "Terminated", "Abnormal"];
const env = process.env as Record<string, string>;
const projectId = env.HUAWEICLOUD_SDK_PROJECT_ID;
const jobs = new TrainingJobsApi(
  new Configuration({
    basePath: env.MODELARTS_ENDPOINT,
    apiKey: (name) => (name === "X-Auth-Token" ? env.MODELARTS_TOKEN : ""),
  }),
);

async function main() {
  const name = `from-typescript-fetch-${Date.now()}`;
  const job = await jobs.createTrainingJob({
    projectId,
    createTrainingJobRequest: {
      kind: "job",
      metadata: { name },
      algorithm: {
        codeDir: `${env.MODELARTS_OBS}/code/`,
        bootFile: `${env.MODELARTS_OBS}/code/train.py`,
        engine: {
          engineName: "PyTorch",
          engineVersion: "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64",
        },
        parameters: [{ name: "epochs", value: "3" }],
      },
      spec: { resource: { flavorId: "modelarts.vm.cpu.2u", nodeCount: 1 } },
    },
  });
  const trainingJobId = job.metadata.id ?? "";
  console.log("created", name, trainingJobId);

  for (let last = ""; !FINAL.includes(last); await sleep(200)) {
    const { status } = await jobs.showTrainingJobDetails({ projectId, trainingJobId });
    const phase = status?.phase ?? "";
    if (phase !== last) console.log("phase", phase);
    last = phase;
  }

  const filters = [{ key: "name", operator: FilterOperator.Like, value: [name] }];
  const found = await jobs.listTrainingJobs({ projectId, listTrainingJobsRequest: { limit: 10, filters } });
  for (const it of found.items ?? []) console.log("listed", it.metadata.name);

  for (let events = 0, pages = 1; ; pages++) {
    const page = await jobs.listTrainingJobEvents({ projectId, trainingJobId, offset: events, limit: 5 });
    events += page.events?.length ?? 0;
    if (!page.events?.length || events >= Number(page.total)) {
      console.log("events", events, "pages", pages);
      return;
    }
  }
}

void main();
