//! Conversions between values of Python and of the SDK.

use std::time::{Duration, SystemTime};

use modelarts_ext::Timestamp;
use pyo3::{
    Borrowed, Bound, FromPyObject, IntoPyObject, Py, PyAny, PyErr, PyResult, Python,
    exceptions::{PyTypeError, PyValueError},
    types::{
        PyAnyMethods, PyDateTime, PyDelta, PyDict, PyListMethods, PyMapping, PyMappingMethods,
        PyModule,
    },
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
#[derive(Clone, Copy)]
pub(crate) struct Span(Result<Duration, f64>);

impl<'py> FromPyObject<'_, 'py> for Span {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let seconds = match value.cast::<PyDelta>() {
            Ok(delta) => delta.call_method0("total_seconds")?.extract()?,
            Err(_) => value.extract::<f64>().map_err(|_| {
                PyTypeError::new_err("a time span must be a timedelta or a number of seconds")
            })?,
        };
        Ok(Self(Duration::try_from_secs_f64(seconds).map_err(|_| seconds)))
    }
}

impl Span {
    pub(crate) fn duration(self, name: &str) -> PyResult<Duration> {
        self.0.map_err(|seconds| {
            PyValueError::new_err(format!(
                "{name}: {seconds} seconds; must not be negative, nor above 1e19"
            ))
        })
    }
}

/// Point in time: a datetime with a time zone, or a time span before now.
pub(crate) enum Moment {
    Time(SystemTime),
    Ago(Span),
}

impl<'py> FromPyObject<'_, 'py> for Moment {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if !value.is_instance_of::<PyDateTime>() {
            return Ok(Self::Ago(value.extract()?));
        }
        let time = value.extract::<SystemTime>();
        Ok(Self::Time(time.map_err(|_| {
            PyValueError::new_err(
                "a datetime must have a time zone, such as datetime.now(timezone.utc), and be in \
                 the years 1970 to 9999",
            )
        })?))
    }
}

impl Moment {
    pub(crate) fn time(self, name: &str) -> PyResult<Timestamp> {
        match self {
            Self::Time(time) => Ok(time.into()),
            Self::Ago(span) => Ok(Timestamp::from(SystemTime::now()) - span.duration(name)?),
        }
    }
}

/// Values by name, in their order, from any mapping.
pub(crate) struct Pairs<T>(pub(crate) Vec<(String, T)>);

impl<'py, T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>> FromPyObject<'_, 'py> for Pairs<T> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let items = value.cast::<PyMapping>()?.items()?;
        let pairs = items.iter().map(|item| {
            let value = item.get_item(1)?.extract().map_err(Into::into)?;
            Ok((item.get_item(0)?.extract()?, value))
        });
        Ok(Self(pairs.collect::<PyResult<_>>()?))
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
