//! Errors in a form that tests can compare.

use modelarts_ext::Error;

/// Returns the message of an error, with variable parts replaced by placeholders.
pub(crate) fn message(error: &Error) -> String {
    let text = error.to_string();
    match error.request_id() {
        Some(id) => text.replace(id, "REQUEST"),
        None => text,
    }
}

/// Returns the error of a result, like `expect_err`, but without requiring `Debug` of the value.
pub(crate) fn refused<T>(result: Result<T, Error>) -> Error {
    match result {
        Ok(_) => panic!("that should have been refused"),
        Err(error) => error,
    }
}
