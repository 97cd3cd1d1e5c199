// The first training job, with types that openapi-typescript has made of the description.
// Signs with an access key. Runs on the emulator as on the service.

import createClient from "openapi-fetch";

import type { components, paths } from "./modelarts.js";
import { allEvents, type Modelarts } from "./pages.js";
import { call, wait } from "./policy.js";
import { signing } from "./sign.js";

type Schemas = components["schemas"];

function jobRequest(name: string, obs: string): Schemas["CreateTrainingJobRequest"] {
  return {
    kind: "job",
    metadata: { name, description: "From TypeScript" },
    algorithm: {
      code_dir: `${obs}/code/`,
      boot_file: `${obs}/code/train.py`,
      engine: {
        engine_name: "PyTorch",
        engine_version: "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64",
      },
      parameters: [{ name: "epochs", value: "3" }],
    },
    spec: { resource: { flavor_id: "modelarts.vm.cpu.2u", node_count: 1 } },
  };
}

/** Prints the phases of a job until it has ended, and returns the outcome. */
function follow(client: Modelarts, project_id: string, training_job_id: string): Promise<string> {
  let last = "";
  return wait(
    "TrainingJobEnded",
    () =>
      client.GET("/v2/{project_id}/training-jobs/{training_job_id}", {
        params: { path: { project_id, training_job_id } },
      }),
    (job) => {
      const phase = job.status?.phase ?? "";
      if (phase !== last) console.log("phase", phase);
      last = phase;
    },
  );
}

function setting(name: string): string {
  const value = process.env[name];
  if (value) return value;
  console.error(`error: ${name} is not set; CLIENTS.md lists the variables`);
  process.exit(1);
}

const project_id = setting("HUAWEICLOUD_SDK_PROJECT_ID");
const client = createClient<paths>({ baseUrl: setting("MODELARTS_ENDPOINT") });
client.use(
  signing({
    accessKey: setting("HUAWEICLOUD_SDK_AK"),
    secretKey: setting("HUAWEICLOUD_SDK_SK"),
    projectId: project_id,
  }),
);

const name = `from-typescript-${Date.now()}`;
const body = jobRequest(name, setting("MODELARTS_OBS"));
const job = await call("CreateTrainingJob", () =>
  client.POST("/v2/{project_id}/training-jobs", { params: { path: { project_id } }, body }),
);
const id = job.metadata?.id;
if (!id) throw new Error("the new job has no id");
console.log("created", name, id);
console.log("outcome", await follow(client, project_id, id));

const jobs = await call("ListTrainingJobs", () =>
  client.POST("/v2/{project_id}/training-job-searches", {
    params: { path: { project_id } },
    body: { limit: 10, filters: [{ key: "name", operator: "like", value: [name] }] },
  }),
);
for (const found of jobs.items ?? []) console.log("listed", found.metadata?.name);

const { events, pages } = await allEvents(client, project_id, id);
console.log("events", events.length, "pages", pages);
