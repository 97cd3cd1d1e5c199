//! Changes of a job: description, stop, deletion.

use modelarts_ext::types::Phase;
use serde_json::json;

use crate::{
    job::{assert_has, between, described, seed_one},
    support::Fixture,
};

const FORM: &str = "application/x-www-form-urlencoded";

#[tokio::test]
async fn the_description_can_be_changed_and_removed() {
    let fixture = Fixture::start().await;
    let id = seed_one(&fixture, json!({"name": "described"})).await;
    let address = format!("/jobs/{id}/description");
    let read = async || {
        let job = fixture.client().training_jobs().get(&id).await.unwrap();
        let metadata = job.details().metadata.clone().unwrap();
        metadata.description.unwrap_or_default()
    };
    let response = fixture.form(&address, &[("description", "second\r\nline ")]).await;
    assert_eq!(response.status(), 303);
    assert_eq!(response.headers()["location"], *format!("/jobs/{id}"));
    assert_eq!(read().await, "second\nline");
    let response = fixture.form(&address, &[("description", &"x".repeat(257))]).await;
    assert_eq!(response.status(), 422);
    let text = response.text().await.unwrap();
    assert_has(&text, &["description", "must have at most 256 characters"]);
    assert_eq!(read().await, "second\nline");
    fixture.form(&address, &[("description", "")]).await;
    assert_eq!(read().await, "");
}

/// The second of two writers sees the text of the first, and keeps his own.
#[tokio::test]
async fn a_description_that_another_user_has_changed_is_not_replaced_unseen() {
    let fixture = Fixture::start().await;
    let id = seed_one(&fixture, json!({"name": "shared"})).await;
    let address = format!("/jobs/{id}/description");
    let write = async |before, text| {
        fixture.form(&address, &[("before", before), ("description", text)]).await
    };
    assert_eq!(write("", "of\r\nAda").await.status(), 303);
    let late = write("", "of Bob <b>").await;
    assert_eq!(late.status(), 409);
    let page = late.text().await.unwrap();
    assert_has(&page, &["<p class=\"description\">of\nAda</p>", ">of Bob &#60;b&#62;</textarea>"]);
    assert_has(&page, &["name=\"before\" value=\"of\nAda\""]);
    assert_eq!(write("of\r\nAda", "of Bob").await.status(), 303);
    let job = fixture.client().training_jobs().get(&id).await.unwrap();
    let metadata = job.details().metadata.clone().unwrap();
    assert_eq!(metadata.description.as_deref(), Some("of Bob"));
}

#[tokio::test]
async fn tags_are_added_changed_and_removed() {
    let fixture = Fixture::start().await;
    let job = json!({"name": "tagged", "tags": {"team": "nlp", "stage": "first"}});
    let id = seed_one(&fixture, job).await;
    let page = fixture.page(&format!("/jobs/{id}")).await;
    assert_has(&page, &["name=\"tags\" size=\"50\" value=\"stage=first, team=nlp\""]);
    let address = format!("/jobs/{id}/tags");
    // A tag that the user did not see stays.
    let fields = [("before", "team=nlp"), ("tags", "team = vision,, cost=4711")];
    let response = fixture.form(&address, &fields).await;
    assert_eq!(response.status(), 303);
    let page = fixture.page(&format!("/jobs/{id}")).await;
    assert_has(&page, &["<dt>Tags</dt><dd>cost=4711, stage=first, team=vision</dd>"]);
    let before = [("before", "cost=4711, stage=first, team=vision"), ("tags", "")];
    fixture.form(&address, &before).await;
    let page = fixture.page(&format!("/jobs/{id}")).await;
    assert!(!page.contains("<dt>Tags</dt>"), "{page}");
    let refused = fixture.form(&address, &[("tags", "=1")]).await;
    assert_ne!(refused.status(), 303);
}

#[tokio::test]
async fn a_job_is_saved_as_an_algorithm() {
    let fixture = Fixture::start().await;
    let id = seed_one(&fixture, json!({"job": described("source")})).await;
    let page = fixture.page(&format!("/jobs/{id}")).await;
    assert_has(&page, &["<summary>Save as algorithm</summary>"]);
    let address = format!("/jobs/{id}/algorithm");
    let response = fixture.form(&address, &[("name", "resnet")]).await;
    assert_eq!(response.status(), 303, "{}", response.text().await.unwrap());
    let form = fixture.page(response.headers()["location"].to_str().unwrap()).await;
    assert_has(&form, &["selected>resnet</option>"]);
    let algorithms = fixture.client().algorithms().collect(10).await.unwrap();
    let config = algorithms[0].job_config.clone().unwrap();
    assert_eq!(config.boot_file.as_deref(), Some("/bucket/code/train.py"));
    let names: Vec<_> = config.parameters.iter().map(|one| one.name.as_deref().unwrap()).collect();
    assert!(names.contains(&"epochs"), "{names:?}");
    assert_eq!(config.outputs[0].name.as_deref(), Some("train_url"));
    assert_ne!(fixture.form(&address, &[("name", "not a name")]).await.status(), 303);
}

#[tokio::test]
async fn a_running_job_is_stopped_after_a_question() {
    let fixture = Fixture::start().await;
    let id = seed_one(&fixture, json!({"name": "endless", "phase": "Running"})).await;
    let page = fixture.page(&format!("/jobs/{id}")).await;
    let dialog = between(&page, "<dialog id=\"stop-dialog\"", "</dialog>");
    assert_has(
        dialog,
        &["Stop endless?", &format!("action=\"/jobs/{id}/stop\""), "method=\"post\""],
    );
    let question = fixture.page(&format!("/jobs/{id}/stop")).await;
    assert_has(&question, &["<h1>Stop endless?</h1>", &format!("action=\"/jobs/{id}/stop\"")]);
    let job = fixture.client().training_jobs().job(&id).unwrap();
    assert_eq!(job.get().await.unwrap().phase(), Phase::Running);
    let forged = fixture.request("POST", &format!("/jobs/{id}/stop"));
    let forged = forged.header("content-type", FORM).body("csrf=0").send().await.unwrap();
    assert_eq!(forged.status(), 403);
    assert_eq!(job.get().await.unwrap().phase(), Phase::Running);
    let response = fixture.form(&format!("/jobs/{id}/stop"), &[]).await;
    assert_eq!(response.status(), 303);
    let end = job.wait().await.unwrap();
    assert!(!end.is_completed());
    assert_eq!(job.get().await.unwrap().phase(), Phase::Terminated);
    let again = fixture.form(&format!("/jobs/{id}/stop"), &[]).await;
    assert_eq!(again.status(), 409);
    assert_has(&again.text().await.unwrap(), &["Not possible now", "ModelArts."]);
}

#[tokio::test]
async fn a_job_is_deleted_after_a_question() {
    let fixture = Fixture::start().await;
    let id = seed_one(&fixture, json!({"name": "old"})).await;
    let question = fixture.page(&format!("/jobs/{id}/delete")).await;
    assert_has(&question, &["<h1>Delete old?</h1>", "outputs in OBS remain"]);
    let response = fixture.form(&format!("/jobs/{id}/delete"), &[]).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["location"]),
        (303, &"/jobs".parse().unwrap())
    );
    fixture.emulator.wait_until_gone(&id).await;
    let gone = fixture.request("GET", &format!("/jobs/{id}")).send().await.unwrap();
    assert_eq!(gone.status(), 404);
}

#[tokio::test]
async fn a_read_only_page_offers_no_change() {
    let fixture = Fixture::with(|emulator| emulator, |console| console.read_only(true)).await;
    let id = seed_one(&fixture, json!({"name": "kept", "phase": "Running"})).await;
    let page = fixture.page(&format!("/jobs/{id}")).await;
    // The form that remains ends the session.
    assert_eq!(page.matches("<form").count(), 1, "{page}");
    for absent in ["<dialog", "/create?from=", "/stop"] {
        assert!(!page.contains(absent), "{absent} in {page}");
    }
    let response = fixture.form(&format!("/jobs/{id}/delete"), &[]).await;
    assert_eq!(response.status(), 403);
    let question = fixture.request("GET", &format!("/jobs/{id}/stop")).send().await.unwrap();
    assert_eq!(question.status(), 403);
    fixture.client().training_jobs().get(&id).await.unwrap();
}
