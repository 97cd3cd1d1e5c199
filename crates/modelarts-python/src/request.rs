//! `JobRequest`: a job that is not submitted yet.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use modelarts_ext::{CreateJob, Error, Job, jobs::create::unique_name, validation::Warning};
use modelarts_obs::{
    CreateJobExt,
    staging::{LocalPlaces, StageJob},
};
use pyo3::{
    Bound, PyAny, PyErr, PyResult, Python, pyclass, pymethods,
    types::{PyAnyMethods, PyDict},
};
use serde_json::Value;

use crate::{
    convert::{records, to_object},
    errors::to_exception,
    job::PyJob,
    options::{Options, address, invalid},
    runtime::call,
    settings::Settings,
};

/// Engine of a script for which none is given.
const DEFAULT_ENGINE: &str = "PyTorch";

/// Job that is not submitted yet, from `Client.prepare`.
#[pyclass(frozen, module = "modelarts_tools", from_py_object)]
#[derive(Clone)]
pub(crate) struct JobRequest {
    /// The job, with placeholders in place of the addresses of local directories.
    job: CreateJob,
    /// `None` if nothing is on this machine.
    stage: Option<StageJob>,
    warnings: Arc<Mutex<Vec<String>>>,
    adopts: bool,
    settings: Arc<Settings>,
}

/// Source of a job: a script, a directory, a job file, or the body of a request.
pub(crate) enum Source {
    Path(PathBuf),
    Body(Value),
}

impl Source {
    pub(crate) fn read(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        if source.is_instance_of::<PyDict>() {
            return Ok(Self::Body(pythonize::depythonize(source)?));
        }
        Ok(Self::Path(source.extract()?))
    }

    /// Returns the path of a job file.
    fn file(&self) -> Option<&Path> {
        let Self::Path(path) = self else {
            return None;
        };
        let extension = path.extension()?.to_str()?;
        ["yaml", "yml", "json"].contains(&extension).then_some(path)
    }
}

impl JobRequest {
    pub(crate) fn new(
        py: Python<'_>,
        source: &Source,
        options: &Options,
        settings: &Arc<Settings>,
    ) -> PyResult<Self> {
        let raise = |error: Error| to_exception(py, &error);
        let jobs = settings.client.training_jobs();
        let mut directory = Path::new("");
        let given = match (source, source.file()) {
            (Source::Body(body), _) => jobs.from_value(body).map_err(raise)?,
            (_, Some(file)) => {
                directory = file.parent().unwrap_or(directory);
                let text = std::fs::read_to_string(file)?;
                let job = match file.extension().is_some_and(|it| it == "json") {
                    true => jobs.from_json(&text),
                    false => jobs.from_yaml(&text),
                };
                job.map_err(raise)?
            }
            (Source::Path(_), None) => jobs.create_unnamed().name(""),
        };
        let (job, mut places) = LocalPlaces::take(given, directory).map_err(raise)?;
        let mut job = options.set(py, job)?;
        if let (Source::Path(path), None) = (source, source.file()) {
            (job, places.code) = code(py, path, options, job)?;
        }
        let (job, data, outputs) = options.channels(job);
        let mut job = named(job, source);
        let body = job.body();
        let resource = &body["spec"]["resource"];
        if resource["flavor_id"].is_null()
            && resource["pool_id"].is_null()
            && body["tasks"].is_null()
        {
            job = match (&settings.flavor, &settings.pool) {
                (Some(flavor), _) => job.flavor(flavor),
                (None, Some(pool)) => job.pool(pool),
                (None, None) => job,
            };
        }
        if needs_engine(&places, options, &body) {
            let newest = settings.client.newest_engine(DEFAULT_ENGINE);
            let (name, version) = call(py, newest)?;
            job = job.preset_image(name, version);
        }
        let is_local = places.code.is_some()
            || !(places.data.is_empty() && places.outputs.is_empty())
            || !(data.is_empty() && outputs.is_empty());
        let warnings = Arc::default();
        let stage = is_local.then(|| {
            let stage = job.clone().stage(&staging(options, settings)).local_places(places);
            let stage = data.into_iter().fold(stage, |stage, (name, path)| stage.data(name, path));
            let stage = outputs.into_iter().fold(stage, StageJob::output);
            let collected = Arc::clone(&warnings);
            let stage = stage.on_checked(move |warnings| collect(&collected, warnings));
            if options.adopt == Some(true) { stage.fixed_outputs() } else { stage }
        });
        let adopts = options.adopt == Some(true);
        Ok(Self { job, stage, warnings, adopts, settings: Arc::clone(settings) })
    }

    /// Checks the job, and sends its local directories.
    pub(crate) async fn prepared(&self) -> Result<CreateJob, Error> {
        match &self.stage {
            Some(stage) => Ok(stage.clone().upload().await?.job),
            None => Ok(self.job.clone()),
        }
    }

    async fn create(&self) -> Result<Job, Error> {
        let job = self.prepared().await?;
        match self.adopts {
            true => job.submit_or_adopt().await,
            false => job.submit().await,
        }
    }

    /// Shows the warnings of the check as warnings of Python.
    pub(crate) fn warn(&self, py: Python<'_>) -> PyResult<()> {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        let warnings = std::mem::take(&mut *warnings);
        if !warnings.is_empty() {
            records(py)?.getattr("warn")?.call1((warnings,))?;
        }
        Ok(())
    }
}

#[pymethods]
impl JobRequest {
    #[getter]
    fn name(&self) -> String {
        self.job.body()["metadata"]["name"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the body of the request, with placeholders in place of new addresses.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_object(py, &self.job.body())
    }

    /// Checks the job without sending anything. Returns the warnings.
    fn check(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let warnings = match &self.stage {
            None => call(py, async {
                self.job.clone().look_up().await?.check().into_result("the job")
            })?,
            Some(stage) => {
                call(py, stage.clone().dry_run())?;
                let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
                return Ok(std::mem::take(&mut *warnings));
            }
        };
        Ok(warnings.iter().map(Warning::to_string).collect())
    }

    /// Submits the job, as `Client.submit` does.
    pub(crate) fn submit(&self, py: Python<'_>) -> PyResult<PyJob> {
        let job = call(py, self.create())?;
        self.warn(py)?;
        Ok(PyJob::new(job, &self.settings))
    }

    fn __repr__(&self) -> String {
        format!("JobRequest(name={:?})", self.name())
    }
}

fn collect(collected: &Mutex<Vec<String>>, warnings: &[Warning]) {
    let mut collected = collected.lock().unwrap_or_else(PoisonError::into_inner);
    *collected = warnings.iter().map(Warning::to_string).collect();
}

fn staging(options: &Options, settings: &Settings) -> modelarts_obs::Staging {
    match &options.bucket {
        Some(bucket) => settings.staging.clone().bucket(bucket),
        None => settings.staging.clone(),
    }
}

/// Gives an unnamed job the name of its script, with a random suffix.
fn named(job: CreateJob, source: &Source) -> CreateJob {
    let body = job.body();
    if body["metadata"]["name"].as_str().is_some_and(|name| !name.is_empty()) {
        return job;
    }
    let stem = match source {
        Source::Path(path) => {
            let path = path.canonicalize().unwrap_or_else(|_| path.clone());
            path.file_stem().map(|stem| stem.to_string_lossy().into_owned())
        }
        Source::Body(_) => None,
    };
    job.name(unique_name(stem.as_deref().unwrap_or_default()))
}

/// Returns `true` if the job starts a script, and no engine, image or algorithm is given.
fn needs_engine(places: &LocalPlaces, options: &Options, body: &Value) -> bool {
    let algorithm = &body["algorithm"];
    let has = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let has_script = places.code.as_ref().is_some_and(|(_, script)| script.is_some())
        || has(&algorithm["boot_file"]);
    let engine = &algorithm["engine"];
    has_script
        && !options.has_engine()
        && !["engine_id", "engine_name", "image_url"].iter().any(|field| has(&engine[*field]))
        && !has(&algorithm["id"])
        && !has(&algorithm["subscription_id"])
}

type LocalCode = Option<(PathBuf, Option<String>)>;

/// Sets the code of a script or of a directory. Returns the local code.
fn code(
    py: Python<'_>,
    path: &Path,
    options: &Options,
    job: CreateJob,
) -> PyResult<(CreateJob, LocalCode)> {
    let wrong = |message: String| -> PyErr { invalid(py, message) };
    if let Some(script) = address(path) {
        let parent = script.rsplit_once('/').map_or(script, |(parent, _)| parent);
        let code_dir = options.code_dir.as_deref().and_then(address);
        let code_dir = code_dir.map_or_else(|| format!("{parent}/"), str::to_owned);
        return Ok((job.code_dir(code_dir).boot_file(script), None));
    }
    let shown = path.display();
    if path.is_dir() {
        if options.boot_file.is_none() && options.command.is_none() {
            return Err(wrong(format!(
                "{shown} is a directory; boot_file must name the script in it, or command the command"
            )));
        }
        return Ok((job, Some((path.to_owned(), options.boot_file.clone()))));
    }
    if !path.is_file() {
        return Err(wrong(format!("the script {shown} does not exist; check the path")));
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = options.code_dir.as_deref().or(parent).unwrap_or(Path::new("."));
    let below = path.canonicalize()?;
    let below = below.strip_prefix(directory.canonicalize()?).map_err(|_| {
        wrong(format!("the script {shown} must be in the code directory {}", directory.display()))
    })?;
    let steps: Option<Vec<&str>> = below.iter().map(|step| step.to_str()).collect();
    let script = steps.ok_or_else(|| wrong(format!("{shown}: the path must be UTF-8")))?;
    // A command starts the script itself.
    let boot_file = options.command.is_none().then(|| script.join("/"));
    Ok((job, Some((directory.to_owned(), boot_file))))
}
