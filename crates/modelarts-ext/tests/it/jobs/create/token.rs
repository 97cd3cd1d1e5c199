//! Tests of the token of a submission, which shows whose job is found after a lost response.

use std::time::Duration;

use modelarts_emulator::faults::Fault;
use modelarts_ext::{CreateJob, Error, Job};
use serde_json::{Value, json};

use super::fixtures::minimal_create;
use crate::support::{
    clock::TestClock,
    errors::refused,
    faults::CREATE,
    server::{Reply, Server, TOKEN_OF_FIRST, json_answer},
    site::Site,
};

const NAME: &str = "MODELARTS_SUBMISSION_TOKEN";
const NAME_EXISTS: &str = "ModelArts.2751";
/// Time of the clock of a test at its start.
const NOW: u64 = 1_768_465_845_000;

fn lost() -> Reply {
    Reply::Reset(Vec::new())
}

/// Returns a rejection with this code and message.
fn refusal(code: &str, message: &str) -> Reply {
    let refusal = json!({"error_code": code, "error_msg": message});
    json_answer("400 Bad Request", "", &refusal.to_string())
}

/// Returns the replies to a search and to the call for the details of the found job, which was
/// created at this time with these variables. A row of a search lacks variables.
fn found(created: u64, variables: &Value) -> [Reply; 2] {
    let row = json!({"kind": "job",
        "metadata": {"id": "its-id", "name": "lost", "create_time": created}});
    let mut details = row.clone();
    details["algorithm"] = json!({"command": "run", "engine": {"image_url": "garden/leaves:1"},
        "environments": variables});
    details["spec"] = json!({"resource": {"flavor_id": "modelarts.vm.cpu.2u", "node_count": 1}});
    let page = json!({"total": 1, "count": 1, "limit": 50, "items": [row]});
    [page, details].map(|body| json_answer("200 OK", "", &body.to_string()))
}

/// Submits a job to a server that sends these replies, and no others. Returns its requests.
async fn submit(
    change: impl FnOnce(CreateJob) -> CreateJob,
    replies: impl IntoIterator<Item = Reply>,
) -> (Result<Job, Error>, Vec<String>) {
    let server = Server::start(replies).await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let result = change(minimal_create(&client).0).submit().await;
    assert_eq!(server.left(), 0, "{result:?}");
    (result, server.requests())
}

/// Returns the variables of a request for a job.
fn variables(request: &str) -> Value {
    let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    body["algorithm"]["environments"].clone()
}

#[tokio::test]
async fn a_job_with_other_variables_is_not_returned_after_a_lost_answer() {
    let other = || found(NOW - 59_000, &json!({"MODE": "slow"}));
    let replies = [lost()].into_iter().chain(other()).chain([refusal(NAME_EXISTS, "m")]);
    let error = refused(submit(|job| job.env("MODE", "quick"), replies.chain(other())).await.0);
    assert!(error.is_conflict() && !error.is_uncertain(), "{error}");
    assert!(error.to_string().contains("differs in algorithm.environments"), "{error}");
}

#[tokio::test]
async fn a_created_job_is_found_whatever_the_clocks_say() {
    for created in [NOW - 901_000, NOW + 901_000, 0] {
        let token = json!({ NAME: TOKEN_OF_FIRST });
        let replies = [lost()].into_iter().chain(found(created, &token));
        assert_eq!(submit(|job| job, replies).await.0.unwrap().id(), "its-id", "{created}");
    }
}

#[tokio::test]
async fn an_equal_job_without_a_token_is_unclear() {
    for created in [NOW, NOW - 3_600_000] {
        let replies = [lost()].into_iter().chain(found(created, &json!({})));
        let error = refused(submit(|job| job, replies).await.0);
        assert!(error.is_uncertain() && error.to_string().contains("its-id"), "{error}");
    }
}

#[tokio::test]
async fn an_equal_job_with_another_token_is_not_returned() {
    let other = || found(NOW, &json!({NAME: "another"}));
    let replies = [lost()].into_iter().chain(other()).chain([refusal(NAME_EXISTS, "m")]);
    let error = refused(submit(|job| job, replies.chain(other())).await.0);
    assert!(error.is_conflict() && !error.is_uncertain(), "{error}");
    assert!(error.to_string().contains("its-id"), "{error}");
}

#[tokio::test]
async fn an_error_with_a_success_status_is_uncertain() {
    for body in [r#"{"error_code":"ModelArts.0001","error_msg":"m"}"#, r#"{"kind":"job"}"#] {
        let token = json!({ NAME: TOKEN_OF_FIRST });
        let replies = [json_answer("200 OK", "", body)].into_iter().chain(found(NOW, &token));
        assert_eq!(submit(|job| job, replies).await.0.unwrap().id(), "its-id", "{body}");
    }
}

#[tokio::test]
async fn an_adoption_names_all_differences() {
    let site = Site::start().await;
    let job = site.script("nightly", "");
    let first = site.run(job.clone()).await;
    let other = job.description("another").env("MODE", "quick").parameter("lr", 1);
    let error = other.submit_or_adopt().await.unwrap_err();
    let differences = "metadata.description, algorithm.environments, algorithm.parameters";
    let reason = format!("the job {} has this name, and differs in {differences}", first.id());
    assert!(error.to_string().contains(&reason), "{error}");
}
