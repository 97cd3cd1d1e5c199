//! Fixtures: a job builder that skips look-ups, replies that find its job, and a stored algorithm.

use modelarts_ext::{Client, CreateJob, types::AlgorithmRequest};
use serde_json::{Value, json};

use crate::support::{
    server::{Reply, json_answer},
    site::Site,
};

/// Time of the clock of a test at its start, in milliseconds.
pub(crate) const NOW: u64 = 1_768_465_845_000;

/// Returns a job builder whose `submit` makes only the create request.
pub(crate) fn minimal_create(client: &Client) -> CreateJob {
    client
        .training_jobs()
        .create("lost")
        .custom_image("garden/leaves:1")
        .flavor("modelarts.vm.cpu.2u")
        .command("run")
        .without_look_up()
}

/// Returns the replies to a search and to the call for the details of the job of `minimal_create`,
/// which was created at this time with these variables. A row of a search lacks variables.
pub(crate) fn found(created: u64, variables: &Value) -> [Reply; 2] {
    let row = |name: &str| {
        let id = format!("id-of-{name}");
        json!({"kind": "job", "metadata": {"id": id, "name": name, "create_time": created}})
    };
    let mut details = row("lost");
    details["algorithm"] = json!({"command": "run", "engine": {"image_url": "garden/leaves:1"},
        "environments": variables});
    details["spec"] = json!({"resource": {"flavor_id": "modelarts.vm.cpu.2u", "node_count": 1}});
    // A search finds names that contain the searched one.
    let page = json!({"total": 2, "items": [row("lost-2"), row("lost")]});
    [page, details].map(|body| json_answer("200 OK", "", &body.to_string()))
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
