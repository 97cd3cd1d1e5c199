//! `Stream`: an iterator over jobs, events, lines, numbers, updates or rows.

use std::sync::Arc;

use futures::{StreamExt, stream::BoxStream};
use modelarts_ext::{
    Error, Event, Job, LogItem,
    jobs::{follow::JobUpdate, logs::LogValue, wait::Waited},
};
use pyo3::{
    Bound, IntoPyObject, Py, PyAny, PyRef, PyResult, Python, pyclass, pymethods,
    types::{PyAnyMethods, PyDict, PyDictMethods},
};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::{
    convert::{datetime, record, records, to_dict, to_object},
    errors::to_exception,
    job::{PyJob, Settings, end},
    runtime::{discard, wait},
};

/// Item of a stream, before it becomes a value of Python.
pub(crate) enum Item {
    Job(Job),
    Event(Event),
    Line(LogItem),
    Number(LogValue),
    Update(JobUpdate),
    Row(Value),
    /// Result of one of several jobs, with its index.
    Submitted(usize, Result<Waited, Error>),
}

type Items = BoxStream<'static, Result<Item, Error>>;

/// Iterator that waits for each item.
#[pyclass(frozen, module = "modelarts_tools")]
pub(crate) struct Stream {
    /// `None` after the end.
    items: Mutex<Option<Items>>,
    settings: Arc<Settings>,
}

impl Stream {
    pub(crate) fn new<T: Send + 'static>(
        items: BoxStream<'static, Result<T, Error>>,
        settings: &Arc<Settings>,
        item: impl Fn(T) -> Item + Send + 'static,
    ) -> Self {
        let items = items.map(move |next| next.map(&item)).boxed();
        Self { items: Mutex::new(Some(items)), settings: Arc::clone(settings) }
    }

    /// Reads the next item. The stream ends after an error.
    async fn next(&self) -> Option<Result<Item, Error>> {
        let mut items = self.items.lock().await;
        let next = items.as_mut()?.next().await;
        if !matches!(next, Some(Ok(_))) {
            *items = None;
        }
        next
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        discard(self.items.get_mut().take());
    }
}

#[pymethods]
impl Stream {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        match wait(py, self.next())? {
            None => Ok(None),
            Some(Err(error)) => Err(to_exception(py, &error)),
            Some(Ok(item)) => item.into_object(py, &self.settings).map(Some),
        }
    }

    /// Returns the remaining items as a table of pandas.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        records(slf.py())?.getattr("to_pandas")?.call1((slf,))
    }
}

impl Item {
    fn into_object(self, py: Python<'_>, settings: &Arc<Settings>) -> PyResult<Py<PyAny>> {
        let object = match self {
            Self::Job(job) => PyJob::new(job, settings).into_pyobject(py)?.into_any(),
            Self::Event(event) => event_record(py, &event)?,
            Self::Line(item) => line_record(py, &item)?,
            Self::Number(number) => number_record(py, &number)?,
            Self::Update(update) => update_record(py, update, settings)?,
            Self::Row(row) => to_object(py, &row)?,
            Self::Submitted(index, result) => {
                let fields = PyDict::new(py);
                fields.set_item("index", index)?;
                let (waited, error) = match result {
                    Ok(waited) => (Some(end(py, &waited, settings)?), None),
                    Err(error) => (None, Some(to_exception(py, &error))),
                };
                fields.set_item("end", waited)?;
                fields.set_item("error", error)?;
                record(py, "Submission", &fields)?
            }
        };
        Ok(object.unbind())
    }
}

pub(crate) fn event_record<'py>(py: Python<'py>, event: &Event) -> PyResult<Bound<'py, PyAny>> {
    let details = to_dict(py, event)?;
    let fields = PyDict::new(py);
    for name in ["level", "source", "message", "kind"] {
        fields.set_item(name, details.get_item(name)?)?;
        details.del_item(name)?;
    }
    details.del_item("time")?;
    fields.set_item("time", datetime(py, event.time())?)?;
    fields.set_item("details", details)?;
    record(py, "Event", &fields)
}

fn line_record<'py>(py: Python<'py>, item: &LogItem) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    match item {
        LogItem::Line(text) => fields.set_item("text", text)?,
        LogItem::Gap { bytes } => {
            fields.set_item("is_gap", true)?;
            fields.set_item("missing_bytes", bytes)?;
        }
        _ => {}
    }
    // A time without a zone is not a point in time.
    let time = item.time().filter(|time| time.has_zone).map(|time| time.time);
    fields.set_item("time", datetime(py, time)?)?;
    record(py, "LogLine", &fields)
}

fn number_record<'py>(py: Python<'py>, number: &LogValue) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    fields.set_item("value", number.value)?;
    fields.set_item("line", &number.line)?;
    fields.set_item("time", datetime(py, number.time)?)?;
    record(py, "LogValue", &fields)
}

fn update_record<'py>(
    py: Python<'py>,
    update: JobUpdate,
    settings: &Arc<Settings>,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    let kind = match update {
        JobUpdate::Phase(job) => {
            fields.set_item("job", PyJob::new(*job, settings).into_pyobject(py)?)?;
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
