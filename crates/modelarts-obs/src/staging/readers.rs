//! Search for jobs that read objects.

use std::{collections::BTreeSet, iter, path::Path};

use futures::TryStreamExt;
use modelarts_ext::{Client, Error, ErrorKind, Filter, Job, types::Phase};
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
    let jobs = of(client, workspace, &[path], false).await?;
    let found: BTreeSet<_> = jobs.into_iter().flatten().map(|job| job.to_string()).collect();
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

/// Returns the jobs that read objects at, above or below each address, in the default workspace and
/// in other workspaces. Without `with_ended`, returns only those that have not ended.
///
/// # Errors
/// Returns an error if a list cannot be read to its end, or has rows that cannot be decoded.
pub(super) async fn of<'a>(
    client: &Client,
    workspaces: impl IntoIterator<Item = &'a str>,
    paths: &[&ObsPath],
    with_ended: bool,
) -> Result<Vec<Vec<Job>>, Error> {
    let mut found = vec![Vec::new(); paths.len()];
    let others = workspaces.into_iter().filter(|id| *id != DEFAULT_WORKSPACE);
    for workspace in iter::once(None).chain(others.map(Some)) {
        let mut jobs = client.training_jobs().list();
        if !with_ended {
            let ended = [Phase::Completed, Phase::Failed, Phase::Terminated, Phase::Abnormal];
            jobs = jobs.filter(Filter::phase().is_not_in(ended));
        }
        if let Some(workspace) = workspace {
            jobs = jobs.workspace(workspace);
        }
        let mut pages = jobs.pages();
        while let Some(page) = pages.try_next().await? {
            if page.skipped > 0 {
                let message = "the list of jobs has rows that cannot be decoded";
                return Err(Error::new(ErrorKind::Decode, message));
            }
            for job in page.items.iter().filter(|job| with_ended || !job.is_final()) {
                // A row of the list can lack fields of the job.
                let read = match job.details().algorithm.is_some() {
                    true => None,
                    false => Some(job.get().await?),
                };
                let details = serde_json::to_value(read.as_ref().unwrap_or(job));
                let details = details.unwrap_or_default();
                for (path, readers) in paths.iter().zip(&mut found) {
                    if names_overlap(&details, path, false) {
                        readers.push(job.clone());
                    }
                }
            }
        }
    }
    Ok(found)
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
