//! Tests of the token of a submission, which shows whose job is found after a lost response.

use modelarts_emulator::faults::Fault;
use modelarts_ext::{CreateJob, Error, Job, config::Cloud, jobs::create::SUBMISSION_TOKEN};
use serde_json::{Value, json};

use super::fixtures::{NOW, found, minimal_create};
use crate::support::{
    clock::TestClock,
    errors::refused,
    faults::CREATE,
    server::{Reply, Server, TOKEN_OF_FIRST, json_answer},
    site::Site,
};

const NAME_EXISTS: &str = "ModelArts.2751";

fn lost() -> Reply {
    Reply::Reset(Vec::new())
}

/// Returns a rejection with this code and message.
fn refusal(code: &str, message: &str) -> Reply {
    let refusal = json!({"error_code": code, "error_msg": message});
    json_answer("400 Bad Request", "", &refusal.to_string())
}

/// Submits a job to a server that sends these replies, and no others. Returns its requests.
async fn submit(
    change: impl FnOnce(CreateJob) -> CreateJob,
    replies: impl IntoIterator<Item = Reply>,
) -> (Result<Job, Error>, Vec<String>) {
    let server = Server::start(replies).await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let result = change(minimal_create(&client)).submit().await;
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
        let token = json!({ SUBMISSION_TOKEN: TOKEN_OF_FIRST });
        let replies = [lost()].into_iter().chain(found(created, &token));
        assert_eq!(submit(|job| job, replies).await.0.unwrap().id(), "id-of-lost", "{created}");
    }
}

#[tokio::test]
async fn an_equal_job_without_a_token_is_unclear() {
    for created in [NOW, NOW - 3_600_000] {
        let replies = [lost()].into_iter().chain(found(created, &json!({})));
        let error = refused(submit(|job| job, replies).await.0);
        assert!(error.is_uncertain() && error.to_string().contains("id-of-lost"), "{error}");
    }
}

#[tokio::test]
async fn an_equal_job_with_another_token_is_not_returned() {
    let other = || found(NOW, &json!({SUBMISSION_TOKEN: "another"}));
    let replies = [lost()].into_iter().chain(other()).chain([refusal(NAME_EXISTS, "m")]);
    let error = refused(submit(|job| job, replies.chain(other())).await.0);
    assert!(error.is_conflict() && !error.is_uncertain(), "{error}");
    assert!(error.to_string().contains("id-of-lost"), "{error}");
}

#[tokio::test]
async fn an_error_with_a_success_status_is_uncertain() {
    for body in [r#"{"error_code":"ModelArts.0001","error_msg":"m"}"#, r#"{"kind":"job"}"#] {
        let token = json!({ SUBMISSION_TOKEN: TOKEN_OF_FIRST });
        let replies = [json_answer("200 OK", "", body)].into_iter().chain(found(NOW, &token));
        assert_eq!(submit(|job| job, replies).await.0.unwrap().id(), "id-of-lost", "{body}");
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

#[tokio::test]
async fn the_same_token_and_name_return_the_same_job_from_any_client() {
    let site = Site::start().await;
    let job = site.script("nightly", "").token("ci-4711");
    let first = site.run(job.clone()).await;
    let elsewhere = site.client().build().unwrap().training_jobs();
    let again = elsewhere.from_value(&job.body()).unwrap().token("ci-4711").parameter("lr", 2);
    assert_eq!(again.clone().submit().await.unwrap().id(), first.id());
    // A lost response does not matter.
    site.fault(1, CREATE, Fault::Reset);
    assert_eq!(again.clone().submit().await.unwrap().id(), first.id());
    let error = refused(again.token("ci-4712").submit().await);
    assert!(error.is_conflict() && !error.is_uncertain(), "{error}");
    assert!(error.to_string().contains(first.id()), "{error}");
    let named = job.name("other").submit().await.unwrap();
    assert_ne!(named.id(), first.id());
    site.emulator.wait_until_settled(named.id()).await;
}

#[tokio::test]
async fn a_refusal_that_names_the_variable_ends_a_random_token_only() {
    let message = format!("algorithm.environments.{SUBMISSION_TOKEN} is not allowed");
    let refusal = || refusal("ModelArts.0104", &message);
    let made = || json_answer("201 Created", "", r#"{"metadata":{"id":"i","name":"lost"}}"#);
    let (made, requests) = submit(|job| job, [refusal(), made()]).await;
    assert_eq!(made.unwrap().id(), "i");
    let sent: Vec<Value> = requests.iter().map(|request| variables(request)).collect();
    assert_eq!(sent[0][SUBMISSION_TOKEN].as_str().unwrap().len(), 32);
    assert_eq!(sent[1], Value::Null);
    // Once.
    let (error, requests) = submit(|job| job, [refusal(), refusal()]).await;
    assert!(!refused(error).is_uncertain());
    assert_eq!(requests.len(), 2);
    let (error, requests) = submit(|job| job.token("ci-4711"), [refusal()]).await;
    assert_eq!(refused(error).code(), Some("ModelArts.0104"));
    assert_eq!(variables(&requests[0]), json!({ SUBMISSION_TOKEN: "ci-4711" }));
}

#[tokio::test]
async fn a_token_is_not_sent_where_it_cannot_be_or_is_turned_off() {
    type Change = fn(CreateJob) -> CreateJob;
    let full: Change = |job| (0..100).fold(job, |job, n| job.env(format!("V{n}"), "1"));
    let stored: Change = |job| job.without_field("algorithm").algorithm("a");
    let tasks: Change = |job| {
        let task = json!({"algorithm": {"code_dir": "/b/c/"}, "task_resource": {"node_count": 1}});
        job.cloud(Cloud::Otc).task(serde_json::from_value(task).unwrap())
    };
    let off: Change = |job| job.token("ci-4711").without_token();
    for change in [full, stored, tasks, off] {
        let made = json_answer("201 Created", "", r#"{"metadata":{"id":"i","name":"lost"}}"#);
        let (made, requests) = submit(|job| change(job).unchecked(), [made]).await;
        made.unwrap();
        assert!(!requests[0].contains(SUBMISSION_TOKEN), "{}", requests[0]);
    }
    for change in [full, stored, tasks] {
        let (error, requests) = submit(|job| change(job).unchecked().token("ci-4711"), []).await;
        let error = refused(error).to_string();
        assert!(
            error
                .contains(r#"token = "ci-4711": must not be set, because the job cannot carry it"#),
            "{error}"
        );
        assert_eq!(requests, [""; 0]);
    }
    let (error, _) = submit(|job| job.token("a b"), []).await;
    let rule =
        r#"token = "a b": must be 1 to 128 visible ASCII characters without $; choose another"#;
    assert!(refused(error).to_string().contains(rule));
}

#[tokio::test]
async fn only_the_service_and_the_container_see_a_token() {
    let site = Site::start().await;
    let script = format!("import os; print('token', os.environ['{SUBMISSION_TOKEN}'])");
    let job = site.script("seen", &script).env("A", "1").token("ci-4711");
    assert!(job.check().is_ok());
    let job = site.run(job).await;
    assert!(String::from_utf8_lossy(job.raw()).contains("ci-4711"));
    let own = json!({"A": "1"});
    assert_eq!(serde_json::to_value(&job).unwrap()["algorithm"]["environments"], own);
    let log = job.logs("worker-0").preview().await.unwrap();
    assert!(log.content.as_deref().unwrap().contains("token ci-4711"), "{log:?}");
    // A copy, a document with the variable, and a variable of the caller get a token of their own.
    let jobs = site.client.training_jobs();
    let document: Value = serde_json::from_slice(job.raw()).unwrap();
    for (name, again) in [
        ("copy", job.copy_as("copy").await.unwrap()),
        ("document", jobs.from_value(&document).unwrap()),
        ("variable", job.copy_as("v").await.unwrap().env(SUBMISSION_TOKEN, "ci-4711")),
    ] {
        assert_eq!(again.body()["algorithm"]["environments"], own, "{name}");
        let again = site.run(again.name(name)).await;
        assert!(!String::from_utf8_lossy(again.raw()).contains("ci-4711"), "{name}");
        assert!(String::from_utf8_lossy(again.raw()).contains(SUBMISSION_TOKEN), "{name}");
    }
}
