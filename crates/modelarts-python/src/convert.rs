//! Conversions between values of Python and of the SDK.

use std::time::{Duration, SystemTime};

use modelarts_ext::Timestamp;
use pyo3::{
    Bound, FromPyObject, IntoPyObject, Py, PyAny, PyResult, Python,
    exceptions::PyValueError,
    types::{PyAnyMethods, PyDict, PyModule},
};
use serde::Serialize;

/// Returns a value as dictionaries, lists, texts and numbers.
pub(crate) fn to_object<'py>(
    py: Python<'py>,
    value: &(impl Serialize + ?Sized),
) -> PyResult<Bound<'py, PyAny>> {
    Ok(pythonize::pythonize(py, value)?)
}

/// Returns a value as dictionaries, as JSON parsed by Python would be.
pub(crate) fn to_dict<'py>(
    py: Python<'py>,
    value: &impl Serialize,
) -> PyResult<Bound<'py, PyDict>> {
    Ok(to_object(py, value)?.cast_into::<PyDict>()?)
}

/// Creates an instance of a class of `modelarts_tools.records`.
pub(crate) fn record<'py>(
    py: Python<'py>,
    class: &str,
    fields: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    records(py)?.getattr(class)?.call((), Some(fields))
}

pub(crate) fn records(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    PyModule::import(py, "modelarts_tools.records")
}

/// Returns a time as a datetime in UTC.
pub(crate) fn datetime(py: Python<'_>, time: Option<Timestamp>) -> PyResult<Option<Py<PyAny>>> {
    let time = time.map(|time| SystemTime::from(time).into_pyobject(py)).transpose()?;
    Ok(time.map(|time| time.into_any().unbind()))
}

/// Time span: a timedelta, or a number of seconds.
#[derive(Clone, Copy, FromPyObject)]
pub(crate) enum Span {
    Delta(Duration),
    Seconds(f64),
}

impl Span {
    pub(crate) fn duration(self, name: &str) -> PyResult<Duration> {
        match self {
            Self::Delta(delta) => Ok(delta),
            Self::Seconds(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| {
                PyValueError::new_err(format!(
                    "{name}: {seconds} must be a number of seconds that is not negative"
                ))
            }),
        }
    }
}

/// Point in time: a datetime with a time zone, or a time span before now.
#[derive(FromPyObject)]
pub(crate) enum Moment {
    Time(SystemTime),
    Ago(Span),
}

impl Moment {
    pub(crate) fn time(self, name: &str) -> PyResult<Timestamp> {
        match self {
            Self::Time(time) => Ok(time.into()),
            Self::Ago(span) => Ok(Timestamp::from(SystemTime::now()) - span.duration(name)?),
        }
    }
}

/// One value, or several.
#[derive(FromPyObject)]
pub(crate) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    pub(crate) fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::More(texts) => texts,
        }
    }
}
