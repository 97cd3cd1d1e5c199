// Page of a job: its header.
import "./page.js";
import { patch } from "./patch.js";

/**
 * Shows a new header of the job. Scripts of the tabs call it with the event `head` of their stream.
 *
 * @param {string} html Header as the server renders it.
 */
export function updateHead(html) {
  patch(document.getElementById("job-head"), html);
}
