//! Addresses of the newest job.

use reqwest::header::LOCATION;
use serde_json::json;

use crate::support::Fixture;

#[tokio::test]
async fn latest_redirects_to_the_newest_job() {
    let fixture = Fixture::start().await;
    let response = fixture.request("GET", "/jobs/@latest").send().await.unwrap();
    assert_eq!(response.status(), 404);
    let text = response.text().await.unwrap();
    assert!(text.contains("the project has no jobs yet"), "{text}");

    let ids = fixture.seed(json!([{ "name": "a" }, { "name": "b" }])).await;
    for (path, rest) in [
        ("/jobs/@latest", ""),
        ("/jobs/@latest/logs", "/logs"),
        ("/jobs/@latest/logs?task=worker-0", "/logs?task=worker-0"),
        ("/jobs/@latest/a%2Fb%0D%0A", "/a/b%0D%0A"),
    ] {
        let response = fixture.request("GET", path).send().await.unwrap();
        assert_eq!(response.status(), 307);
        let expected = format!("/jobs/{}{rest}", ids[1]);
        assert_eq!(response.headers()[LOCATION], *expected);
    }
}
