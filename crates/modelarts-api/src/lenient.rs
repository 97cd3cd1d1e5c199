//! Decoding that takes what the service really sends.
//!
//! The documents and the wire disagree in small ways: totals are text in one
//! answer and numbers in the next, lists and objects come as `null`, a list of
//! one comes as the object itself. Every generated type says with [`Lenient`] which
//! [`Target`] it is, and a target takes all of that without buffering, so that users
//! see plain `i64`, `String`, `Vec` and `bool`.
//!
//! What cannot be understood inside a list costs that element and no more:
//! `null` elements are left out at once, and after a failed first pass the body
//! is decoded again with every list element on its own. What was left out is
//! counted in [`Dropped`].

use std::{collections::BTreeMap, fmt::Display, str::FromStr};

use serde::de::{DeserializeSeed, Deserializer};
use serde_json::{Map, Value};

use crate::dropped::Pass;
pub use crate::{
    collection::{List, Read, Table, Wrapper},
    dropped::Dropped,
    object::{Fill, Make, Nested, Object},
    target::Target,
};

/// A type that can be read from every spelling that was seen for it.
pub trait Lenient: Sized {
    /// Where a value of this type goes. The slot stays or becomes empty when the service
    /// says nothing (`null`, or blank text where a number or an object belongs).
    fn place(slot: &mut Option<Self>) -> Target<'_>;

    /// As [`place`](Self::place), for a value inside a list or map. Where any JSON is
    /// admitted, `null` is a value: leaving it out would shift the cells of a row.
    fn element(slot: &mut Option<Self>) -> Target<'_> {
        Self::place(slot)
    }
}

/// Reads a value; `None` when nothing is said. `null` elements of lists are left out, and
/// any that cannot be read is an error.
///
/// # Errors
/// The deserializer's own error when the value is of no accepted spelling.
pub fn read<'de, T: Lenient, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let mut slot = None;
    let pass = Pass::default();
    T::place(&mut slot)
        .in_pass(&pass)
        .deserialize(deserializer)?;
    Ok(slot)
}

/// What reads itself from text: enumerations and identifiers.
pub trait Word {
    /// Nothing was said.
    fn nothing(&mut self);

    /// Takes a text.
    ///
    /// # Errors
    /// Why it is none of these words.
    fn set(&mut self, text: &str) -> Result<(), String>;
}

impl<T: FromStr<Err: Display>> Word for Option<T> {
    fn nothing(&mut self) {
        *self = None;
    }
    fn set(&mut self, text: &str) -> Result<(), String> {
        *self = Some(text.parse().map_err(|error: T::Err| error.to_string())?);
        Ok(())
    }
}

impl Lenient for String {
    fn place(slot: &mut Option<Self>) -> Target<'_> {
        Target::Text(slot)
    }
}

impl Lenient for i64 {
    fn place(slot: &mut Option<Self>) -> Target<'_> {
        Target::Integer(slot)
    }
}

impl Lenient for f64 {
    fn place(slot: &mut Option<Self>) -> Target<'_> {
        Target::Number(slot)
    }
}

impl Lenient for bool {
    fn place(slot: &mut Option<Self>) -> Target<'_> {
        Target::Flag(slot)
    }
}

impl Lenient for Value {
    fn place(slot: &mut Option<Self>) -> Target<'_> {
        Target::Any(slot)
    }
    fn element(slot: &mut Option<Self>) -> Target<'_> {
        Target::Cell(slot)
    }
}

impl<T: Lenient> Lenient for Vec<T> {
    fn place(slot: &mut Option<Self>) -> Target<'_> {
        Target::List(slot)
    }
}

impl<T: Lenient> Lenient for BTreeMap<String, T> {
    fn place(slot: &mut Option<Self>) -> Target<'_> {
        Target::Table(slot)
    }
}

impl Lenient for Map<String, Value> {
    fn place(slot: &mut Option<Self>) -> Target<'_> {
        Target::Table(slot)
    }
}

impl<T: Object + Default> Lenient for Box<T> {
    fn place(slot: &mut Option<Self>) -> Target<'_> {
        Target::Object(slot)
    }
}
