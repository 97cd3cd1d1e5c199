//! Check that a job does not overwrite files in its outputs.

use std::path::Path;

use futures::{StreamExt, TryStreamExt, stream};
use modelarts_ext::{Client, CreateJob, Error, Job};
use modelarts_obs::{ObsPath, Staging};

use crate::{
    commands::create::draft::Draft,
    failure::Failure,
    terminal::{Emphasis, Terminal},
};

/// Workspace that a search without a workspace covers (`openapi/SOURCES.md`, D-109).
const DEFAULT_WORKSPACE: &str = "0";

/// Directory for the outputs of jobs, if no other is given.
pub(crate) const OUTPUT_DIRECTORY: &str = "modelarts-output";

/// Creates [`OUTPUT_DIRECTORY`] with a `.gitignore` file, so that outputs are neither committed nor
/// sent as code.
pub(crate) fn ignore_outputs() {
    let directory = Path::new(OUTPUT_DIRECTORY);
    let file = directory.join(".gitignore");
    // Without the file, later jobs send the outputs as code. The present command does not fail.
    if std::fs::create_dir_all(directory).is_ok() && !file.exists() {
        let _ = std::fs::write(file, "*\n");
    }
}

/// Number of concurrent requests to OBS.
const CONCURRENT: usize = 8;

/// An output whose address the user has chosen.
struct ChosenOutput {
    name: String,
    path: ObsPath,
    /// `true` if the job continues from the files of an earlier job.
    continues: bool,
    /// Newest job of the project with the same output.
    owner: Option<Job>,
}

/// Returns an error if an output that the user has chosen belongs to another job, or has files from
/// which the job does not continue. The API recommends an empty directory.
pub(crate) async fn require_free_outputs(
    draft: &Draft,
    client: &Client,
    staging: &Staging,
) -> Result<(), Failure> {
    let mut outputs = chosen_outputs(draft);
    if outputs.is_empty() {
        return Ok(());
    }
    find_owners(draft, client, &mut outputs).await?;
    let mut problems = String::new();
    for output in &outputs {
        let ChosenOutput { name, path, .. } = output;
        let problem = match (&output.owner, output.continues) {
            (Some(job), _) => format!(
                "must not be the output of another job, and is that of {} ({})",
                job.name(),
                job.id()
            ),
            (None, true) => continue,
            (None, false) => match first_file(staging, path).await {
                Ok(None) => continue,
                Ok(Some(key)) => format!("must be empty, and has {key}"),
                // The service may write to a bucket that the user cannot read.
                Err(error) => {
                    let warning = Terminal::styled("warning:", Emphasis::Waiting);
                    note!("{warning} output {name}: {path} may have files: {error}");
                    continue;
                }
            },
        };
        problems += &format!(
            "\n  output {name}: {path} {problem}; --out {name} chooses a new address, and \
             --overwrite-outputs submits the job as it is"
        );
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Failure::Unchecked(
            format!("the job would overwrite results, so nothing was sent:{problems}"),
            Vec::new(),
        )),
    }
}

fn chosen_outputs(draft: &Draft) -> Vec<ChosenOutput> {
    let body = draft.job.body();
    let outputs = body["algorithm"]["outputs"].as_array();
    let outputs = outputs.into_iter().flatten().filter_map(|output| {
        let name = output["name"].as_str()?.to_owned();
        let path = output["remote"]["obs"]["obs_url"].as_str()?.parse().ok()?;
        Some(ChosenOutput {
            name,
            path,
            continues: output["prefetch_to_local"] == true,
            owner: None,
        })
    });
    outputs.filter(|output| !draft.outputs.contains(&output.name)).collect()
}

/// Finds the newest job with each output, in the default workspace and the workspace of the job.
async fn find_owners(
    draft: &Draft,
    client: &Client,
    outputs: &mut [ChosenOutput],
) -> Result<(), Error> {
    let body = draft.job.body();
    let workspace = body["metadata"]["workspace_id"].as_str();
    let workspace = workspace.filter(|id| !id.is_empty() && *id != DEFAULT_WORKSPACE);
    for workspace in [None].into_iter().chain(workspace.map(Some)) {
        let jobs = client.training_jobs().list();
        let mut jobs = match workspace {
            Some(workspace) => jobs.workspace(workspace).stream(),
            None => jobs.stream(),
        };
        while outputs.iter().any(|output| output.owner.is_none())
            && let Some(job) = jobs.try_next().await?
        {
            let paths: Vec<ObsPath> =
                job.outputs().filter_map(|(_, path)| path.parse().ok()).collect();
            let same = outputs
                .iter_mut()
                .filter(|output| output.owner.is_none() && paths.contains(&output.path));
            same.for_each(|output| output.owner = Some(job.clone()));
        }
    }
    Ok(())
}

/// Returns the key of a file below an address; `None` if there is no file.
async fn first_file(staging: &Staging, path: &ObsPath) -> Result<Option<String>, Error> {
    let bucket = staging.connect()?.bucket(path.bucket())?;
    let files = bucket.list(path.key());
    let first = std::pin::pin!(files).try_next().await?;
    Ok(first.map(|file| file.key().to_owned()))
}

/// Returns the address of an output below the name of its job.
fn named_output(staging: &Staging, job: &str, output: &str) -> Result<ObsPath, Error> {
    staging.root()?.join(&format!("out/{job}/{output}"))
}

/// Gives outputs addresses with the name of their job, so that the same job of a later call has the
/// same addresses, and is found.
pub(crate) fn named_outputs(
    mut job: CreateJob,
    name: &str,
    outputs: &[String],
    staging: &Staging,
) -> Result<CreateJob, Failure> {
    let body = job.body();
    let known = body["algorithm"]["outputs"].as_array();
    for (index, output) in known.into_iter().flatten().enumerate() {
        let output = output["name"].as_str().unwrap_or_default();
        if outputs.iter().any(|known| known == output) {
            let field = format!("algorithm.outputs[{index}].remote.obs.obs_url");
            job = job.set_field(&field, &format!("{}/", named_output(staging, name, output)?))?;
        }
    }
    Ok(job)
}

/// Returns an error if a directory for the outputs of a job has results of another job.
pub(crate) fn require_free_directory(directory: &Path, outputs: &[String]) -> Result<(), Failure> {
    let is_full = |output: &&String| {
        let entries = std::fs::read_dir(directory.join(output));
        entries.is_ok_and(|mut entries| entries.next().is_some())
    };
    match outputs.iter().find(is_full) {
        None => Ok(()),
        Some(output) => Err(Failure::Unchecked(
            format!(
                "results would be overwritten, so nothing was run: {} must be empty; --name \
                 chooses another name, and --overwrite-outputs runs the job as it is",
                directory.join(output).display()
            ),
            Vec::new(),
        )),
    }
}

/// Returns an error if an output below the name of a new job has files.
pub(crate) async fn require_free_names(
    jobs: impl Iterator<Item = &str>,
    outputs: &[String],
    staging: &Staging,
) -> Result<(), Failure> {
    let places = jobs.flat_map(|job| outputs.iter().map(move |output| (job, output)));
    let mut checks = stream::iter(places)
        .map(async |(job, output)| {
            let path = named_output(staging, job, output)?;
            Ok::<_, Failure>((first_file(staging, &path).await?, path))
        })
        .buffered(CONCURRENT);
    while let Some((file, path)) = checks.try_next().await? {
        if let Some(file) = file {
            return Err(Failure::Unchecked(
                format!(
                    "results would be overwritten, so nothing was sent: the output {path} must be \
                     empty, and has {file}; --name chooses another name, and --overwrite-outputs \
                     submits the job as it is"
                ),
                Vec::new(),
            ));
        }
    }
    Ok(())
}
