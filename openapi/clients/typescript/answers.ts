// Reads responses: the error of a call, and all pages of a list.

import type { Client } from "openapi-fetch";

import type { components, paths } from "./modelarts.js";

type Schemas = components["schemas"];
export type Modelarts = Client<paths>;

/** Returns the data, or throws status and code. A missing job has the code ModelArts.2775. */
export function ok<T>(answer: { data?: T; error?: Schemas["ApiError"] | string; response: Response }): T {
  if (answer.response.ok && answer.data !== undefined) return answer.data;
  const { status } = answer.response;
  // A load balancer responds with an HTML page, which openapi-fetch returns as text.
  if (typeof answer.error !== "object") throw new Error(`status ${status}: ${answer.error}`);
  throw new Error(`status ${status}: ${answer.error.error_code}: ${answer.error.error_msg}`);
}

/** Reads all pages, as x-pagination specifies: `offset` counts entries, `total` may be text. */
export async function allEvents(client: Modelarts, project_id: string, training_job_id: string) {
  const events: Schemas["TrainingJobEvent"][] = [];
  for (let pages = 1; ; pages++) {
    const page = ok(
      await client.GET("/v2/{project_id}/training-jobs/{training_job_id}/events", {
        params: { path: { project_id, training_job_id }, query: { offset: events.length, limit: 5 } },
      }),
    );
    events.push(...(page.events ?? []));
    if (!page.events?.length || events.length >= Number(page.total)) return { events, pages };
  }
}
