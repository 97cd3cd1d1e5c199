//! Turns answers into types: strictly first, leniently in lists when that fails.

use bytes::Bytes;
use progenitor_client::{Error, ResponseValue};
use reqwest::StatusCode;
use serde::de::{DeserializeSeed, Error as _};

use crate::{
    Response,
    dropped::{Dropped, Pass},
    lenient::Lenient,
    object::Slot,
    target::Reader,
};

/// Is told about each body that was decoded, when a transport has put one into the
/// [`Response`].
pub trait Observer: Send + Sync {
    /// `body` was decoded; `dropped` says what had to be left out of lists.
    fn decoded(&self, body: &Bytes, dropped: &Dropped);

    /// A text of an answer as it may stand in an error, where that is not as it came: without
    /// the secrets of the client, which a server may echo.
    fn masked(&self, text: &str) -> Option<String> {
        let _ = text;
        None
    }
}

/// Decodes a body.
///
/// A list element that cannot be understood is left out, and counted. Bytes that are not
/// UTF-8 are read as U+FFFD.
///
/// # Errors
/// What is wrong, when more than an element of a list is. The message begins
/// with the path of the value, such as `status.duration: invalid type …`.
pub fn body<T: Lenient>(body: &[u8]) -> Result<(T, Dropped), serde_json::Error> {
    let mut slot = None;
    let dropped = fill(&mut slot, body)?;
    slot.map(|value| (value, dropped)).ok_or_else(nothing)
}

/// As [`body`], for any type.
fn fill(slot: &mut dyn Slot, body: &[u8]) -> Result<Dropped, serde_json::Error> {
    // Text that is checked once, as a whole, need not be checked name by name. What is not
    // UTF-8 in it becomes U+FFFD; it may stand in a field that nobody reads.
    let lossy;
    let text = match std::str::from_utf8(body) {
        Ok(text) => text,
        Err(_) => {
            lossy = String::from_utf8_lossy(body);
            &*lossy
        }
    };
    let pass = Pass::default();
    if strictly(slot.place().in_pass(&pass), text).is_ok() {
        return Ok(pass.end());
    }
    let pass = Pass::salvaging();
    with_path(slot.place().in_pass(&pass), text)?;
    Ok(pass.end())
}

fn strictly(reader: Reader<'_, '_>, body: &str) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(body);
    reader.deserialize(&mut deserializer)?;
    deserializer.end()
}

/// As [`strictly`], slower, and errors say where they are.
#[cold]
fn with_path(reader: Reader<'_, '_>, body: &str) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(body);
    let mut track = serde_path_to_error::Track::new();
    reader
        .deserialize(serde_path_to_error::Deserializer::new(
            &mut deserializer,
            &mut track,
        ))
        .map_err(|error| match track.path().to_string().as_str() {
            "." => error,
            path => serde_json::Error::custom(format_args!("{path}: {error}")),
        })?;
    deserializer.end()
}

fn nothing() -> serde_json::Error {
    serde_json::Error::custom("the body is there and says nothing")
}

/// What generated code calls instead of its own decoding.
///
/// # Errors
/// When the body is not understood.
#[doc(hidden)]
// progenitor's error is as large as it is.
#[allow(clippy::result_large_err)]
pub fn response<T: Lenient, E>(response: Response) -> Result<ResponseValue<T>, Error<E>> {
    let Response {
        status,
        headers,
        body: full,
        observer,
    } = response;
    // The service says "not ready" with 204, which has no body.
    let text: &[u8] = if status == StatusCode::NO_CONTENT && full.is_empty() {
        b"{}"
    } else {
        &full
    };
    match body(text) {
        Ok((value, dropped)) => {
            if let Some(observer) = observer {
                observer.decoded(&full, &dropped);
            }
            Ok(ResponseValue::new(value, status, headers))
        }
        Err(error) => {
            let masked = |text: &str| observer.as_ref()?.masked(text);
            let body = masked(&String::from_utf8_lossy(&full)).map_or(full, Bytes::from);
            let error = match masked(&error.to_string()) {
                Some(text) => serde_json::Error::custom(text),
                None => error,
            };
            Err(Error::InvalidResponsePayload(body, error))
        }
    }
}

/// As [`response`], for operations that answer with nothing.
#[doc(hidden)]
#[must_use]
pub fn empty(response: Response) -> ResponseValue<()> {
    ResponseValue::new((), response.status, response.headers)
}

/// What an error of decoding says, without the text that serde quotes when it did not
/// expect it: that may be a secret.
#[must_use]
pub fn unquoted(error: &str) -> String {
    match (error.find("string \""), error.rfind("\", expected")) {
        (Some(start), Some(end)) if start < end => {
            format!("{}string{}", &error[..start], &error[end + 1..])
        }
        _ => error.to_owned(),
    }
}
