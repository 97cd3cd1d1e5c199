// Reads all pages of a list.

import type { Client } from "openapi-fetch";

import type { components, paths } from "./modelarts.js";
import { call } from "./policy.js";

export type Modelarts = Client<paths>;

/** Reads all pages, as x-pagination specifies: `offset` counts entries, `total` may be text. */
export async function allEvents(client: Modelarts, project_id: string, training_job_id: string) {
  const events: components["schemas"]["TrainingJobEvent"][] = [];
  for (let pages = 1; ; pages++) {
    const page = await call("ListTrainingJobEvents", () =>
      client.GET("/v2/{project_id}/training-jobs/{training_job_id}/events", {
        params: { path: { project_id, training_job_id }, query: { offset: events.length, limit: 5 } },
      }),
    );
    events.push(...(page.events ?? []));
    if (!page.events?.length || events.length >= Number(page.total)) return { events, pages };
  }
}
