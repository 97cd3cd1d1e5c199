//! The ranks of a job's workers in the network.

use serde_json::json;

use crate::handlers::call::{ApiCall, ApiResult, ok};

/// Ranks are planned in pools of Ascend 910 nodes only, which the emulator does not have: for all
/// other jobs the plan has failed, and the ranks are in the default order.
pub(crate) fn show(call: &ApiCall<'_>) -> ApiResult {
    let ranks: Vec<String> = call.read(|job| {
        let workers = job.tasks().zip(0..);
        workers.map(|(_, rank)| format!("{rank}-{rank}")).collect()
    })?;
    ok(json!({
        "job_id": call.job_id(),
        "status": "failed",
        "rank_mapping": ranks.join(","),
    }))
}
