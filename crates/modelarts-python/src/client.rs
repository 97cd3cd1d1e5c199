//! `Client`: the connection to a project.

use std::{collections::HashMap, sync::Arc};

use futures::{StreamExt, TryStreamExt, future, stream};
use modelarts_ext::{
    ClientBuilder, Credentials, Error, Filter, Job,
    client::contexts::Contexts,
    config::{Cloud, Environment},
    types::Phase,
};
use modelarts_obs::Staging;
use pyo3::{
    Bound, PyAny, PyResult, Python,
    exceptions::{PyTypeError, PyValueError},
    pyclass, pymethods,
    types::{PyAnyMethods, PyDict, PyDictMethods},
};
use serde_json::Value;

use crate::{
    convert::{Moment, OneOrMore, Pairs, Span, to_object},
    errors::to_exception,
    job::{PyJob, submission},
    options::Options,
    request::{JobRequest, Source},
    runtime::call,
    settings::Settings,
    stream::Stream,
};

/// Number of jobs of `submit_all` whose directories are sent at the same time.
const CONCURRENT_UPLOADS: usize = 4;

/// Connection to a project. It can be used in several threads.
///
/// Settings come from the arguments, from the context of the tool `modelarts` with the given name,
/// or from the variables and files that the tool reads.
#[pyclass(frozen, name = "Client", module = "modelarts_tools")]
pub(crate) struct PyClient {
    settings: Arc<Settings>,
}

#[pymethods]
impl PyClient {
    #[new]
    #[pyo3(signature = (
        context=None, *, region=None, project_id=None, endpoint=None, cloud=None, access_key=None,
        secret_key=None, security_token=None, token=None, bucket=None, flavor=None, pool=None,
        environment=None, timeout=None, rate_limit=None,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        context: Option<&str>,
        region: Option<String>,
        project_id: Option<String>,
        endpoint: Option<String>,
        cloud: Option<&str>,
        access_key: Option<String>,
        secret_key: Option<String>,
        security_token: Option<String>,
        token: Option<String>,
        bucket: Option<String>,
        flavor: Option<String>,
        pool: Option<String>,
        environment: Option<Pairs<String>>,
        timeout: Option<Span>,
        rate_limit: Option<f64>,
    ) -> PyResult<Self> {
        let raise = |error: Error| to_exception(py, &error);
        let mut builder = ClientBuilder::default()
            .user_agent(concat!("modelarts-tools-python/", env!("CARGO_PKG_VERSION")));
        let (mut flavor, mut pool) = (flavor, pool);
        match (context, environment) {
            (Some(_), Some(_)) => {
                let message = "context and environment must not be given together";
                return Err(PyValueError::new_err(message));
            }
            (Some(name), None) => {
                let path = Contexts::path().map_err(raise)?;
                let contexts = Contexts::read(&path).map_err(raise)?;
                let context = contexts.get(&path, name).map_err(raise)?;
                builder = builder.environment(context.environment(name).map_err(raise)?);
                if flavor.is_none() && pool.is_none() {
                    flavor.clone_from(&context.flavor);
                    pool.clone_from(&context.pool);
                }
            }
            (None, Some(variables)) => {
                let variables: HashMap<_, _> = variables.0.into_iter().collect();
                let environment = Environment::new(move |name| variables.get(name).cloned());
                builder = builder.environment(environment);
            }
            (None, None) => builder = builder.environment(Environment::of_process()),
        }
        type Set = fn(ClientBuilder, String) -> ClientBuilder;
        let texts: [(Option<String>, Set); 3] = [
            (region, |builder, region| builder.region(region)),
            (project_id, |builder, id| builder.project_id(id)),
            (endpoint, |builder, endpoint| builder.endpoint(endpoint)),
        ];
        for (text, set) in texts {
            if let Some(text) = text {
                builder = set(builder, text);
            }
        }
        builder = match cloud {
            None => builder,
            Some("huawei") => builder.cloud(Cloud::Huawei),
            Some("otc") => builder.cloud(Cloud::Otc),
            Some(other) => {
                let message = format!("cloud: {other:?} must be \"huawei\" or \"otc\"");
                return Err(PyValueError::new_err(message));
            }
        };
        builder = match (access_key, secret_key, security_token, token) {
            (None, None, None, None) => builder,
            (Some(key), Some(secret), None, None) => {
                builder.credentials(Credentials::keys(key, secret))
            }
            (Some(key), Some(secret), Some(session), None) => {
                builder.credentials(Credentials::temporary_keys(key, secret, session))
            }
            (None, None, None, Some(token)) => builder.credentials(Credentials::token(token)),
            _ => {
                return Err(PyValueError::new_err(
                    "credentials must be access_key and secret_key, with security_token if they \
                     are temporary, or token alone",
                ));
            }
        };
        if let Some(timeout) = timeout {
            let timeout = timeout.duration("timeout")?;
            builder = builder.timeout(timeout).overall_timeout(timeout);
        }
        if let Some(rate) = rate_limit {
            builder = builder.rate_limit(rate);
        }
        let client = call(py, builder.connect())?;
        let mut staging = Staging::new(&client);
        if let Some(bucket) = bucket {
            staging = staging.bucket(bucket);
        }
        Ok(Self { settings: Arc::new(Settings { client, staging, flavor, pool }) })
    }

    #[getter]
    fn project_id(&self) -> &str {
        self.settings.client.project_id()
    }

    #[getter]
    fn endpoint(&self) -> &str {
        self.settings.client.endpoint()
    }

    #[getter]
    fn region(&self) -> Option<&str> {
        self.settings.client.region()
    }

    /// Returns a job that is not submitted, from the arguments of `submit`. Sends no files.
    #[pyo3(signature = (source, **options))]
    fn prepare(
        &self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<JobRequest> {
        JobRequest::new(py, &Source::read(source)?, &Options::read(options)?, &self.settings)
    }

    /// Submits a job once, also if a response is lost, and returns it.
    ///
    /// The source is a script, whose directory is the code; a code directory, with `boot_file` or
    /// `command`; a job file; the body of a request; or `obs://…/train.py`. The options are name,
    /// description, engine, image, algorithm, flavor, pool, nodes, code_dir, boot_file, command,
    /// data, out, parameters, env, auto_stop, restarts, priority, set, bucket, adopt and token.
    #[pyo3(signature = (source, **options))]
    fn submit(
        &self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyJob> {
        self.prepare(py, source, options)?.submit(py)
    }

    /// Submits jobs of `prepare`, at most `at_most` unfinished ones at a time, and returns their ends.
    #[pyo3(signature = (requests, *, at_most=5, timeout=None))]
    fn submit_all(
        &self,
        requests: &Bound<'_, PyAny>,
        at_most: usize,
        timeout: Option<Span>,
    ) -> PyResult<Stream> {
        let requests = requests.try_iter()?.map(|request| Ok(request?.extract()?));
        let requests = Arc::new(requests.collect::<PyResult<Vec<JobRequest>>>()?);
        let adopts = requests.iter().any(|request| request.adopts);
        if adopts && !requests.iter().all(|request| request.adopts) {
            return Err(PyValueError::new_err("either all requests must have adopt, or none"));
        }
        let timeout = timeout.map(|timeout| timeout.duration("timeout")).transpose()?;
        let jobs = self.settings.client.training_jobs();
        let shared = Arc::clone(&requests);
        let ends = async move {
            let prepared = stream::iter(shared.iter().map(JobRequest::prepared));
            let prepared: Vec<_> = prepared.buffered(CONCURRENT_UPLOADS).collect().await;
            let (mut ready, mut indexes, mut failed) = (Vec::new(), Vec::new(), Vec::new());
            for (index, job) in prepared.into_iter().enumerate() {
                match job {
                    Ok(job) => {
                        ready.push(job);
                        indexes.push(index);
                    }
                    Err(error) => failed.push((index, Err(error))),
                }
            }
            let mut all = jobs.submit_all(ready).at_most(at_most);
            if adopts {
                all = all.adopt_existing();
            }
            if let Some(timeout) = timeout {
                all = all.timeout(timeout);
            }
            let ends = all.stream().map(move |(at, end)| (indexes[at], end));
            stream::iter(failed).chain(ends)
        };
        let settings = Arc::clone(&self.settings);
        let ends = stream::once(ends).flatten().map(Ok).boxed();
        Ok(Stream::new(ends, move |py, (index, end)| {
            requests[index].warn(py)?;
            submission(py, index, requests[index].name(), end, &settings)
        }))
    }

    /// Returns the job with this id or name.
    fn get(&self, py: Python<'_>, job: &str) -> PyResult<PyJob> {
        let jobs = self.settings.client.training_jobs();
        let found = call(py, async {
            match is_id(job) {
                true => jobs.get(job).await,
                false => jobs.get_by_name(job).await,
            }
        })?;
        Ok(PyJob::new(found, &self.settings))
    }

    /// Returns all jobs that meet the conditions, newest first, each once.
    #[pyo3(signature = (
        *, phase=None, name=None, since=None, until=None, user=None, workspace=None,
        oldest_first=false, limit=None,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn list(
        &self,
        phase: Option<OneOrMore>,
        name: Option<String>,
        since: Option<Moment>,
        until: Option<Moment>,
        user: Option<OneOrMore>,
        workspace: Option<String>,
        oldest_first: bool,
        limit: Option<usize>,
    ) -> PyResult<Stream> {
        let mut list = self.settings.client.training_jobs().list();
        if let Some(phases) = phase {
            let phases = phases.into_vec().into_iter().map(|phase| Phase::from(phase).canonical());
            list = list.filter(Filter::phase().is_in(phases));
        }
        if let Some(text) = name {
            list = list.filter(Filter::name().like(text));
        }
        if let Some(users) = user {
            list = list.filter(Filter::user_name().is_in(users.into_vec()));
        }
        if let Some(id) = workspace {
            list = list.workspace(id);
        }
        if oldest_first {
            list = list.oldest_first();
        }
        let until = until.map(|until| until.time("until")).transpose()?;
        let jobs = match (since, until) {
            (None, None) => list.stream(),
            (Some(since), None) => {
                list.filter(Filter::create_time().after(since.time("since")?)).stream()
            }
            (Some(since), Some(until)) => {
                list.filter(Filter::create_time().between(since.time("since")?, until)).stream()
            }
            (None, Some(until)) if oldest_first => list.created_before(until),
            (None, Some(until)) => {
                let is_older = move |job: &Job| job.created_at().is_some_and(|time| time < until);
                list.stream().try_filter(move |job| future::ready(is_older(job))).boxed()
            }
        };
        let jobs = match limit {
            Some(limit) => jobs.take(limit).boxed(),
            None => jobs,
        };
        let settings = Arc::clone(&self.settings);
        Ok(Stream::new(jobs, move |py, job| PyJob::object(py, job, &settings)))
    }

    /// Calls an operation of the API by its name, and returns the JSON of the response.
    #[pyo3(signature = (operation, body=None, **parameters))]
    fn call<'py>(
        &self,
        py: Python<'py>,
        operation: &str,
        body: Option<&Bound<'py, PyAny>>,
        parameters: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let operation = self.operation(py, operation, body, parameters)?;
        let response = call(py, operation.send())?;
        to_object(py, &response.into_inner())
    }

    /// Calls an operation that returns a list, and returns the rows of all its pages.
    #[pyo3(signature = (operation, body=None, **parameters))]
    fn rows<'py>(
        &self,
        py: Python<'py>,
        operation: &str,
        body: Option<&Bound<'py, PyAny>>,
        parameters: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Stream> {
        let operation = self.operation(py, operation, body, parameters)?;
        Ok(Stream::new(operation.list().stream(), |py, row| to_object(py, &row)))
    }

    fn __repr__(&self) -> String {
        format!("Client(endpoint={:?}, project_id={:?})", self.endpoint(), self.project_id())
    }
}

impl PyClient {
    fn operation(
        &self,
        py: Python<'_>,
        name: &str,
        body: Option<&Bound<'_, PyAny>>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<modelarts_ext::operations::OperationCall> {
        let operation = self.settings.client.operation(name);
        let mut operation = operation.map_err(|error| to_exception(py, &error))?;
        if let Some(body) = body {
            let body: Value = pythonize::depythonize(body)
                .map_err(|error| PyTypeError::new_err(format!("body: must be JSON: {error}")))?;
            operation = operation.body(body);
        }
        for (name, value) in parameters.into_iter().flat_map(|given| given.iter()) {
            // JSON writes booleans in lower case.
            let text = match value.extract::<bool>() {
                _ if value.is_none() => continue,
                Ok(boolean) => boolean.to_string(),
                Err(_) => value.str()?.to_string(),
            };
            operation = operation.parameter(name.extract::<String>()?, text);
        }
        Ok(operation)
    }
}

/// Returns `true` for the form of an id, which a name may have, too.
fn is_id(text: &str) -> bool {
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    groups == [8, 4, 4, 4, 12] && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}
