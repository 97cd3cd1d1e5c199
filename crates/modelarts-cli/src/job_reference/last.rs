//! The last submitted job of a directory, for `@last`.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    failure::Failure,
    state::{self, state_directory},
};

/// Maximum number of entries in the file; the oldest entries are dropped.
const MAX_ENTRIES: usize = 500;

#[derive(Default, Deserialize, Serialize)]
struct LastJobs {
    /// Last job of each directory and project, in the order of submission.
    jobs: Vec<LastJob>,
}

#[derive(Deserialize, Serialize)]
struct LastJob {
    /// Directory in which the command ran.
    directory: PathBuf,
    /// Endpoint of the service, or `emulator`, with the id of the project. Ids are unique only in a
    /// project.
    project: String,
    id: String,
}

fn path() -> Option<PathBuf> {
    Some(state_directory()?.join("last.json"))
}

fn read(path: &Path) -> LastJobs {
    // A file that cannot be read counts as empty: it only serves `@last`.
    let text = fs::read_to_string(path).ok();
    let jobs = text.and_then(|text| serde_json::from_str(&text).ok());
    jobs.unwrap_or_default()
}

/// Records the last submitted job of the current directory. Errors are only logged.
pub(crate) fn remember(project: &str, id: &str) {
    let written = || -> io::Result<()> {
        let path = path().ok_or_else(|| io::Error::other("no home directory"))?;
        let directory = env::current_dir()?;
        let mut last = read(&path);
        last.jobs.retain(|job| job.directory != directory || job.project != project);
        last.jobs.push(LastJob { directory, project: project.to_owned(), id: id.to_owned() });
        let excess = last.jobs.len().saturating_sub(MAX_ENTRIES);
        last.jobs.drain(..excess);
        state::replace(&path, &serde_json::to_vec(&last)?)
    };
    if let Err(error) = written() {
        tracing::debug!(%error, "the last job is not recorded");
    }
}

/// Returns the id of the job that was last submitted from the current directory.
pub(super) fn last_job(project: &str) -> Result<String, Failure> {
    let directory = env::current_dir().map_err(Failure::local)?;
    let jobs = path().map(|path| read(&path)).unwrap_or_default().jobs;
    let found =
        jobs.into_iter().rev().find(|job| job.directory == directory && job.project == project);
    found.map(|job| job.id).ok_or_else(|| {
        #[cfg(unix)]
        if project.ends_with(crate::local_jobs::PROJECT) {
            return Failure::NotFound(
                "@last: no job ran on this machine from this directory; `modelarts ls --local` \
                 lists all jobs"
                    .to_owned(),
            );
        }
        Failure::NotFound(
            "@last: no job of this project was submitted from this directory; `modelarts ls` lists \
             all jobs"
                .to_owned(),
        )
    })
}
