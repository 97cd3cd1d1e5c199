//! Fixtures: a job builder that skips look-ups, and a stored algorithm.

use modelarts_ext::{Client, types::AlgorithmRequest};
use serde_json::json;

use crate::support::site::Site;

/// Returns a job builder whose `submit` makes only the create request, and the response that lists
/// its job.
pub(crate) fn minimal_create(client: &Client) -> (modelarts_ext::CreateJob, String) {
    let job = json!({"kind": "job", "metadata":
        {"id": "its-id", "name": "lost", "create_time": 1_768_465_845_000_u64}});
    let create = client
        .training_jobs()
        .create("lost")
        .custom_image("garden/leaves:1")
        .flavor("modelarts.vm.cpu.2u")
        .command("run")
        .without_look_up();
    (create, json!({"total": 1, "items": [job]}).to_string())
}

/// Creates an algorithm on the emulator and returns its id.
pub(super) async fn create_algorithm(site: &Site, body: AlgorithmRequest) -> String {
    let client = &site.client;
    let algorithm = client
        .call(|api| api.create_algorithm().project_id(client.project_id()).body(body).send())
        .await
        .unwrap();
    algorithm.metadata.as_ref().unwrap().id.clone().unwrap()
}
