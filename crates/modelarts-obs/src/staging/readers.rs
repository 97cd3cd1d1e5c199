//! Search for jobs that read objects and have not ended.

use std::{collections::BTreeSet, iter, path::Path};

use futures::TryStreamExt;
use modelarts_ext::{Client, Error, Filter, Job, types::Phase};
use serde_json::Value;

use crate::address::{ObsPath, invalid};

/// Fields of a job that contain the addresses of the data that it reads.
const SOURCES: [&str; 2] = ["inputs", "volumes"];
/// Workspace of a search that sets none, according to the reference (`openapi/SOURCES.md`, D-109).
const DEFAULT_WORKSPACE: &str = "0";
/// Maximum number of jobs that an error names.
const NAMED: usize = 5;

/// Returns an error if jobs that have not ended read objects at, above or below an address.
/// `directory` is the local directory, for the message.
pub(super) async fn require_none(
    client: &Client,
    workspace: Option<&str>,
    path: &ObsPath,
    directory: &Path,
) -> Result<(), Error> {
    let mut found = BTreeSet::new();
    let other = workspace.filter(|id| *id != DEFAULT_WORKSPACE);
    for workspace in iter::once(None).chain(other.map(Some)) {
        let ended = [Phase::Completed, Phase::Failed, Phase::Terminated, Phase::Abnormal];
        let jobs = client.training_jobs().list();
        let jobs = jobs.filter(Filter::phase().is_not_in(ended));
        let mut jobs = match workspace {
            Some(workspace) => jobs.workspace(workspace).stream(),
            None => jobs.stream(),
        };
        while let Some(job) = jobs.try_next().await? {
            if !job.is_final() && reads(&job, path) {
                found.insert(job.to_string());
            }
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    let named: Vec<_> = found.iter().take(NAMED).map(String::as_str).collect();
    let more = match found.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Err(invalid(format!(
        "the data directory {} has changes, and its objects must not change while jobs read \
         {path}: \
         {}{more}",
        directory.display(),
        named.join(", ")
    ))
    .with_advice(Some(
        "wait for the jobs, terminate them, or stage a copy of the directory".to_owned(),
    )))
}

/// Returns `true` if an input or a volume of a job is at, above or below an address.
fn reads(job: &Job, path: &ObsPath) -> bool {
    let details = serde_json::to_value(job).unwrap_or_default();
    names_overlap(&details, path, false)
}

/// Returns `true` if a value contains an address at, above or below `path`. `is_source` is `true`
/// within the fields [`SOURCES`].
fn names_overlap(value: &Value, path: &ObsPath, is_source: bool) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(name, member)| {
            names_overlap(member, path, is_source || SOURCES.contains(&name.as_str()))
        }),
        Value::Array(items) => items.iter().any(|item| names_overlap(item, path, is_source)),
        Value::String(text) if is_source => {
            // Consecutive slashes count as one.
            let steps = text.strip_prefix("obs:/").unwrap_or(text).split('/');
            let steps: Vec<_> = steps.filter(|step| !step.is_empty()).collect();
            let read = format!("/{}", steps.join("/")).parse::<ObsPath>();
            let is_address = text.starts_with('/') || text.starts_with("obs://");
            is_address && read.is_ok_and(|read| read.contains(path) || path.contains(&read))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn inputs_and_volumes_at_above_and_below_are_found() {
        let path: ObsPath = "obs://bucket/data/images".parse().unwrap();
        let reads = |value: &Value| names_overlap(value, &path, false);
        let input = |url: &str| {
            let inputs = json!([{"name": "data_url", "remote": {"obs": {"obs_url": url}}}]);
            json!({"algorithm": {"inputs": inputs}})
        };
        for url in [
            "obs://bucket/data/images/",
            "/bucket/data/images/",
            "/bucket//data/",
            "obs://bucket/",
            "/bucket/data/images/train/",
        ] {
            assert!(reads(&input(url)), "{url}");
        }
        for url in ["/bucket/data/images2/", "/other/data/images/", "data/images"] {
            assert!(!reads(&input(url)), "{url}");
        }
        let url = "/bucket/data/images/";
        let task = json!({"tasks": [input(url)]});
        let volume = json!({"spec": {"volumes": [{"obs": {"obs_path": url}}]}});
        assert!(reads(&task) && reads(&volume));
        let output = json!({"algorithm": {"outputs": [{"remote": {"obs": {"obs_url": url}}}]}});
        assert!(!reads(&output));
    }
}
