//! Staging of the directories of a job.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use modelarts_ext::{CreateJob, Error, Job, error::Violation, validation::Warning};
use serde_json::{Value, json};

use crate::{
    address::ObsPath,
    staging::{
        StagedDir, Staging,
        code::{Code, Sent},
        data::{Data, DataVersioning},
        key_step, url,
    },
    sync::progress::Progress,
};

/// Extension of [`CreateJob`] with local directories.
pub trait CreateJobExt {
    /// Stages directories for the job: its code and its data are local directories, and its outputs
    /// get new addresses. The module [`staging`](crate::staging) contains an example.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     job: modelarts_ext::CreateJob, staging: modelarts_obs::Staging
    /// # ) -> Result<(), modelarts_ext::Error> {
    /// use modelarts_obs::CreateJobExt;
    ///
    /// let job = job.stage(&staging).code("./src", "train.py").data("data_url", "./images");
    /// println!("{}", job.output("train_url").submit().await?);
    /// # Ok(()) }
    /// ```
    fn stage(self, staging: &Staging) -> StageJob;
}

impl CreateJobExt for CreateJob {
    fn stage(self, staging: &Staging) -> StageJob {
        StageJob {
            job: self,
            staging: staging.clone(),
            code: None,
            excluded: Vec::new(),
            data: Vec::new(),
            versioning: DataVersioning::Auto,
            outputs: Vec::new(),
            has_fixed_outputs: false,
            on_progress: Arc::new(|_, _| {}),
            on_checked: Arc::new(|warnings| {
                for warning in warnings {
                    tracing::warn!(%warning, "the job does not follow a recommendation");
                }
            }),
        }
    }
}

/// Job whose code and data are local directories. The setters do not fail, and no request is sent
/// before [`submit`](Self::submit), [`upload`](Self::upload) or [`dry_run`](Self::dry_run).
#[derive(Clone)]
#[must_use = "nothing is sent before submit()"]
pub struct StageJob {
    job: CreateJob,
    staging: Staging,
    code: Option<(PathBuf, Option<String>)>,
    /// Paths in the code directory that are not sent.
    excluded: Vec<String>,
    data: Vec<(String, PathBuf)>,
    versioning: DataVersioning,
    outputs: Vec<String>,
    /// `true` if the addresses of the outputs depend on the name of the job alone.
    has_fixed_outputs: bool,
    on_progress: OnPart,
    on_checked: OnChecked,
}

/// Function that receives a part and its progress.
type OnPart = Arc<dyn Fn(&StagedPart, &Progress) + Send + Sync>;

/// Function that receives the warnings of the check.
type OnChecked = Arc<dyn Fn(&[Warning]) + Send + Sync>;

/// Part of a job that is uploaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StagedPart {
    /// Code of the job.
    Code,
    /// Data of the input with this name.
    Data(String),
}

impl fmt::Display for StagedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code => f.write_str("code"),
            Self::Data(name) => f.write_str(name),
        }
    }
}

/// Job whose directories were staged in OBS, or compared with OBS in a dry run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StagedJob {
    /// Job with the addresses of its directories. [`CreateJob::submit`] creates it.
    pub job: CreateJob,
    /// Staged code, if the job has any.
    pub code: Option<StagedDir>,
    /// Staged data, with the names of the inputs.
    pub data: Vec<(String, StagedDir)>,
    /// Addresses of the outputs, with their names.
    pub outputs: Vec<(String, ObsPath)>,
}

impl StageJob {
    /// Sets the code directory, and the script in it that the job starts, such as `train.py`. If
    /// `boot_file` is `None`, the job needs a [`command`](CreateJob::command), which finds the code
    /// in `${MA_JOB_DIR}/<name of the directory>`. [`data`](Self::data) directories inside the code
    /// directory are not sent with the code.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     job: modelarts_obs::staging::StageJob
    /// # ) -> Result<(), modelarts_ext::Error> {
    /// // `train.py` starts, and the directory `src/results` is not sent.
    /// let job = job.code("./src", "train.py").exclude("results");
    /// # drop(job);
    /// # Ok(()) }
    /// ```
    pub fn code<'a>(
        mut self,
        directory: impl AsRef<Path>,
        boot_file: impl Into<Option<&'a str>>,
    ) -> Self {
        let boot_file = boot_file.into().map(str::to_owned);
        self.code = Some((directory.as_ref().to_owned(), boot_file));
        self
    }

    /// Leaves out a file or a directory of the code directory, such as results that the program
    /// writes there, unless a line `!NAME` of `.modelartsignore` applies to the file. The path is
    /// relative to the code directory, with slashes.
    pub fn exclude(mut self, path: impl Into<String>) -> Self {
        self.excluded.push(path.into());
        self
    }

    /// Adds an input with the files of a local directory. The script receives
    /// `--<name>=<directory>`. If the job already has an input with this name, for example because
    /// it was copied, the input gets the new address, and keeps its other settings.
    pub fn data(mut self, name: impl Into<String>, directory: impl AsRef<Path>) -> Self {
        let (name, directory) = (name.into(), directory.as_ref().to_owned());
        self.data.retain(|(other, _)| *other != name);
        self.data.push((name, directory));
        self
    }

    /// Sets the handling of data directories that are too large to be versioned by themselves.
    pub fn data_version(mut self, versioning: DataVersioning) -> Self {
        self.versioning = versioning;
        self
    }

    /// Adds an output with a new address. The script receives `--<name>=<directory>`, and
    /// [`JobExt::download_outputs`](crate::JobExt::download_outputs) downloads the files of the
    /// output. If the job already has an output with this name, for example because it was copied,
    /// the output gets the new address, and keeps its other settings.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     job: modelarts_obs::staging::StageJob
    /// # ) -> Result<(), modelarts_ext::Error> {
    /// use modelarts_obs::JobExt;
    ///
    /// let job = job.output("train_url").submit().await?;
    /// job.wait().await?.success()?;
    /// job.download_outputs("./model").await?;
    /// # Ok(()) }
    /// ```
    pub fn output(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.outputs.retain(|other| *other != name);
        self.outputs.push(name);
        self
    }

    /// Gives outputs addresses that depend only on the name of the job, without a random number. The
    /// same job can then be staged again and adopted: `upload().await?.job.submit_or_adopt()`.
    pub fn fixed_outputs(mut self) -> Self {
        self.has_fixed_outputs = true;
        self
    }

    /// Sets the value of a hyperparameter, like [`CreateJob::parameter`].
    pub fn parameter(self, name: impl Into<String>, value: impl fmt::Display) -> Self {
        self.configure(|job| job.parameter(name, value))
    }

    /// Changes the job with any of its setters, such as `configure(|job| job.env("A", "1"))`.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     job: modelarts_obs::staging::StageJob
    /// # ) -> Result<(), modelarts_ext::Error> {
    /// use std::time::Duration;
    ///
    /// let job = job.configure(|job| job.nodes(2).auto_stop(Duration::from_secs(4 * 3600)));
    /// # drop(job);
    /// # Ok(()) }
    /// ```
    pub fn configure(mut self, change: impl FnOnce(CreateJob) -> CreateJob) -> Self {
        self.job = change(self.job);
        self
    }

    /// Sets a function that receives the progress of each directory, with the same items as
    /// [`DirectorySync::stream`](crate::DirectorySync::stream).
    pub fn on_progress(
        mut self,
        function: impl Fn(&StagedPart, &Progress) + Send + Sync + 'static,
    ) -> Self {
        self.on_progress = Arc::new(function);
        self
    }

    /// Sets a function that receives the warnings of the check before any upload, even if there are
    /// none. By default, the warnings are logged.
    pub fn on_checked(mut self, function: impl Fn(&[Warning]) + Send + Sync + 'static) -> Self {
        self.on_checked = Arc::new(function);
        self
    }

    /// Validates the job with its addresses, uploads the files that OBS does not have, and creates
    /// the job exactly once, like [`CreateJob::submit`].
    ///
    /// If the job cannot be created, its code and data remain in OBS, and the next call does not
    /// upload them again.
    ///
    /// # Errors
    /// Returns an error before the upload if the job or its code has violations, which one error
    /// lists, if a directory does not exist or has no files, and if other jobs read data that has
    /// changes. The upload returns the errors of [`Obs::sync_up`](crate::Obs::sync_up), and the
    /// submission those of [`CreateJob::submit`].
    pub async fn submit(self) -> Result<Job, Error> {
        self.upload().await?.job.submit().await
    }

    /// Validates the job and uploads its directories like [`submit`](Self::submit), but does not
    /// create the job.
    ///
    /// # Errors
    /// Returns the errors of [`submit`](Self::submit), except those of the submission.
    pub async fn upload(self) -> Result<StagedJob, Error> {
        self.send(false).await
    }

    /// Validates the job and compares its directories with OBS, without changing objects. The
    /// summaries contain the files that would be uploaded.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     job: modelarts_obs::staging::StageJob
    /// # ) -> Result<(), modelarts_ext::Error> {
    /// let staged = job.dry_run().await?;
    /// for (name, directory) in &staged.data {
    ///     println!("{name}: {} bytes to send", directory.summary.transferred.bytes);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`upload`](Self::upload), except those of the transfers.
    pub async fn dry_run(self) -> Result<StagedJob, Error> {
        self.send(true).await
    }

    async fn send(self, dry_run: bool) -> Result<StagedJob, Error> {
        let (staging, mut job) = (&self.staging, self.job);
        let body = job.body();
        let text = |name: &str| body["metadata"][name].as_str();
        let code = match &self.code {
            None => None,
            Some((directory, boot_file)) => {
                let boot_file = boot_file.as_deref().map(without_dot);
                let mut excluded = data_inside(directory, &self.data);
                excluded.extend(self.excluded.iter().cloned());
                let code = Code::read(staging, directory, boot_file, excluded).await?;
                job = code.set_address(job);
                Some(code)
            }
        };
        let mut data = Vec::new();
        for (name, directory) in &self.data {
            let directory = Data::find(staging, directory, self.versioning).await?;
            let url = url(&directory.path);
            job = set_address(job, "inputs", name, &url)?;
            data.push((name, directory));
        }
        let name = text("name").unwrap_or_default();
        let outputs_root = match self.has_fixed_outputs {
            true => staging.root()?.join(&format!("out/{}", key_step(name)))?,
            false => staging.run_root(name)?,
        };
        let mut outputs = Vec::new();
        for name in &self.outputs {
            let path = outputs_root.join(name)?;
            job = set_address(job, "outputs", name, &url(&path))?;
            outputs.push((name.clone(), path));
        }

        let mut job = job.look_up().await?;
        let mut report = job.check();
        if let Some(code) = &code {
            // Both reports contain the violations of rules on the name of the boot file.
            let mut violations = code.report.violations.clone();
            violations.retain(|new| {
                let same =
                    |known: &Violation| known.field() == new.field() && known.rule() == new.rule();
                !report.violations.iter().any(same)
            });
            report.violations.extend(violations);
            report.warnings.extend(code.report.warnings.clone());
        }
        (self.on_checked)(&report.into_result("the job")?);
        let mut changes = Vec::new();
        for (name, directory) in &data {
            let compared = directory.compare(staging, text("workspace_id"), dry_run).await?;
            job = set_address(job, "inputs", name, &url(&compared.path))?;
            changes.push(compared);
        }

        let mut staged = StagedJob { job, code: None, data: Vec::new(), outputs };
        let on_progress =
            |part: &StagedPart, progress: &Progress| (self.on_progress)(part, progress);
        if let Some(code) = code {
            let on_progress = |progress: &Progress| on_progress(&StagedPart::Code, progress);
            staged.code = Some(match code.send(staging, dry_run, &on_progress).await? {
                Sent::Whole(sent) => sent,
                // The address follows from the contents.
                Sent::Rewritten(_) => {
                    let code = code.read_again(staging).await?;
                    staged.job = code.set_address(staged.job);
                    code.send(staging, dry_run, &on_progress).await?.whole()?
                }
            });
        }
        for ((name, directory), changes) in data.into_iter().zip(changes) {
            let part = StagedPart::Data(name.clone());
            let on_progress = |progress: &Progress| on_progress(&part, progress);
            let sent = directory.send(staging, changes, dry_run, &on_progress).await?;
            staged.data.push((name.clone(), sent));
        }
        Ok(staged)
    }
}

/// Sets the address of an input or an output. Adds the channel if the job does not have it.
fn set_address(job: CreateJob, list: &str, name: &str, url: &str) -> Result<CreateJob, Error> {
    let body = job.body();
    let channels = body["algorithm"][list].as_array();
    let named = |channel: &Value| channel["name"] == name;
    match channels.and_then(|channels| channels.iter().position(named)) {
        Some(index) => {
            let remote = json!({"obs": {"obs_url": url}}).to_string();
            job.set_field(&format!("algorithm.{list}[{index}].remote"), &remote)
        }
        None if list == "inputs" => Ok(job.input(name, url)),
        None => Ok(job.output(name, url)),
    }
}

/// Returns the data directories inside a code directory, as relative paths with slashes. These
/// directories are sent once, as data.
fn data_inside(code: &Path, data: &[(String, PathBuf)]) -> Vec<String> {
    let Ok(code) = code.canonicalize() else {
        return Vec::new();
    };
    let inside = data.iter().filter_map(|(_, directory)| {
        let directory = directory.canonicalize().ok()?;
        let steps: Option<Vec<&str>> =
            directory.strip_prefix(&code).ok()?.iter().map(|step| step.to_str()).collect();
        steps.filter(|steps| !steps.is_empty()).map(|steps| steps.join("/"))
    });
    inside.collect()
}

/// Returns a path without leading `./`.
fn without_dot(path: &str) -> &str {
    let mut path = path;
    while let Some(rest) = path.strip_prefix("./") {
        path = rest.trim_start_matches('/');
    }
    path
}

impl fmt::Debug for StageJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StageJob")
            .field("job", &self.job)
            .field("code", &self.code)
            .field("data", &self.data)
            .field("outputs", &self.outputs)
            .finish_non_exhaustive()
    }
}
