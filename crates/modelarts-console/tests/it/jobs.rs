//! List of jobs.

use serde_json::json;

use crate::support::Fixture;

#[tokio::test]
async fn a_job_is_listed_with_its_phase() {
    let fixture = Fixture::start().await;
    let ids = fixture
        .seed(json!([{ "name": "resnet-50", "phase": "Completed" }]))
        .await;
    let page = fixture.page("/jobs").await;
    assert!(
        page.contains(&format!("<a href=\"/jobs/{}\">resnet-50</a>", ids[0])),
        "{page}"
    );
    assert!(page.contains("</span> Completed</span>"), "{page}");
}
