//! `JobRequest`: a job that is not submitted yet.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use modelarts_ext::{CreateJob, Error, ErrorKind, jobs::create::unique_name, validation::Warning};
use modelarts_obs::{
    CreateJobExt,
    staging::{LocalPlaces, StageJob},
};
use pyo3::{
    Bound, PyAny, PyErr, PyResult, Python, pyclass, pymethods,
    types::{PyAnyMethods, PyMapping},
};
use serde_json::Value;

use crate::{
    convert::{records, to_object},
    errors::{invalid, to_exception},
    job::PyJob,
    options::{Options, address, full},
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
    /// The job with placeholders for its code, too.
    shown: CreateJob,
    /// `None` if nothing is on this machine.
    stage: Option<StageJob>,
    warnings: Arc<Mutex<Vec<String>>>,
    /// `true` if an existing job of the same name and content takes the place of a new one.
    pub(crate) adopts: bool,
    settings: Arc<Settings>,
}

/// Source of a job: a script, a directory, a job file, or the body of a request.
pub(crate) enum Source {
    Path(PathBuf),
    Body(Value),
}

impl Source {
    pub(crate) fn read(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        if source.is_instance_of::<PyMapping>() {
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
        let (given, directory) = read(py, source, settings)?;
        let (job, mut places) = LocalPlaces::take(given, &directory).map_err(raise)?;
        let job = set_code(py, source, options, options.apply(job)?, &mut places)?;
        let (job, channels) = options.channels(py, job)?;
        // An option replaces the channel of a file.
        let is_given = |name: &str| {
            channels.data.iter().any(|(other, _)| other == name)
                || channels.outputs.iter().any(|other| other == name)
        };
        places
            .data
            .retain(|input| !is_given(&input.name) && is_unstaged(&job, "inputs", &input.name));
        places.outputs.retain(|name| !is_given(name) && is_unstaged(&job, "outputs", name));
        let mut job = named(py, job, source, options)?;
        let body = job.body();
        let resource = &body["spec"]["resource"];
        if resource["flavor_id"].is_null()
            && resource["pool_id"].is_null()
            && body["tasks"].as_array().is_none_or(Vec::is_empty)
        {
            job = settings.flavor.iter().fold(job, CreateJob::flavor);
            job = settings.pool.iter().fold(job, CreateJob::pool);
        }
        let mut job = options.set_fields(py, job)?;
        let mut channels = channels;
        for input in places.data.drain(..) {
            channels.data.push((input.name, full(&input.directory)));
        }
        channels.outputs.append(&mut places.outputs);
        // Nothing is sent to a place that `set` has changed.
        channels.data.retain(|(name, _)| is_unstaged(&job, "inputs", name));
        channels.outputs.retain(|name| is_unstaged(&job, "outputs", name));
        let body = job.body();
        let code = places.code.filter(|_| body["algorithm"]["code_dir"].is_null());
        let has_script = code.as_ref().is_some_and(|(_, script)| script.is_some());
        if needs_engine(has_script, &body) {
            let (name, version) = call(py, settings.client.newest_engine(DEFAULT_ENGINE))?;
            job = job.preset_image(name, version);
        }
        let is_local = code.is_some() || !channels.data.is_empty() || !channels.outputs.is_empty();
        let warnings = Arc::default();
        let adopts = options.adopt == Some(true);
        let stage = is_local.then(|| {
            let stage = job.clone().stage(&staging(options, settings));
            let stage = code.iter().fold(stage, |stage, (directory, script)| {
                stage.code(full(directory), script.as_deref())
            });
            let data = channels.data.into_iter();
            let stage = data.fold(stage, |stage, (name, path)| stage.data(name, path));
            let stage = channels.outputs.into_iter().fold(stage, StageJob::output);
            let collected = Arc::clone(&warnings);
            let stage = stage.on_checked(move |warnings| collect(&collected, warnings));
            if adopts { stage.fixed_outputs() } else { stage }
        });
        // The body shows placeholders for the code, too.
        let shown = match &code {
            None => job.clone(),
            Some((_, script)) => {
                let job = job.clone().code_dir("obs://staged/code/");
                let script = script.iter();
                script.fold(job, |job, it| job.boot_file(format!("obs://staged/code/{it}")))
            }
        };
        Ok(Self { job, shown, stage, warnings, adopts, settings: Arc::clone(settings) })
    }

    /// Checks the job, and sends its local directories.
    pub(crate) async fn prepared(&self) -> Result<CreateJob, Error> {
        match &self.stage {
            Some(stage) => Ok(stage.clone().upload().await?.job),
            None => self.looked_up().await,
        }
    }

    /// Checks a job that has nothing on this machine, with the settings of the service.
    async fn looked_up(&self) -> Result<CreateJob, Error> {
        let job = self.job.clone().look_up().await?;
        collect(&self.warnings, &job.check().into_result("the job")?);
        Ok(job)
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
    pub(crate) fn name(&self) -> String {
        self.job.body()["metadata"]["name"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the body of the request, with placeholders in place of new addresses.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_object(py, &self.shown.body())
    }

    /// Checks the job without sending anything. Returns the warnings.
    fn check(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        match &self.stage {
            None => drop(call(py, self.looked_up())?),
            Some(stage) => drop(call(py, stage.clone().dry_run())?),
        }
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut *warnings))
    }

    /// Submits the job, as `Client.submit` does.
    pub(crate) fn submit(&self, py: Python<'_>) -> PyResult<PyJob> {
        let job = call(py, self.prepared())?;
        // A warning that is an error prevents the creation.
        self.warn(py)?;
        let job = match self.adopts {
            true => call(py, job.submit_or_adopt())?,
            false => call(py, job.submit())?,
        };
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

/// Reads the job of a file or a body. Returns the directory to which its paths are relative, too.
fn read(py: Python<'_>, source: &Source, settings: &Settings) -> PyResult<(CreateJob, PathBuf)> {
    let jobs = settings.client.training_jobs();
    let (job, directory) = match (source, source.file()) {
        (Source::Body(body), _) => (jobs.from_value(body), Path::new("")),
        (_, Some(file)) => {
            let text = std::fs::read_to_string(file).map_err(|error| {
                let message = format!("cannot read the job in {}: {error}", file.display());
                to_exception(py, &Error::new(ErrorKind::File, message))
            })?;
            let job = match file.extension().is_some_and(|it| it == "json") {
                true => jobs.from_json(&text),
                false => jobs.from_yaml(&text),
            };
            (job, file.parent().unwrap_or(Path::new("")))
        }
        (Source::Path(_), None) => (Ok(jobs.create_unnamed().name("")), Path::new("")),
    };
    Ok((job.map_err(|error| to_exception(py, &error))?, directory.to_owned()))
}

/// Returns `true` if a channel has a placeholder as its address.
fn is_unstaged(job: &CreateJob, list: &str, name: &str) -> bool {
    let body = job.body();
    let channels = body["algorithm"][list].as_array();
    let channel = channels.into_iter().flatten().find(|channel| channel["name"] == name);
    let address = channel.and_then(|channel| channel["remote"]["obs"]["obs_url"].as_str());
    address.is_some_and(|address| address.starts_with("obs://staged/"))
}

/// Gives an unnamed job the name of its script, with a random suffix.
fn named(
    py: Python<'_>,
    job: CreateJob,
    source: &Source,
    options: &Options,
) -> PyResult<CreateJob> {
    let body = job.body();
    let is_named = body["metadata"]["name"].as_str().is_some_and(|name| !name.is_empty());
    if is_named || options.name.is_some() {
        return Ok(job);
    }
    let option = match (options.adopt, &options.token) {
        (Some(true), _) => Some("adopt"),
        (_, Some(_)) => Some("token"),
        _ => None,
    };
    if let Some(option) = option {
        return Err(invalid(py, format!("{option}: the job must have a name; give name")));
    }
    let stem = match source {
        Source::Path(path) => {
            let path = path.canonicalize().unwrap_or_else(|_| path.clone());
            path.file_stem().map(|stem| stem.to_string_lossy().into_owned())
        }
        Source::Body(_) => None,
    };
    Ok(job.name(unique_name(stem.as_deref().unwrap_or_default())))
}

/// Returns `true` if the job starts a script, and no engine, image or algorithm is given.
fn needs_engine(has_local_script: bool, body: &Value) -> bool {
    let algorithm = &body["algorithm"];
    let has = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let engine = &algorithm["engine"];
    (has_local_script || has(&algorithm["boot_file"]))
        && !["engine_id", "engine_name", "image_url"].iter().any(|field| has(&engine[*field]))
        && !has(&algorithm["id"])
        && !has(&algorithm["subscription_id"])
}

/// Sets the code of a script, a directory or the options. Local code is set in `places`.
fn set_code(
    py: Python<'_>,
    source: &Source,
    options: &Options,
    job: CreateJob,
    places: &mut LocalPlaces,
) -> PyResult<CreateJob> {
    let wrong = |message: String| -> PyErr { invalid(py, message) };
    let remote_dir = options.code_dir.as_deref().and_then(address);
    let below = |directory: &str, file: &str| format!("{}/{file}", directory.trim_end_matches('/'));
    let path = match (source, source.file()) {
        (Source::Path(path), None) => path,
        // The options replace the code of a file or a body.
        _ => {
            let body = job.body();
            let of_file = match &places.code {
                Some((_, script)) => script.clone(),
                None => body["algorithm"]["boot_file"].as_str().map(str::to_owned),
            };
            let boot_file = options.boot_file.clone().or(of_file);
            return Ok(match (remote_dir, &options.code_dir, &options.boot_file) {
                (Some(directory), ..) => {
                    places.code = None;
                    let job = job.code_dir(&directory);
                    let script = boot_file.iter();
                    script.fold(job, |job, script| job.boot_file(below(&directory, script)))
                }
                (None, Some(directory), _) => {
                    places.code = Some((directory.clone(), boot_file));
                    job.without_field("algorithm.code_dir").without_field("algorithm.boot_file")
                }
                (None, None, Some(script)) => match &mut places.code {
                    Some((_, of_file)) => {
                        *of_file = Some(script.clone());
                        job
                    }
                    None => {
                        let directory = body["algorithm"]["code_dir"].as_str().unwrap_or_default();
                        job.boot_file(below(directory, script))
                    }
                },
                (None, None, None) => job,
            });
        }
    };
    let shown = path.display();
    if path.is_dir() {
        if options.code_dir.is_some() {
            return Err(wrong(format!("code_dir must not be given with the directory {shown}")));
        }
        if options.boot_file.is_none() && options.command.is_none() {
            return Err(wrong(format!(
                "{shown} is a directory; boot_file must name the script in it, or command the \
                 command"
            )));
        }
        places.code = Some((path.clone(), options.boot_file.clone()));
        return Ok(job);
    }
    if options.boot_file.is_some() {
        return Err(wrong(format!("boot_file must not be given with the script {shown}")));
    }
    if let Some(script) = address(path) {
        let parent = script.rsplit_once('/').map_or(script.as_str(), |(parent, _)| parent);
        let code_dir = match (&options.code_dir, remote_dir) {
            (_, Some(directory)) => directory,
            (None, None) => format!("{parent}/"),
            (Some(_), None) => {
                return Err(wrong(format!("code_dir must be an address, because {script} is one")));
            }
        };
        return Ok(job.code_dir(code_dir).boot_file(script));
    }
    if let (Some(directory), Some(script)) = (&remote_dir, path.to_str()) {
        return Ok(job.code_dir(directory).boot_file(below(directory, script)));
    }
    if !path.is_file() {
        return Err(wrong(format!("the script {shown} does not exist; check the path")));
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = options.code_dir.as_deref().or(parent).unwrap_or(Path::new("."));
    let script = path.canonicalize()?;
    let script = directory.canonicalize().ok().and_then(|directory| {
        let steps = script.strip_prefix(directory).ok()?.iter().map(|step| step.to_str());
        Some(steps.collect::<Option<Vec<&str>>>()?.join("/"))
    });
    let script = script.ok_or_else(|| {
        let directory = directory.display();
        wrong(format!("the script {shown} must be in the code directory {directory}, in UTF-8"))
    })?;
    // A command starts the script itself.
    let boot_file = options.command.is_none().then_some(script);
    places.code = Some((directory.to_owned(), boot_file));
    Ok(job)
}
