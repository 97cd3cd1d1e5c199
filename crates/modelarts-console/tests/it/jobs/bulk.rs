//! Stop and deletion of several jobs.

use modelarts_emulator::faults::{Fault, FaultRule};
use reqwest::header::{CONTENT_TYPE, LOCATION};
use serde_json::{Value, json};

use crate::{
    jobs::{between, names},
    support::Fixture,
};

const FORM: &str = "application/x-www-form-urlencoded";

#[tokio::test]
async fn a_browser_without_scripts_confirms_on_a_page() {
    let fixture = Fixture::start().await;
    let ids = fixture
        .seed(json!([
            { "name": "ended", "phase": "Completed" },
            { "name": "running", "phase": "Running" },
        ]))
        .await;
    let list = "search=phase:Running&page=2&columns=lr";
    let query = format!("action=stop&id={}&id={}&{list}", ids[0], ids[1]);
    let page = fixture.page(&format!("/jobs/confirm?{query}")).await;
    assert!(page.contains("<h1>Stop these jobs?</h1>"), "{page}");
    assert!(page.contains("Stop 2 jobs</button>"), "{page}");
    assert!(page.contains("<strong>ended</strong>"), "{page}");
    assert!(page.contains("<span class=\"muted\">has ended</span>"), "{page}");
    assert!(page.contains("<form action=\"/jobs/stop\" method=\"post\">"), "{page}");
    assert!(page.contains("name=\"columns\" value=\"lr\""), "{page}");

    // The form of the page, sent as a browser does.
    let csrf = between(&page, "name=\"csrf\" value=\"", "\"");
    let form = format!("csrf={csrf}&{query}");
    let request = fixture.request("POST", "/jobs/stop").header(CONTENT_TYPE, FORM);
    let response = request.body(form).send().await.unwrap();
    assert_eq!(response.status(), 303);
    let location = &response.headers()[LOCATION];
    assert_eq!(location, "/jobs?search=phase%3ARunning&page=2&columns=lr");
    fixture.emulator.wait_for(&ids[1], "Terminated").await.unwrap();

    let form = format!("csrf={csrf}&id={}", ids[0]);
    let request = fixture.request("POST", "/jobs/delete").header(CONTENT_TYPE, FORM);
    let response = request.body(form).send().await.unwrap();
    assert_eq!(response.status(), 303);
    assert_eq!(response.headers()[LOCATION], "/jobs");
    fixture.emulator.wait_until_gone(&ids[0]).await;
    assert_eq!(names(&fixture.page("/jobs").await), ["running"]);
}

#[tokio::test]
async fn a_script_receives_the_result_of_each_job() {
    let fixture = Fixture::start().await;
    let ids = fixture.seed(json!([{ "name": "a" }, { "name": "b", "phase": "Running" }])).await;
    let missing = "00000000-0000-4000-8000-000000000000";
    let form = format!("id={}&id={}&id={missing}&id={}", ids[0], ids[1], ids[1]);
    let page = fixture.page("/jobs").await;
    let csrf = between(&page, "csrf-token\" content=\"", "\"");
    let request = fixture.request("POST", "/jobs/stop").header(CONTENT_TYPE, FORM);
    let request = request.header("accept", "application/json").header("x-csrf-token", csrf);
    let response: Value = {
        let text = request.body(form).send().await.unwrap().text().await.unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let results = response["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    assert_eq!(results[0], json!({ "id": ids[0], "result": "had ended before", "error": null }));
    assert_eq!(results[1], json!({ "id": ids[1], "result": "is being stopped", "error": null }));
    assert_eq!(results[2]["result"], Value::Null);
    assert_eq!(results[2]["error"]["title"], "Not found");
    assert!(results[2]["error"]["request_id"].is_string());
}

#[tokio::test]
async fn a_failure_is_shown_with_its_code_and_the_other_jobs_change() {
    let fixture = Fixture::start().await;
    let ids = fixture.seed(json!([{ "name": "a" }, { "name": "b" }])).await;
    let fault = Fault::error(403, "ModelArts.0010", "no permission");
    let rule = FaultRule::once("DeleteTrainingJob", fault);
    fixture.emulator.faults().add(rule).unwrap();
    let body = format!("id={}&id={}", ids[0], ids[1]);
    let response = fixture.change("/jobs/delete", body).await;
    assert_eq!(response.status(), 200);
    let page = response.text().await.unwrap();
    assert!(page.contains("The service did not change 1 of 2 jobs."), "{page}");
    assert!(page.contains("no permission"), "{page}");
    assert!(page.contains("<code>ModelArts.0010</code>"), "{page}");
    assert!(page.contains("</a></th><td>is being deleted</td>"), "{page}");
}

#[tokio::test]
async fn a_change_without_jobs_is_rejected() {
    let fixture = Fixture::start().await;
    let many = (0..101).map(|id| format!("id=job-{id}")).collect::<Vec<_>>().join("&");
    for (path, problem) in [
        ("/jobs/confirm?action=stop".to_owned(), "no job is selected"),
        ("/jobs/confirm?id=a".to_owned(), "action must be stop or delete"),
        (
            format!("/jobs/confirm?action=delete&{many}"),
            "101 jobs are selected; must be at most 100",
        ),
    ] {
        let response = fixture.request("GET", &path).send().await.unwrap();
        assert_eq!(response.status(), 400);
        let text = response.text().await.unwrap();
        assert!(text.contains(problem), "{text}");
    }
    let response = fixture.change("/jobs/stop", "id=..").await;
    assert_eq!(response.status(), 422);
    let text = response.text().await.unwrap();
    assert!(text.contains("the job id &#34;..&#34; is wrong"), "{text}");
}
