//! Check that the inputs of a job fit on the disk of its flavor.

use futures::{StreamExt, TryStreamExt};
use modelarts_ext::{Client, Error, jobs::create::check_input_size, validation::FlavorSpec};
use modelarts_obs::{Obs, ObsPath, Staging, sync::Summary};

use crate::{
    commands::create::draft::Draft,
    failure::Failure,
    terminal::{Emphasis, Terminal},
};

/// Maximum number of flavors that are read.
const MAX_FLAVORS: usize = 500;
/// Maximum number of objects of an input whose sizes are added. A larger input counts in part.
const MAX_OBJECTS: usize = 20_000;

/// Bucket of the empty directory.
const EMPTY: &str = "empty";

/// Returns an error if the inputs do not fit on the disk of the flavor, and prints a warning if
/// they nearly fill it. An input that cannot be read is left to the service.
pub(crate) async fn require_disk(
    draft: &Draft,
    client: &Client,
    staging: &Staging,
) -> Result<(), Failure> {
    let body = draft.job.body();
    let inputs = body["algorithm"]["inputs"].as_array().map(Vec::as_slice).unwrap_or_default();
    let id = body["spec"]["resource"]["flavor_id"].as_str();
    let Some(id) = id.filter(|_| !inputs.is_empty()) else {
        return Ok(());
    };
    // The look-up of the job reports a flavor that cannot be read.
    let flavors = client.flavors(None).collect(MAX_FLAVORS).await.unwrap_or_default();
    let flavor = flavors.iter().find(|flavor| flavor.flavor_id.as_deref() == Some(id));
    let Some(disk) = flavor.and_then(|flavor| FlavorSpec::from(flavor).disk_gb()) else {
        return Ok(());
    };
    let mut bytes = 0;
    // Nothing is sent to an empty directory, which has the place of OBS.
    let empty = tempfile::tempdir().map_err(Failure::local)?;
    std::fs::create_dir(empty.path().join(EMPTY)).map_err(Failure::local)?;
    let obs = Obs::directory(empty.path()).with_cache_dir(empty.path().join("cache"));
    for (_, directory) in &draft.data {
        let sync = obs.sync_up(directory, format!("obs://{EMPTY}/data")).dry_run(true);
        // The upload reports a directory that cannot be read.
        bytes += sync.await.map_or(0, |planned: Summary| planned.transferred.bytes);
    }
    for input in inputs {
        let address = input["remote"]["obs"]["obs_url"].as_str();
        let is_local = draft.data.iter().any(|(name, _)| input["name"] == name.as_str());
        let path = address.filter(|_| !is_local).and_then(|it| it.parse::<ObsPath>().ok());
        if let Some(path) = path {
            bytes += size_in_obs(staging, &path).await.unwrap_or_default();
        }
    }
    let report = check_input_size(bytes, disk);
    for warning in &report.warnings {
        note!("  {}", Terminal::styled(warning, Emphasis::Waiting));
    }
    match report.violations.as_slice() {
        [] => Ok(()),
        violations => Err(draft.unchecked(violations)),
    }
}

async fn size_in_obs(staging: &Staging, path: &ObsPath) -> Result<u64, Error> {
    let objects = staging.connect()?.bucket(path.bucket())?.list(path.key()).take(MAX_OBJECTS);
    objects.try_fold(0, |sum, object| std::future::ready(Ok(sum + object.size()))).await
}
