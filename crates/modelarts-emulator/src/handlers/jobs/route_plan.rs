//! The plan of the ranks of a job's workers in the network.

use serde_json::json;

use crate::handlers::call::{ApiCall, ApiResult, ok};

/// Shows the plan. Ranks are planned only in pools of Ascend 910 nodes, which the emulator does not
/// have: for all other jobs planning has failed, and ranks are in the default order.
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
