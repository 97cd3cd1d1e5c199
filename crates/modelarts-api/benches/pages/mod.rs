//! Canned job that all client benchmarks use.

use anyhow::Result;
use serde_json::json;

/// Project id in the request paths.
pub const PROJECT: &str = "0123456789abcdef0123456789abcdef";
pub const JOB_ID: &str = "5e1c7b52-5d1d-4a35-9c1b-6f3a3c9d0a11";
/// Job details as JSON, with the fields that most jobs have.
pub const JOB: &str = include_str!("job.json");

/// Returns a page of 50 jobs.
pub fn jobs() -> Result<String> {
    let mut job: serde_json::Value = serde_json::from_str(JOB)?;
    let mut jobs = Vec::new();
    for number in 0..50 {
        job["metadata"]["name"] = format!("leaves-{number}").into();
        jobs.push(job.clone());
    }
    let page = json!({"total": 5059, "count": 50, "limit": 50, "offset": 0,
        "sort_by": "create_time", "order": "desc", "group_by": "", "workspace_id": "0",
        "items": jobs});
    Ok(page.to_string())
}
