//! Searches that cannot be used, names with markup, and a service that does not respond.

use modelarts_emulator::{
    Emulator,
    faults::{Fault, FaultRule},
};
use serde_json::json;

use crate::{
    jobs::{Events, Site, between, changed_rows, names, service, stream_address},
    support::Fixture,
};

#[tokio::test]
async fn a_search_that_does_not_parse_names_the_part_and_the_rule() {
    let fixture = Fixture::start().await;
    fixture.seed(json!([{ "name": "a" }])).await;
    for (query, problem) in [
        (
            "search=a+phase:Runing",
            "phase:Runing: phase must be one of Creating, Pending, Running, Terminating, \
             Completed, Failed, Abnormal, Terminated",
        ),
        ("search=priority:9", "priority:9: priority must be 1, 2 or 3"),
        (
            "page=0",
            "page &#34;0&#34;: must be a whole number, 1 or more; the first page is at /jobs",
        ),
    ] {
        let page = fixture.page(&format!("/jobs?{query}")).await;
        let message =
            between(&page, "<p id=\"search-problem\" class=\"error\" role=\"alert\">", "</p>");
        assert_eq!(message, problem);
        // Everything else works: the field has its text, and the links have addresses.
        assert!(page.contains("aria-invalid=\"true\" aria-describedby=\"search-problem\""));
        assert!(page.contains("href=\"/jobs?search=phase%3ARunning\""));
        assert!(!page.contains("data-stream"));
        let response = fixture.request("GET", &format!("/jobs/stream?{query}"));
        assert_eq!(response.send().await.unwrap().status(), 400);
    }
    let page = fixture.page("/jobs?search=a+phase:Runing").await;
    assert!(page.contains("type=\"search\" value=\"a phase:Runing\""), "{page}");
}

#[tokio::test]
async fn a_search_that_the_service_rejects_is_shown_with_the_code() {
    let fixture = Fixture::start().await;
    let page = fixture.page("/jobs?search=pool:pool-1").await;
    let problem = between(&page, "<section id=\"service-problem\"", "</section>");
    assert!(problem.contains("does not model searches by pool_id"), "{problem}");
    assert!(problem.contains("<dd><code>Emulator.0501</code></dd>"), "{problem}");
    assert!(problem.contains("<dt>Request id</dt>"), "{problem}");
    assert!(page.contains("value=\"pool:pool-1\""), "{page}");
    // The service has no search by names of users, and the page names the alternative.
    let page = fixture.page("/jobs?search=user:ada").await;
    assert!(
        page.contains("give the IAM id of the user, or <code>mine</code> for your own jobs"),
        "{page}"
    );
}

#[tokio::test]
async fn markup_in_a_search_is_text() {
    let fixture = Fixture::start().await;
    let page = fixture.page("/jobs?search=%22%3Cscript%3Ealert(1)%3C/script%3E").await;
    assert!(!page.contains("<script>alert"), "{page}");
    assert!(
        page.contains("&#60;script&#62;alert(1)&#60;/script&#62;: a quote must be closed"),
        "{page}"
    );
    let page = fixture.page("/jobs?search=%3Cscript%3E").await;
    assert!(!page.contains("<script>"), "{page}");
}

#[tokio::test]
async fn markup_in_each_field_of_a_job_is_text() {
    let markup = |field: &str| format!("{field}\"><script>alert(1)</script>");
    let body = json!({
        "total": 1, "count": 1, "limit": 50, "offset": 0,
        "items": [{
            "kind": "job",
            "metadata": {
                "id": "job-1", "name": markup("name"), "user_name": markup("user"),
                "description": markup("description"), "create_time": 1_768_465_800_000_i64,
            },
            "status": {
                "phase": markup("phase"), "secondary_phase": markup("secondary"),
                "tasks": [markup("task")],
            },
            "spec": { "resource": { "flavor_id": markup("flavor"), "node_count": 1 } },
        }],
    });
    let site = Site::start(service(move |_| body.clone()).await).await;
    let page = site.page("/jobs").await;
    let mut events = Events::open(&site, "/jobs/stream").await;
    let rows = events.next_named("rows").await.data;
    for text in [page, rows] {
        assert!(!text.contains("<script>alert"), "{text}");
        for field in ["name", "user", "phase", "flavor"] {
            let escaped = format!("{field}&#34;&#62;&#60;script&#62;alert(1)");
            assert!(text.contains(&escaped), "{field}: {text}");
        }
    }
}

#[tokio::test]
async fn a_service_that_is_down_is_reported_and_comes_back() {
    let emulator = Emulator::builder().start().await.unwrap();
    let site = Site::of(&emulator).await;
    let seeds = modelarts_emulator::seeds::Seeds::from_json(r#"{"jobs":[{"name":"a"}]}"#);
    emulator.seed(&seeds.unwrap()).await.unwrap();
    let open = site.page("/jobs").await;
    let mut events = Events::open(&site, &stream_address(&open)).await;

    let search = site.page("/jobs?search=a").await;

    let down = Fault::error(503, "ModelArts.7000", "maintenance");
    emulator.faults().add(FaultRule::always("ListTrainingJobs", down)).unwrap();
    let event = events.next_named("interrupted").await;
    assert!(event.data.contains("maintenance"), "{event:?}");
    // A poller that never read the list does not replace the rows of its page.
    let mut unread = Events::open(&site, &stream_address(&search)).await;
    assert_eq!(unread.next().await.unwrap().name, "interrupted");
    let page = site.page("/jobs?search=phase:Completed").await;
    let problem = between(&page, "<section id=\"service-problem\"", "</section>");
    assert!(problem.contains("maintenance"), "{problem}");
    assert!(problem.contains("<dd><code>ModelArts.7000</code></dd>"), "{problem}");
    assert!(problem.contains("<dt>Request id</dt>"), "{problem}");
    assert!(problem.contains("This page tries again"), "{problem}");
    let mut later = Events::open(&site, &stream_address(&page)).await;
    assert_eq!(later.next().await.unwrap().name, "interrupted");

    emulator.faults().clear();
    // The page that was open has its rows already; the other one receives them.
    assert_eq!(events.next().await.unwrap().name, "resumed");
    assert_eq!(unread.next().await.unwrap().name, "resumed");
    let rows = changed_rows(&later.next_named("rows").await);
    assert_eq!(rows, (1, vec!["a".to_owned()]));
    later.next_named("resumed").await;
    assert_eq!(names(&site.page("/jobs").await), ["a"]);
}
