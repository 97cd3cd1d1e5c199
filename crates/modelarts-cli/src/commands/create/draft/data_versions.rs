//! Comparison of the versions of the data of jobs.

use modelarts_ext::Job;
use modelarts_obs::{Staging, staging::DataAddress};
use serde_json::Value;

use crate::failure::Failure;

/// Returns the names and the addresses of the inputs of a request body.
pub(crate) fn inputs(body: &Value) -> impl Iterator<Item = (&str, &str)> {
    let inputs = body["algorithm"]["inputs"].as_array().into_iter().flatten();
    inputs.filter_map(|input| {
        Some((input["name"].as_str()?, input["remote"]["obs"]["obs_url"].as_str()?))
    })
}

/// Checks that the versions of data that a job takes from another job exist, and notes data that is
/// not versioned. `is_given` tells the inputs that flags give.
pub(crate) async fn require_versions(
    job: &Job,
    body: &Value,
    is_given: impl Fn(&str) -> bool,
    staging: &Staging,
) -> Result<(), Failure> {
    for (name, url) in inputs(body).filter(|(name, _)| !is_given(name)) {
        let Some(address) = DataAddress::parse(url) else {
            continue;
        };
        let Some(id) = address.version() else {
            note!("  input {name} of {}: {address}", job.name());
            continue;
        };
        match staging.use_data(&address, None, true).await {
            Ok(true) => {}
            Ok(false) => {
                return Err(Failure::NotFound(format!(
                    "the data version {id} of the input {name} of the job {} is gone, so nothing \
                     was sent; --data {name}=DIR gives the data again",
                    job.name()
                )));
            }
            // The service may read a bucket that the user cannot read.
            Err(error) => note!("  input {name}: the data version {id} may be gone: {error}"),
        }
    }
    Ok(())
}

/// Records the use of versions of data by a new job, so that they are not removed before it exists.
pub(crate) async fn record_uses(body: &Value, staging: &Staging) {
    let workspace = body["metadata"]["workspace_id"].as_str();
    for address in inputs(body).filter_map(|(_, url)| DataAddress::parse(url)) {
        // The user may not be able to read the bucket, which does not affect the job.
        let _ = staging.use_data(&address, workspace, false).await;
    }
}

/// Returns a text for each input whose data differs from that of an existing job, or may differ.
pub(crate) fn differences(existing: &Job, body: &Value) -> Vec<String> {
    let details = serde_json::to_value(existing.details()).unwrap_or_default();
    let difference = |(name, url): (&str, &str)| {
        let (_, known) = inputs(&details).find(|(other, _)| *other == name)?;
        let (known, given) = (DataAddress::parse(known)?, DataAddress::parse(url)?);
        match known == given {
            true if given.version().is_some() => None,
            true => Some(format!("input {name}: {given}")),
            false => {
                Some(format!("input {name}: {} has {known}, and here is {given}", existing.name()))
            }
        }
    };
    inputs(body).filter_map(difference).collect()
}
