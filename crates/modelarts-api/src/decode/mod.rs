//! Turns answers into types: strictly first, leniently in lists when that fails.

#[doc(hidden)]
pub mod object;
mod pass;
mod reader;
pub(crate) mod skipped;
pub(crate) mod slot;
mod types;

use std::sync::Arc;

use bytes::Bytes;
use progenitor_client::{Error, ResponseValue};
use reqwest::StatusCode;
use serde::de::{DeserializeSeed, Deserializer, Error as _};

use self::{pass::Pass, reader::Reader, slot::Slot};
use crate::transport::Response;

pub use self::{
    skipped::{Dropped, Observer, unquoted},
    slot::{Lenient, Target},
};

/// Decodes a body.
///
/// A list element that cannot be understood is left out, and counted. Bytes that are not
/// UTF-8 are read as U+FFFD. A body that would take more than 4 times its length in memory,
/// itself included, and more than 8 MiB besides, is refused.
///
/// # Errors
/// What is wrong, when more than an element of a list is. The message begins
/// with the path of the value, such as `status.duration: invalid type …`.
pub fn body<T: Lenient>(body: &[u8]) -> Result<(T, Dropped), serde_json::Error> {
    within(body, None)
}

/// As [`body`], as long as the observer says.
fn within<T: Lenient>(
    body: &[u8],
    observer: Option<&Arc<dyn Observer>>,
) -> Result<(T, Dropped), serde_json::Error> {
    let mut slot = None;
    let dropped = fill(&mut slot, body, observer)?;
    slot.map(|value| (value, dropped)).ok_or_else(nothing)
}

/// As [`body`], for any type.
fn fill(
    slot: &mut dyn Slot,
    body: &[u8],
    observer: Option<&Arc<dyn Observer>>,
) -> Result<Dropped, serde_json::Error> {
    // Text that is checked once, as a whole, need not be checked name by name. What is not
    // UTF-8 in it becomes U+FFFD; it may stand in a field that nobody reads.
    let copy;
    let (text, copied) = match std::str::from_utf8(body) {
        Ok(text) => (text, 0),
        Err(_) => {
            copy = lossy(body);
            (&*copy, copy.capacity())
        }
    };
    let pass = Pass::over(body.len(), copied, observer.cloned());
    match strictly(Reader::new(slot.place(), &pass), text) {
        Ok(()) => return Ok(pass.end()),
        Err(error) if pass.is_stopped() => return Err(error),
        Err(_) => slot.place().nothing(),
    }
    let pass = Pass::over(body.len(), copied, observer.cloned()).salvaging();
    with_path(Reader::new(slot.place(), &pass), text)?;
    Ok(pass.end())
}

/// As [`String::from_utf8_lossy`], with no more memory than the text needs.
#[cold]
fn lossy(body: &[u8]) -> String {
    const MARK: char = char::REPLACEMENT_CHARACTER;
    let length = |chunk: std::str::Utf8Chunk<'_>| match chunk.invalid() {
        [] => chunk.valid().len(),
        _ => chunk.valid().len() + MARK.len_utf8(),
    };
    let mut text = String::with_capacity(body.utf8_chunks().map(length).sum());
    for chunk in body.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(MARK);
        }
    }
    text
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

/// Reads a value; `None` when nothing is said. `null` elements of lists are left out, and
/// any that cannot be read is an error.
///
/// # Errors
/// The deserializer's own error when the value is of no accepted spelling.
pub fn read<'de, T: Lenient, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let mut slot = None;
    let pass = Pass::default();
    Reader::new(T::place(&mut slot), &pass).deserialize(deserializer)?;
    Ok(slot)
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
    match within(text, observer.as_ref()) {
        Ok((value, dropped)) => {
            if let Some(observer) = observer {
                observer.decoded(&full, &dropped);
            }
            Ok(ResponseValue::new(value, status, headers))
        }
        Err(_) if observer.as_ref().is_some_and(|observer| observer.is_late()) => {
            // To mask a long answer takes time, too; and without that it must not be shown.
            let error = serde_json::Error::custom("time ran out while it was decoded");
            Err(Error::InvalidResponsePayload(Bytes::new(), error))
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
