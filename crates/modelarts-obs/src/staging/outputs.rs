//! Download of the outputs of a job.

use std::{
    fmt,
    future::IntoFuture,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use futures::future::BoxFuture;
use modelarts_ext::{Client, Error, ErrorKind, Job, JobHandle};
use parking_lot::Mutex;

use crate::{
    address::{ObsPath, invalid},
    obs::Obs,
    staging::run,
    sync::progress::{Progress, Summary, SyncEvent},
};

/// Extension of [`Job`] and [`JobHandle`] with the download of outputs.
pub trait JobExt {
    /// Downloads the outputs of the job to subdirectories of a directory: the files of the output
    /// `train_url` to `<directory>/train_url/`. Existing files with the same contents are not
    /// downloaded again.
    ///
    /// The service copies an output to OBS while the job runs and after it has ended. For a job
    /// that has not ended, the files that are in OBS at the time of the call are downloaded. If the
    /// service replaces a file during its download, the call fails, and the next call continues.
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::Job) -> Result<(), modelarts_ext::Error> {
    /// use modelarts_obs::JobExt;
    ///
    /// for output in job.download_outputs("./out").await? {
    ///     let files = output.summary.transferred.files;
    ///     println!("{}: {files} files in {}", output.name, output.directory.display());
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Obs::sync_down`], and an error if the job does not exist or the name
    /// of an output is not a valid directory name. An output without files is not an error.
    fn download_outputs(&self, directory: impl AsRef<Path>) -> DownloadOutputs;
}

impl JobExt for JobHandle {
    /// Reads the job first, because a handle does not contain the outputs.
    fn download_outputs(&self, directory: impl AsRef<Path>) -> DownloadOutputs {
        DownloadOutputs::new(self, None, directory.as_ref())
    }
}

impl JobExt for Job {
    fn download_outputs(&self, directory: impl AsRef<Path>) -> DownloadOutputs {
        DownloadOutputs::new(self, Some(self), directory.as_ref())
    }
}

/// Download of the outputs of a job. Awaiting it returns a [`DownloadedOutput`] for each output.
#[derive(Clone)]
#[must_use = "nothing is received unless it is awaited"]
pub struct DownloadOutputs {
    handle: JobHandle,
    /// Job with its outputs, or `None` if the job must be read first.
    job: Option<Job>,
    directory: PathBuf,
    obs: Option<Obs>,
    only: Option<String>,
    on_progress: OnOutput,
}

/// Function that receives the name of an output and its progress.
type OnOutput = Arc<dyn Fn(&str, &Progress) + Send + Sync>;

/// Output that was downloaded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DownloadedOutput {
    /// Name of the output, such as `train_url`.
    pub name: String,
    /// Address of the objects of the output.
    pub path: ObsPath,
    /// Local directory. It is not created if the output has no files.
    pub directory: PathBuf,
    /// Files that were downloaded, and files that already existed with the same contents.
    pub summary: Summary,
    /// Reason why files are missing. Only [`DownloadOutputs::each`] returns such outputs.
    pub error: Option<Error>,
}

impl DownloadOutputs {
    fn new(handle: &JobHandle, job: Option<&Job>, directory: &Path) -> Self {
        Self {
            handle: handle.clone(),
            job: job.cloned(),
            directory: directory.to_owned(),
            obs: None,
            only: None,
            on_progress: Arc::new(|_, _| {}),
        }
    }

    /// Downloads only the output with this name, which must exist.
    pub fn only(mut self, name: impl Into<String>) -> Self {
        self.only = Some(name.into());
        self
    }

    /// Sets the connection to OBS. Default: [`Obs::new`] with the client of the job.
    pub fn obs(mut self, obs: Obs) -> Self {
        self.obs = Some(obs);
        self
    }

    /// Sets a function that receives the name of an output and its progress, with the same items as
    /// [`DirectorySync::stream`](crate::DirectorySync::stream).
    pub fn on_progress(
        mut self,
        function: impl Fn(&str, &Progress) + Send + Sync + 'static,
    ) -> Self {
        self.on_progress = Arc::new(function);
        self
    }

    async fn download(self) -> Result<Vec<DownloadedOutput>, Error> {
        let outputs = self.each().await?;
        match outputs.iter().find_map(|output| output.error.clone()) {
            None => Ok(outputs),
            Some(error) => Err(error),
        }
    }

    /// Downloads as awaiting does, but also returns outputs that lack files, each with the reason.
    /// A file that cannot be written does not affect the others; the function of
    /// [`on_progress`](Self::on_progress) receives it as
    /// [`SyncEvent::Failed`](crate::SyncEvent::Failed).
    ///
    /// # Errors
    /// Returns an error before the first download: if the job does not exist, or an output has no
    /// valid name.
    pub async fn each(self) -> Result<Vec<DownloadedOutput>, Error> {
        let client: &Client = self.handle.client();
        let obs = self.obs.map_or_else(|| Obs::new(client), Ok)?;
        let job = match self.job {
            Some(job) => job,
            None => self.handle.get().await?,
        };
        let mut outputs = Vec::new();
        for (name, url) in job.outputs() {
            if self.only.as_deref().is_none_or(|only| only == name) {
                let directory = self.directory.join(directory_name(name)?);
                outputs.push((name, url.parse::<ObsPath>()?, directory));
            }
        }
        if let (Some(only), true) = (&self.only, outputs.is_empty()) {
            return Err(no_such_output(&job, only));
        }
        let mut downloaded = Vec::new();
        for (name, path, directory) in outputs {
            let sync = obs.sync_down(path.to_string(), &directory);
            let summary = Mutex::new(None);
            let on_progress = |progress: &Progress| {
                if let SyncEvent::Finished(end) = &progress.event {
                    *summary.lock() = Some(end.clone());
                }
                (self.on_progress)(name, progress);
            };
            let error = match run(sync, &on_progress).await {
                Err(error) if error.is_not_found() && error.code() == Some("NoSuchBucket") => {
                    Some(error)
                }
                // The output has no files.
                Err(error) if error.is_not_found() && summary.lock().is_none() => None,
                received => received.err(),
            };
            let (name, summary) = (name.to_owned(), summary.into_inner().unwrap_or_default());
            downloaded.push(DownloadedOutput { name, path, directory, summary, error });
        }
        Ok(downloaded)
    }
}

impl IntoFuture for DownloadOutputs {
    type Output = Result<Vec<DownloadedOutput>, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.download())
    }
}

impl fmt::Debug for DownloadOutputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DownloadOutputs")
            .field("job", &self.handle)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// Returns the name of an output, or an error if the name is not a valid directory name.
fn directory_name(name: &str) -> Result<&str, Error> {
    let mut components = Path::new(name).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(step)), None) if step == name => Ok(name),
        _ => Err(invalid(format!(
            "the output {name:?} cannot be received, because its name must be that of a directory"
        ))
        .with_advice(Some("receive its objects with Obs::sync_down".to_owned()))),
    }
}

fn no_such_output(job: &Job, name: &str) -> Error {
    let names: Vec<_> = job.outputs().map(|(name, _)| name).collect();
    let advice = match names.as_slice() {
        [] => "the job has no outputs".to_owned(),
        names => format!("choose one of its outputs: {}", names.join(", ")),
    };
    let job = job.name();
    let message = format!("the job {job} has no output named {name:?}");
    Error::new(ErrorKind::NotFound, message).with_advice(Some(advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_out_are_refused() {
        for name in ["train_url", "a b", ".hidden"] {
            assert_eq!(directory_name(name).unwrap(), name);
        }
        for name in ["", "..", ".", "a/b", "/a", "a/"] {
            assert!(directory_name(name).is_err(), "{name:?}");
        }
    }
}
