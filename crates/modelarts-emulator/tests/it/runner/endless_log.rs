//! Preview and stop of a job whose log is endless.

use std::time::Duration;

use serde_json::json;

use crate::support::Site;

/// The log grows faster than it is read. The timeout ends the test if a request receives no
/// response.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_with_an_endless_log_is_previewed_and_stopped() {
    let site = Site::with(|builder| builder.log_cap(1000)).await;
    let mut job = site.script("talks", "");
    job["algorithm"] = json!({"engine": {"image_url": "org/image:1"}, "command": "yes"});
    job["spec"]["log_export_path"] = json!({"obs_url": "/bucket/talks/logs/"});
    let id = site.create(&job).await;
    let requests = async {
        while !site.log(&id).await.contains("log length overflow(max:1000;") {}
        assert_eq!(site.phase(&id).await, "Running");
        site.terminate(&id).await;
        site.emulator.wait_until_settled(&id).await;
    };
    let result = tokio::time::timeout(Duration::from_secs(60), requests).await;
    assert!(result.is_ok(), "no answer");
    assert_eq!(site.phase(&id).await, "Terminated");
    let log = site.log(&id).await;
    assert!(log.starts_with(&"y\n".repeat(500)) && log.len() < 1200, "{log}");
}
