//! Secrets of a job: masked, and shown when the user asks for it.

use serde_json::{Value, json};

use crate::{
    job::{assert_has, described, seed_one},
    support::Fixture,
};

/// A job with a secret in each place that the tool masks.
fn secret_job() -> Value {
    let mut job = described("guarded");
    job["algorithm"]["environments"] = json!({"HF_TOKEN": "hunter2-a", "PLAIN": "hunter2-b"});
    job["algorithm"]["parameters"] = json!([
        {"name": "pin", "value": "hunter2-c", "constraint": {"sensitive": true}},
        {"name": "epochs", "value": "31"},
    ]);
    job["metadata"]["annotations"]["link"] = json!("https://b/x?Signature=hunter2-d");
    json!({"job": job})
}

#[tokio::test]
async fn secrets_are_masked_until_the_user_asks_for_them() {
    for is_read_only in [false, true] {
        let fixture = Fixture::with(|emulator| emulator, |page| page.read_only(is_read_only)).await;
        let id = seed_one(&fixture, secret_job()).await;
        for path in [
            format!("/jobs/{id}"),
            format!("/jobs/{id}/parts"),
            format!("/jobs/{id}/request"),
            format!("/create?from={id}"),
        ] {
            let page = fixture.page(&path).await;
            assert!(!page.contains("hunter2"), "{path}: {page}");
            assert_has(&page, &["HF_TOKEN", "***", "31"]);
        }
        for path in [format!("/jobs/{id}"), format!("/jobs/{id}/request")] {
            assert_has(&fixture.page(&path).await, &["href=\"?secrets=shown\""]);
            let page = fixture.page(&format!("{path}?secrets=shown")).await;
            assert_has(&page, &["hunter2-a", "hunter2-b", "hunter2-c", "href=\"?\""]);
            assert!(!page.contains("***"), "{path}: {page}");
        }
        let parts = fixture.page(&format!("/jobs/{id}/parts?secrets=shown")).await;
        assert_has(&parts, &["hunter2-a"]);
    }
}

#[tokio::test]
async fn a_job_without_secrets_has_no_such_link() {
    let fixture = Fixture::start().await;
    let id = seed_one(&fixture, json!({"name": "open"})).await;
    for path in [format!("/jobs/{id}"), format!("/jobs/{id}/request")] {
        let page = fixture.page(&path).await;
        assert!(!page.contains("secrets="), "{path}: {page}");
    }
}
