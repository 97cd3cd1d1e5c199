//! Decoding of responses, including JSON that deviates from the description.
//!
//! This module decodes the types that occur in responses. Types that occur only in requests keep
//! the derived code of serde, which is strict.
//!
//! A generated struct lists its fields once, in [`object!`](crate::object). This macro implements
//! the traits of serde, and a function that returns the [`Slot`] of the field with a given name. A
//! slot is a mutable reference to the field, with the kind of JSON that the field expects.
//!
//! One visitor decodes every value into its slot, and accepts forms that deviate from the
//! description, as the service sends them. Examples are a number as a string, a single value
//! instead of a list of one element, and `null` instead of an empty list. The visitor has no type
//! parameter, so the compiler generates its code once. Derived code takes twice as long to
//! compile, and is no faster.
//!
//! [`body`] decodes the body in a first pass, which stops at the first value that cannot be
//! decoded. A second pass then skips each list element that cannot be decoded. Both passes skip
//! elements that are `null`, except in lists of arbitrary JSON. [`Skipped`] counts the skipped
//! elements.

mod numbers;
#[doc(hidden)]
pub mod object;
mod pass;
pub(crate) mod skipped;
pub(crate) mod slot;
mod types;
mod visitor;

use serde::de::{DeserializeSeed, Deserializer, Error as _};

pub(crate) use self::pass::TOO_LATE;
use self::{pass::Pass, slot::FieldValue, visitor::SlotVisitor};
pub use self::{
    skipped::{Skipped, strip_quoted_text},
    slot::{Decode, Slot},
};

/// Decodes the JSON body of a response.
///
/// A list element that cannot be decoded is skipped and counted. Bytes that are not valid UTF-8 are
/// replaced by U+FFFD. Decoding fails when the body and its result take more memory than 4 times
/// the length of the body plus 8 MiB.
///
/// # Errors
/// Returns an error if a value outside of lists cannot be decoded. The message begins with the path
/// of the value, such as `status.duration: invalid type …`.
pub fn body<T: Decode>(body: &[u8]) -> Result<(T, Skipped), serde_json::Error> {
    body_in_time(body, &|| false)
}

/// Decodes a body as [`body`] does, and returns an error once `is_late` returns `true`. Calls
/// `is_late` every 1024 values.
pub(crate) fn body_in_time<T: Decode>(
    body: &[u8],
    is_late: &dyn Fn() -> bool,
) -> Result<(T, Skipped), serde_json::Error> {
    let mut value = None;
    let skipped = fill_value(&mut value, body, is_late)?;
    value
        .map(|value| (value, skipped))
        .ok_or_else(|| serde_json::Error::custom("the body has no value"))
}

/// Decodes a body into `value` for [`body_in_time`]. Has no type parameter, so that the compiler
/// generates its code once.
fn fill_value(
    value: &mut dyn FieldValue,
    body: &[u8],
    is_late: &dyn Fn() -> bool,
) -> Result<Skipped, serde_json::Error> {
    // Validating UTF-8 once for the whole body is faster than for each name. Invalid bytes become
    // U+FFFD, because the program may not need the field that contains them.
    let copy;
    let (text, copied) = match std::str::from_utf8(body) {
        Ok(text) => (text, 0),
        Err(_) => {
            copy = replace_invalid(body);
            (&*copy, copy.capacity())
        }
    };
    let pass = Pass::for_body(body.len(), copied, is_late, false);
    match read_strictly(SlotVisitor::new(value.slot(), &pass), text) {
        Ok(()) => return Ok(pass.finish()),
        Err(error) if pass.is_stopped() => return Err(error),
        Err(_) => value.slot().clear(),
    }
    let pass = Pass::for_body(body.len(), copied, is_late, true);
    read_with_path(SlotVisitor::new(value.slot(), &pass), text)?;
    Ok(pass.finish())
}

/// Replaces bytes that are not valid UTF-8 by U+FFFD, like [`String::from_utf8_lossy`] but without
/// excess capacity.
#[cold]
fn replace_invalid(body: &[u8]) -> String {
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

fn read_strictly(visitor: SlotVisitor<'_, '_>, body: &str) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(body);
    visitor.deserialize(&mut deserializer)?;
    deserializer.end()
}

/// Decodes a body as [`read_strictly`] does, and adds the path of the invalid value to the error.
/// Tracking paths makes decoding slower.
#[cold]
fn read_with_path(visitor: SlotVisitor<'_, '_>, body: &str) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(body);
    let mut track = serde_path_to_error::Track::new();
    visitor
        .deserialize(serde_path_to_error::Deserializer::new(&mut deserializer, &mut track))
        .map_err(|error| match track.path().to_string().as_str() {
            "." => error,
            path => serde_json::Error::custom(format_args!("{path}: {error}")),
        })?;
    deserializer.end()
}

/// Decodes a value. Returns `None` for `null`. Skips list elements that are `null`; a list element
/// that cannot be decoded is an error.
///
/// # Errors
/// Returns the error of the deserializer if the value has none of the accepted forms.
pub fn read<'de, T: Decode, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let mut value = None;
    let pass = Pass::default();
    SlotVisitor::new(T::slot(&mut value), &pass).deserialize(deserializer)?;
    Ok(value)
}
