//! Exceptions for the errors of the SDK.

use modelarts_ext::{Error, ErrorKind};
use pyo3::{
    PyErr, PyResult, Python,
    types::{PyAnyMethods, PyDict, PyDictMethods, PyModule},
};

use crate::convert::to_object;

/// Returns the exception for an error, with the details of the call. If it cannot be made, returns
/// the exception that prevented it.
pub(crate) fn to_exception(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, error).unwrap_or_else(|other| other)
}

fn exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let class = PyModule::import(py, "modelarts_tools.exceptions")?.getattr(class(error))?;
    let details = PyDict::new(py);
    details.set_item("code", error.code())?;
    details.set_item("advice", error.advice().map(spelled))?;
    details.set_item("request_id", error.request_id())?;
    details.set_item("status", error.status())?;
    details.set_item("operation", error.operation())?;
    details.set_item("attempts", error.attempts())?;
    details.set_item("retry_after", error.retry_after())?;
    details.set_item("is_uncertain", error.is_uncertain())?;
    let violations = error.violations().iter().map(|violation| {
        serde_json::json!({
            "field": violation.field(),
            "rule": violation.rule(),
            "value": violation.value(),
            "code": violation.code(),
            "advice": violation.advice(),
        })
    });
    details.set_item("violations", to_object(py, &violations.collect::<Vec<_>>())?)?;
    Ok(PyErr::from_value(class.call((spelled(&error.to_string()),), Some(&details))?))
}

/// Names of the SDK for Rust in its messages, and those of this package.
const NAMES: [(&str, &str); 7] = [
    ("`job.terminate()`", "`job.stop()`"),
    ("list().workspace(id).get_by_name(name)", "list(workspace=…, name=…)"),
    ("create it with Bucket::create", "create it"),
    ("it must be one of modelarts_api::OPERATIONS", "the description of the API lists them"),
    ("call Staging::bucket", "give bucket"),
    ("call endpoint() or region()", "give endpoint or region"),
    ("call credentials()", "give access_key and secret_key, or token"),
];

/// Returns a message in the terms of Python.
fn spelled(text: &str) -> String {
    NAMES.iter().fold(text.to_owned(), |text, (rust, python)| text.replace(rust, python))
}

/// Returns the exception for an argument that breaks a rule.
pub(crate) fn invalid(py: Python<'_>, message: String) -> PyErr {
    to_exception(py, &Error::new(ErrorKind::Invalid, message))
}

/// Returns the name of the class. Conditions that a program handles come before the kind.
fn class(error: &Error) -> &'static str {
    match error.kind() {
        _ if error.is_not_found() => "NotFoundError",
        _ if error.is_throttled() => "ThrottledError",
        _ if error.is_conflict() => "ConflictError",
        _ if error.is_not_ready() => "NotReadyError",
        ErrorKind::Config => "ConfigError",
        ErrorKind::Connection => "ConnectError",
        ErrorKind::Credentials => "CredentialsError",
        ErrorKind::Decode => "DecodeError",
        ErrorKind::File => "FileError",
        ErrorKind::Invalid => "InvalidError",
        ErrorKind::NotCompleted => "JobNotCompletedError",
        ErrorKind::NotFound => "NotFoundError",
        ErrorKind::NotReady => "NotReadyError",
        _ if error.is_auth() => "CredentialsError",
        ErrorKind::Service => "ServiceError",
        ErrorKind::Timeout => "TimeLimitError",
        _ => "UnexpectedError",
    }
}
