//! Check that the inputs of a job fit on the disk of its flavor, before the job is created.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use modelarts_ext::{jobs::create::check_input_size, validation::FlavorSpec};
use modelarts_obs::ObsPath;

use crate::{
    choices::Lists,
    create::{
        finding::Finding,
        form::{DRAFT, Form},
        plan::Plan,
    },
    drafts::INPUTS,
    problem::Problem,
    site::State,
};

/// Maximum number of objects of an input whose sizes are added. A larger input counts in part.
const MAX_OBJECTS: usize = 20_000;
/// Time limit for the sizes of an input. An input that cannot be read is left to the service.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Returns a finding if the inputs are larger than the disk.
pub(super) async fn check(state: &State, plan: &Plan, form: &Form, lists: &Lists) -> Vec<Finding> {
    let flavor = lists.flavor(form.get("flavor"));
    let Some(disk) = flavor.and_then(|flavor| FlavorSpec::from(flavor).disk_gb()) else {
        return Vec::new();
    };
    let draft = state.drafts.get(form.get(DRAFT));
    let dropped = draft.map(|draft| draft.summary()).unwrap_or_default().into_iter();
    let dropped = dropped.filter(|(slot, _)| slot.starts_with(INPUTS));
    let mut bytes: u64 = dropped.map(|(_, (_, bytes))| bytes).sum();
    let body = plan.job.body();
    for input in body["algorithm"]["inputs"].as_array().into_iter().flatten() {
        let address = input["remote"]["obs"]["obs_url"].as_str();
        if let Some(path) = address.and_then(|address| address.parse::<ObsPath>().ok()) {
            let size = tokio::time::timeout(TIMEOUT, size(state, &path)).await;
            bytes += size.ok().and_then(Result::ok).unwrap_or_default();
        }
    }
    let report = check_input_size(bytes, disk);
    let violations = report.violations.iter();
    let place = plan.controls.find("algorithm.inputs");
    violations.map(|violation| Finding::of_violation(violation, place)).collect()
}

async fn size(state: &State, path: &ObsPath) -> Result<u64, Problem> {
    let bucket = state.staging.connect()?.bucket(path.bucket())?;
    let objects = bucket.list(path.key()).take(MAX_OBJECTS);
    let sum = objects.try_fold(0, |sum, object| std::future::ready(Ok(sum + object.size())));
    Ok(sum.await?)
}
