//! Errors as a test compares them.

use modelarts_ext::Error;

/// The message of an error, with what differs from run to run replaced.
pub(crate) fn message(error: &Error) -> String {
    let text = error.to_string();
    match error.request_id() {
        Some(id) => text.replace(id, "REQUEST"),
        None => text,
    }
}

/// `expect_err` without `Debug` of the value that is there instead.
pub(crate) fn refused<T>(result: Result<T, Error>) -> Error {
    match result {
        Ok(_) => panic!("that should have been refused"),
        Err(error) => error,
    }
}
