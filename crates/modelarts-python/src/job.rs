//! `Job`: a job with the details of one response, and its calls.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt, TryStreamExt, stream};
use modelarts_ext::{
    Error, Job, LogItem, Outcome,
    jobs::{
        follow::JobUpdate,
        logs::Logs,
        wait::{Wait, Waited},
    },
    pagination::PageStream,
};
use modelarts_obs::JobExt;
use pyo3::{
    Bound, IntoPyObject, Py, PyAny, PyResult, Python, pyclass, pymethods,
    types::{PyAnyMethods, PyDict, PyDictMethods},
};
use serde_json::Value;

use crate::{
    convert::{OneOrMore, Span, datetime, record, to_dict, to_object},
    errors::to_exception,
    records::{event_record, line_record, number_record},
    runtime::{call, call_async},
    settings::Settings,
    stream::Stream,
};

/// Training job, as one response described it. `refresh` reads it again.
#[pyclass(frozen, name = "Job", module = "modelarts_tools")]
#[derive(Clone)]
pub(crate) struct PyJob {
    job: Job,
    settings: Arc<Settings>,
}

impl PyJob {
    pub(crate) fn new(job: Job, settings: &Arc<Settings>) -> Self {
        Self { job, settings: Arc::clone(settings) }
    }

    /// Returns the job as a value of Python.
    pub(crate) fn object<'py>(
        py: Python<'py>,
        job: Job,
        settings: &Arc<Settings>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Ok(Self::new(job, settings).into_pyobject(py)?.into_any())
    }

    fn start_wait(&self, timeout: Option<Span>) -> PyResult<Wait> {
        let wait = self.job.wait();
        Ok(match timeout {
            Some(timeout) => wait.timeout(timeout.duration("timeout")?),
            None => wait,
        })
    }

    fn text(&self, pointer: &str) -> Option<String> {
        let details = serde_json::to_value(&self.job).ok()?;
        Some(details.pointer(pointer)?.as_str()?.to_owned())
    }

    /// Returns the log of a task. Without a task, that of the first one.
    fn log(&self, task: Option<&str>, tail: Option<usize>) -> Logs {
        let first = self.job.tasks().first().map_or("worker-0", String::as_str);
        let logs = self.job.logs(task.unwrap_or(first));
        match tail {
            Some(lines) => logs.tail_lines(lines),
            None => logs,
        }
    }
}

#[pymethods]
impl PyJob {
    #[getter]
    fn id(&self) -> &str {
        self.job.id()
    }

    #[getter]
    fn name(&self) -> &str {
        self.job.name()
    }

    #[getter]
    fn phase(&self) -> String {
        self.job.phase().to_string()
    }

    #[getter]
    fn is_final(&self) -> bool {
        self.job.is_final()
    }

    #[getter]
    fn created_at(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        datetime(py, self.job.created_at())
    }

    #[getter]
    fn started_at(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        datetime(py, self.job.started_at())
    }

    #[getter]
    fn time_queued(&self) -> Option<Duration> {
        self.job.time_queued()
    }

    #[getter]
    fn time_run(&self) -> Option<Duration> {
        self.job.time_run()
    }

    #[getter]
    fn card_hours(&self) -> Option<f64> {
        self.job.card_hours()
    }

    #[getter]
    fn flavor(&self) -> Option<String> {
        self.text("/spec/resource/flavor_id")
    }

    #[getter]
    fn user(&self) -> Option<String> {
        self.text("/metadata/user_name")
    }

    #[getter]
    fn tasks(&self) -> Vec<String> {
        self.job.tasks().to_vec()
    }

    #[getter]
    fn exit_codes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let codes = PyDict::new(py);
        for (task, code) in self.job.exit_codes() {
            codes.set_item(task, code)?;
        }
        Ok(codes)
    }

    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let outputs = PyDict::new(py);
        for (name, given) in self.job.outputs() {
            // The service writes `/bucket/key`, too, which could be a path of this machine.
            let address = given.strip_prefix('/').map(|rest| format!("obs://{rest}"));
            outputs.set_item(name, address.as_deref().unwrap_or(given))?;
        }
        Ok(outputs)
    }

    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let parameters = PyDict::new(py);
        let algorithm = self.job.details().algorithm.as_ref();
        for parameter in algorithm.into_iter().flat_map(|algorithm| &algorithm.parameters) {
            if let Some(name) = &parameter.name {
                parameters.set_item(name, to_object(py, &parameter.value)?)?;
            }
        }
        Ok(parameters)
    }

    /// Returns the body of the response, with all fields of the service.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match serde_json::from_slice::<Value>(self.job.raw()) {
            Ok(body) => to_object(py, &body),
            Err(_) => to_object(py, &self.job),
        }
    }

    /// Reads the job again.
    fn refresh(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::new(call(py, self.job.get())?, &self.settings))
    }

    /// Waits for the end of the job, at most `timeout`. With `check`, raises an exception unless the
    /// job completed.
    #[pyo3(signature = (timeout=None, *, check=false))]
    fn wait<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<Span>,
        check: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let waited = call(py, self.start_wait(timeout)?.into_future())?;
        checked_end(py, &waited, &self.settings, check)
    }

    /// Waits in asyncio, see `wait`.
    #[pyo3(signature = (timeout=None, *, check=false))]
    fn wait_async<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<Span>,
        check: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let wait = self.start_wait(timeout)?.into_future();
        let settings = Arc::clone(&self.settings);
        call_async(py, wait, move |py, waited| checked_end(py, &waited, &settings, check))
    }

    /// Returns phases, events and log lines, from the beginning to the end of the job.
    #[pyo3(signature = (*, logs=true, tail=None))]
    fn follow(&self, logs: bool, tail: Option<usize>) -> Stream {
        let mut updates = self.job.updates().report_interruptions();
        if !logs {
            updates = updates.without_logs();
        }
        if let Some(lines) = tail {
            updates = updates.tail_lines(lines);
        }
        let settings = Arc::clone(&self.settings);
        Stream::new(updates.follow(), move |py, update| update_record(py, update, &settings))
    }

    /// Returns the events, oldest first; with `follow`, also those to come, until the end.
    #[pyo3(signature = (*, follow=false))]
    fn events(&self, follow: bool) -> Stream {
        let events = match follow {
            true => self.job.events().follow(),
            false => self.job.events().stream(),
        };
        Stream::new(events, |py, event| event_record(py, &event))
    }

    /// Returns the lines of a task; with `follow`, also those to come, until the end.
    #[pyo3(signature = (task=None, *, follow=false, tail=None))]
    fn logs(&self, task: Option<&str>, follow: bool, tail: Option<usize>) -> Stream {
        let log = self.log(task, tail);
        let items = match (follow, tail) {
            (true, _) => log.follow(),
            (false, None) => log.stream(),
            (false, Some(lines)) => last_lines(log, lines),
        };
        Stream::new(items, |py, item| line_record(py, &item))
    }

    /// Returns the numbers in the log that a regular expression finds.
    #[pyo3(signature = (regex, task=None, *, follow=false))]
    fn values(
        &self,
        py: Python<'_>,
        regex: &str,
        task: Option<&str>,
        follow: bool,
    ) -> PyResult<Stream> {
        let values = self.log(task, None).values(regex);
        let values = values.map_err(|error| to_exception(py, &error))?;
        let numbers = if follow { values.follow() } else { values.stream() };
        Ok(Stream::new(numbers, |py, number| number_record(py, &number)))
    }

    /// Returns the usage of the machine of a task, in percent for each minute.
    #[pyo3(signature = (task=None))]
    fn metrics<'py>(
        &self,
        py: Python<'py>,
        task: Option<&str>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let series = call(py, self.job.metrics(task.unwrap_or("worker-0")))?;
        let records = series.iter().map(|series| {
            let points =
                series.points().map(|(time, value)| Ok((datetime(py, Some(time))?, value)));
            let fields = PyDict::new(py);
            fields.set_item("metric", series.metric())?;
            fields.set_item("points", points.collect::<PyResult<Vec<_>>>()?)?;
            record(py, "MetricSeries", &fields)
        });
        records.collect()
    }

    /// Returns why the job failed, was stopped or waits, with evidence and advice.
    fn explain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let diagnosis = call(py, self.job.explain())?;
        let fields = to_dict(py, &diagnosis)?;
        fields.set_item("text", diagnosis.to_string())?;
        record(py, "Diagnosis", &fields)
    }

    /// Stops the job, whose end `wait` returns.
    fn stop(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::new(call(py, self.job.terminate())?, &self.settings))
    }

    /// Deletes the job with its events and logs. Outputs in OBS remain.
    fn delete(&self, py: Python<'_>) -> PyResult<()> {
        call(py, self.job.delete())
    }

    /// Downloads the outputs to `directory/NAME`, except files that are there already.
    #[pyo3(signature = (directory, outputs=None))]
    fn download<'py>(
        &self,
        py: Python<'py>,
        directory: PathBuf,
        outputs: Option<OneOrMore>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let all = self.job.download_outputs(directory);
        let downloads = match outputs.map(OneOrMore::into_vec) {
            None => vec![all],
            Some(names) => names.into_iter().map(|name| all.clone().only(name)).collect(),
        };
        let mut records = Vec::new();
        for download in downloads {
            for output in call(py, download.into_future())? {
                let summary = &output.summary;
                let fields = PyDict::new(py);
                fields.set_item("name", output.name)?;
                fields.set_item("address", output.path.to_string())?;
                fields.set_item("directory", output.directory)?;
                fields.set_item("files", summary.transferred.files + summary.unchanged.files)?;
                fields.set_item("bytes", summary.transferred.bytes + summary.unchanged.bytes)?;
                records.push(record(py, "Output", &fields)?);
            }
        }
        Ok(records)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().job.id() == self.job.id())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.job.id().hash(&mut hasher);
        hasher.finish()
    }

    /// A job does not change, so `dataclasses.asdict` of a record may keep it.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __repr__(&self) -> String {
        let (id, name, phase) = (self.job.id(), self.job.name(), self.job.phase());
        format!("Job(name={name:?}, id={id:?}, phase='{phase}')")
    }

    fn __str__(&self) -> String {
        self.job.to_string()
    }
}

/// Returns the last lines that a log has now. Reads the whole log only if its end has fewer lines.
fn last_lines(log: Logs, count: usize) -> PageStream<LogItem> {
    let read = async move {
        let end = log.end().await?;
        let lines: Vec<&str> = end.text.lines().collect();
        let mut items: Vec<LogItem> = match end.is_whole || lines.len() > count {
            true => lines.iter().map(|line| LogItem::Line((*line).to_owned())).collect(),
            false => log.stream().try_collect().await?,
        };
        items.drain(..items.len().saturating_sub(count));
        Ok(stream::iter(items.into_iter().map(Ok)))
    };
    stream::once(read).try_flatten().boxed()
}

fn checked_end<'py>(
    py: Python<'py>,
    waited: &Waited,
    settings: &Arc<Settings>,
    check: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let end = end(py, waited, settings)?;
    match check {
        true => end.call_method0("check"),
        false => Ok(end),
    }
}

/// Returns the record of the end of a wait.
pub(crate) fn end<'py>(
    py: Python<'py>,
    waited: &Waited,
    settings: &Arc<Settings>,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = to_dict(py, waited.outcome())?;
    if let Some(limit) = fields.get_item("limit_seconds")? {
        fields.set_item("limit", Duration::try_from_secs_f64(limit.extract()?).ok())?;
        fields.del_item("limit_seconds")?;
    }
    fields.set_item("text", waited.outcome().to_string())?;
    fields.set_item("job", PyJob::object(py, waited.job().clone(), settings)?)?;
    let events = waited.last_events().iter().map(|event| event_record(py, event));
    fields.set_item("last_events", events.collect::<PyResult<Vec<_>>>()?)?;
    fields.set_item("last_lines", waited.last_lines())?;
    if *waited.outcome() != Outcome::Completed {
        let error = waited.clone().success().err();
        fields.set_item("problem", error.map(|error| error.to_string()))?;
    }
    record(py, "End", &fields)
}

/// Returns the record of the result of one of several jobs.
pub(crate) fn submission<'py>(
    py: Python<'py>,
    index: usize,
    name: String,
    result: Result<Waited, Error>,
    settings: &Arc<Settings>,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    fields.set_item("index", index)?;
    fields.set_item("name", name)?;
    match result {
        Ok(waited) => fields.set_item("end", end(py, &waited, settings)?)?,
        Err(error) => fields.set_item("error", to_exception(py, &error))?,
    }
    record(py, "Submission", &fields)
}

fn update_record<'py>(
    py: Python<'py>,
    update: JobUpdate,
    settings: &Arc<Settings>,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    let kind = match update {
        JobUpdate::Phase(job) => {
            fields.set_item("job", PyJob::object(py, *job, settings)?)?;
            "phase"
        }
        JobUpdate::Event(event) => {
            fields.set_item("event", event_record(py, &event)?)?;
            "event"
        }
        JobUpdate::Log { task, item } => {
            fields.set_item("task", task)?;
            fields.set_item("line", line_record(py, &item)?)?;
            "log"
        }
        JobUpdate::Vanished => "vanished",
        JobUpdate::Interrupted { error } => {
            fields.set_item("error", to_exception(py, &error))?;
            "interrupted"
        }
        JobUpdate::Resumed => "resumed",
        _ => "other",
    };
    fields.set_item("kind", kind)?;
    record(py, "Update", &fields)
}
