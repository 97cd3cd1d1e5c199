//! Decoding that takes what the service really sends.
//!
//! The documents and the wire disagree in small ways: totals are text in one
//! answer and numbers in the next, lists and objects come as `null`, a list of
//! one comes as the object itself. The generated structs read each field with
//! [`Lenient`], which accepts all of that without buffering, so that users see
//! plain `i64`, `String`, `Vec` and `bool`. Those with fields that must be there
//! (in requests) do it through [`optional`] and [`or_default`], all others in place.
//!
//! What cannot be understood inside a list costs that element and no more:
//! `null` elements are left out at once, and after a failed first pass the body
//! is decoded again with every list element on its own ([`salvaging`]). What was
//! left out is counted in [`Dropped`].

use std::{cell::RefCell, collections::BTreeMap, fmt, marker::PhantomData};

use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess,
    Visitor, value::MapAccessDeserializer,
};
use serde_json::{Map, Value};

use crate::decode;

/// A type that can be read from every spelling that was seen for it.
pub trait Lenient: Sized {
    /// Reads a value; `None` stands for "the service said nothing" (`null`, or
    /// blank text where a number or an object belongs).
    ///
    /// # Errors
    /// The deserializer's own error when the value is of no accepted spelling.
    fn maybe<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error>;

    /// As [`maybe`](Self::maybe), for a value inside a list or map. Where any JSON
    /// is admitted, `null` is a value: leaving it out would shift the cells of a row.
    ///
    /// # Errors
    /// As [`maybe`](Self::maybe).
    fn element<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        Self::maybe(deserializer)
    }

    /// As [`maybe`](Self::maybe), into a field. Objects are put together there, so that
    /// they need not be moved.
    ///
    /// # Errors
    /// As [`maybe`](Self::maybe).
    fn fill<'de, D: Deserializer<'de>>(
        slot: &mut Option<Self>,
        deserializer: D,
    ) -> Result<(), D::Error> {
        *slot = Self::maybe(deserializer)?;
        Ok(())
    }

    /// As [`maybe`](Self::maybe), on the heap; objects are put together there, too.
    ///
    /// # Errors
    /// As [`maybe`](Self::maybe).
    fn boxed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<Self>>, D::Error> {
        Ok(Self::maybe(deserializer)?.map(Box::new))
    }
}

/// An object that is made of names and values.
pub trait FromMap: Sized {
    /// Reads all of `map` into a field.
    ///
    /// # Errors
    /// The deserializer's own error when a value is of no accepted spelling.
    fn fill_from<'de, A: MapAccess<'de>>(slot: &mut Option<Self>, map: A) -> Result<(), A::Error>;
}

/// For fields that may be missing: `#[serde(deserialize_with)]` of `Option<T>`.
///
/// # Errors
/// As [`Lenient::maybe`].
pub fn optional<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Lenient,
{
    T::maybe(deserializer)
}

/// For lists and maps: nothing said is the same as empty.
///
/// # Errors
/// As [`Lenient::maybe`].
pub fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Lenient + Default,
{
    Ok(T::maybe(deserializer)?.unwrap_or_default())
}

/// For generated structs: an object, or nothing.
///
/// # Errors
/// As [`Lenient::maybe`].
pub fn object<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromMap,
{
    let mut slot = None;
    fill_object(&mut slot, deserializer)?;
    Ok(slot)
}

/// As [`object`], into a field.
///
/// # Errors
/// As [`Lenient::maybe`].
pub fn fill_object<'de, D, T>(slot: &mut Option<T>, deserializer: D) -> Result<(), D::Error>
where
    D: Deserializer<'de>,
    T: FromMap,
{
    deserializer.deserialize_any(ObjectVisitor(slot))
}

// ---------------------------------------------------------------- what was lost

/// What decoding left out of lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// Elements left out of the outermost list: rows of a page.
    pub rows: usize,
    /// Elements left out of lists inside other lists.
    pub nested: usize,
    /// Why the first element that was not `null` could not be read. It quotes no text of
    /// the answer, which may be a secret.
    pub first_error: Option<String>,
}

impl Dropped {
    /// Whether nothing was left out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0 && self.nested == 0
    }
}

#[derive(Default)]
struct State {
    depth: usize,
    salvage: bool,
    dropped: Dropped,
}

thread_local! {
    // A decode is one synchronous call, so its bookkeeping can live beside the
    // stack instead of being threaded through serde's traits.
    static STATE: RefCell<State> = RefCell::default();
}

/// Runs one decode and says what it left out.
pub fn counting<R>(decode: impl FnOnce() -> R) -> (R, Dropped) {
    run(false, decode)
}

/// As [`counting`], and each list element that fails is left out.
pub fn salvaging<R>(decode: impl FnOnce() -> R) -> (R, Dropped) {
    run(true, decode)
}

fn run<R>(salvage: bool, decode: impl FnOnce() -> R) -> (R, Dropped) {
    /// Puts the previous state back, also when the decode panics.
    struct Restore(Option<State>);
    impl Drop for Restore {
        fn drop(&mut self) {
            if let Some(before) = self.0.take() {
                STATE.with(|state| *state.borrow_mut() = before);
            }
        }
    }

    let fresh = State {
        salvage,
        ..State::default()
    };
    let before = STATE.with(|state| std::mem::replace(&mut *state.borrow_mut(), fresh));
    let restore = Restore(Some(before));
    let result = decode();
    let dropped = STATE.with(|state| std::mem::take(&mut state.borrow_mut().dropped));
    drop(restore);
    (result, dropped)
}

/// One level of lists, for the time that it is being read.
struct Level;

impl Level {
    fn enter() -> (Self, bool) {
        STATE.with(|state| {
            let mut state = state.borrow_mut();
            state.depth += 1;
            (Self, state.salvage)
        })
    }

    /// Reads one element; what cannot be read is left out.
    fn salvaged<T: Lenient>(&self, element: Value) -> Option<T> {
        match T::element(element) {
            Ok(Some(element)) => Some(element),
            Ok(None) => {
                self.dropped(None);
                None
            }
            Err(error) => {
                self.dropped(Some(error.to_string()));
                None
            }
        }
    }

    fn dropped(&self, error: Option<String>) {
        STATE.with(|state| {
            let mut state = state.borrow_mut();
            if state.depth == 1 {
                state.dropped.rows += 1;
            } else {
                state.dropped.nested += 1;
            }
            if state.dropped.first_error.is_none() {
                state.dropped.first_error = error.as_deref().map(decode::unquoted);
            }
        });
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        STATE.with(|state| state.borrow_mut().depth -= 1);
    }
}

// -------------------------------------------------------------------- scalars

/// Reads an integer that a JSON parser may hand over as a float (`5.0`).
fn whole(number: f64) -> Option<i64> {
    // 2^53: up to here every integer has exactly one float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[allow(clippy::cast_possible_truncation)]
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

struct IntegerVisitor;

impl<'de> Visitor<'de> for IntegerVisitor {
    type Value = Option<i64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer, also as text")
    }
    fn visit_i64<E>(self, v: i64) -> Result<Self::Value, E> {
        Ok(Some(v))
    }
    fn visit_u64<E: de::Error>(self, v: u64) -> Result<Self::Value, E> {
        i64::try_from(v)
            .map(Some)
            .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(v), &self))
    }
    fn visit_f64<E: de::Error>(self, v: f64) -> Result<Self::Value, E> {
        whole(v)
            .map(Some)
            .ok_or_else(|| E::invalid_value(de::Unexpected::Float(v), &self))
    }
    fn visit_bool<E>(self, v: bool) -> Result<Self::Value, E> {
        Ok(Some(i64::from(v)))
    }
    fn visit_str<E: de::Error>(self, v: &str) -> Result<Self::Value, E> {
        let text = v.trim();
        if text.is_empty() {
            return Ok(None);
        }
        text.parse()
            .ok()
            .or_else(|| text.parse().ok().and_then(whole))
            .map(Some)
            .ok_or_else(|| E::invalid_value(de::Unexpected::Str(v), &self))
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

impl Lenient for i64 {
    fn maybe<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        deserializer.deserialize_any(IntegerVisitor)
    }
}

struct NumberVisitor;

impl<'de> Visitor<'de> for NumberVisitor {
    type Value = Option<f64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, also as text")
    }
    #[allow(clippy::cast_precision_loss)]
    fn visit_i64<E>(self, v: i64) -> Result<Self::Value, E> {
        Ok(Some(v as f64))
    }
    #[allow(clippy::cast_precision_loss)]
    fn visit_u64<E>(self, v: u64) -> Result<Self::Value, E> {
        Ok(Some(v as f64))
    }
    fn visit_f64<E>(self, v: f64) -> Result<Self::Value, E> {
        Ok(Some(v))
    }
    fn visit_str<E: de::Error>(self, v: &str) -> Result<Self::Value, E> {
        let text = v.trim();
        if text.is_empty() {
            return Ok(None);
        }
        text.parse()
            .ok()
            // Rust reads "NaN" and "inf"; JSON has no way to give them back.
            .filter(|number: &f64| number.is_finite())
            .map(Some)
            .ok_or_else(|| E::invalid_value(de::Unexpected::Str(v), &self))
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

impl Lenient for f64 {
    fn maybe<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct FlagVisitor;

impl<'de> Visitor<'de> for FlagVisitor {
    type Value = Option<bool>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a flag: true, false, 1, 0, or one of them as text")
    }
    fn visit_bool<E>(self, v: bool) -> Result<Self::Value, E> {
        Ok(Some(v))
    }
    fn visit_i64<E: de::Error>(self, v: i64) -> Result<Self::Value, E> {
        match v {
            0 => Ok(Some(false)),
            1 => Ok(Some(true)),
            other => Err(E::invalid_value(de::Unexpected::Signed(other), &self)),
        }
    }
    fn visit_u64<E: de::Error>(self, v: u64) -> Result<Self::Value, E> {
        self.visit_i64(i64::try_from(v).unwrap_or(-1))
    }
    fn visit_str<E: de::Error>(self, v: &str) -> Result<Self::Value, E> {
        match v.trim().to_ascii_lowercase().as_str() {
            "" => Ok(None),
            "true" | "1" => Ok(Some(true)),
            "false" | "0" => Ok(Some(false)),
            _ => Err(E::invalid_value(de::Unexpected::Str(v), &self)),
        }
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

impl Lenient for bool {
    fn maybe<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        deserializer.deserialize_any(FlagVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, also as a number or flag")
    }
    fn visit_str<E>(self, v: &str) -> Result<Self::Value, E> {
        Ok(Some(v.to_owned()))
    }
    fn visit_string<E>(self, v: String) -> Result<Self::Value, E> {
        Ok(Some(v))
    }
    fn visit_bool<E>(self, v: bool) -> Result<Self::Value, E> {
        Ok(Some(v.to_string()))
    }
    fn visit_i64<E>(self, v: i64) -> Result<Self::Value, E> {
        Ok(Some(v.to_string()))
    }
    fn visit_u64<E>(self, v: u64) -> Result<Self::Value, E> {
        Ok(Some(v.to_string()))
    }
    fn visit_f64<E>(self, v: f64) -> Result<Self::Value, E> {
        Ok(Some(Value::from(v).to_string()))
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

impl Lenient for String {
    fn maybe<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

impl Lenient for Value {
    fn maybe<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        Ok(Some(Value::deserialize(deserializer)?).filter(|value| !value.is_null()))
    }

    fn element<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        Value::deserialize(deserializer).map(Some)
    }
}

impl<T: Lenient> Lenient for Box<T> {
    fn maybe<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        T::boxed(deserializer)
    }
}

impl<T: Lenient> Lenient for Option<T> {
    fn maybe<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        Ok(T::maybe(deserializer)?.map(Some))
    }
}

// -------------------------------------------------------------------- objects

struct ObjectVisitor<'a, T>(&'a mut Option<T>);

impl<'de, T: FromMap> Visitor<'de> for ObjectVisitor<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        T::fill_from(self.0, map)
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        *self.0 = None;
        Ok(())
    }
    fn visit_str<E: de::Error>(self, v: &str) -> Result<(), E> {
        if v.trim().is_empty() {
            return self.visit_unit();
        }
        Err(E::invalid_type(de::Unexpected::Str(v), &self))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        // An empty object reaches the wire as `[]` where the sender's language has
        // one type for both, and some documents write an object as a list of one.
        if seq
            .next_element_seed(ObjectVisitor(&mut *self.0))?
            .is_none()
        {
            *self.0 = None;
        }
        match seq.next_element::<de::IgnoredAny>()? {
            None => Ok(()),
            Some(_) => Err(de::Error::invalid_type(de::Unexpected::Seq, &self)),
        }
    }
}

impl<'de, T: FromMap> DeserializeSeed<'de> for ObjectVisitor<'_, T> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        fill_object(self.0, deserializer)
    }
}

// ----------------------------------------------------------------------- maps

struct MapVisitor<M>(PhantomData<M>);

/// The two map types that generated code uses.
trait Table: Default {
    type Item: Lenient;
    fn put(&mut self, key: String, value: Self::Item);
}

impl<T: Lenient> Table for BTreeMap<String, T> {
    type Item = T;
    fn put(&mut self, key: String, value: T) {
        self.insert(key, value);
    }
}

impl Table for Map<String, Value> {
    type Item = Value;
    fn put(&mut self, key: String, value: Value) {
        self.insert(key, value);
    }
}

impl<M: Table> MapVisitor<M> {
    fn fill<'de, A: MapAccess<'de>>(table: &mut M, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if let Some(value) = map.next_value_seed(Element(PhantomData::<M::Item>))? {
                table.put(key, value);
            }
        }
        Ok(())
    }
}

impl<'de, M: Table> Visitor<'de> for MapVisitor<M> {
    type Value = Option<M>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let mut table = M::default();
        Self::fill(&mut table, map)?;
        Ok(Some(table))
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_str<E: de::Error>(self, v: &str) -> Result<Self::Value, E> {
        if v.trim().is_empty() {
            return Ok(None);
        }
        Err(E::invalid_type(de::Unexpected::Str(v), &self))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        // `environments` is documented as a list of maps in answers.
        let mut table = M::default();
        while seq.next_element_seed(Fill(&mut table))?.is_some() {}
        Ok(Some(table))
    }
}

struct Fill<'a, M>(&'a mut M);

impl<'de, M: Table> DeserializeSeed<'de> for Fill<'_, M> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, M: Table> Visitor<'de> for Fill<'_, M> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        MapVisitor::<M>::fill(self.0, map)
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

impl<T: Lenient> Lenient for BTreeMap<String, T> {
    fn maybe<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        deserializer.deserialize_any(MapVisitor(PhantomData))
    }
}

impl Lenient for Map<String, Value> {
    fn maybe<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        deserializer.deserialize_any(MapVisitor(PhantomData))
    }
}

// ---------------------------------------------------------------------- lists

struct Element<T>(PhantomData<T>);

impl<'de, T: Lenient> DeserializeSeed<'de> for Element<T> {
    type Value = Option<T>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<T>, D::Error> {
        T::element(deserializer)
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Lenient> Visitor<'de> for ListVisitor<T> {
    type Value = Option<Vec<T>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let (level, salvage) = Level::enter();
        // The hint comes from the sender; it must not size an allocation.
        let mut list = Vec::with_capacity(seq.size_hint().unwrap_or(0).min(1024));
        if salvage {
            while let Some(element) = seq.next_element()? {
                list.extend(level.salvaged(element));
            }
        } else {
            while let Some(element) = seq.next_element_seed(Element(PhantomData))? {
                match element {
                    Some(element) => list.push(element),
                    None => level.dropped(None),
                }
            }
        }
        Ok(Some(list))
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        // A list of one, written as its element.
        let (level, salvage) = Level::enter();
        let map = MapAccessDeserializer::new(map);
        let element = if salvage {
            level.salvaged(Value::deserialize(map)?)
        } else {
            T::maybe(map)?
        };
        Ok(Some(element.into_iter().collect()))
    }
    fn visit_str<E: de::Error>(self, v: &str) -> Result<Self::Value, E> {
        if v.is_empty() {
            return Ok(None);
        }
        let element = T::maybe(v.into_deserializer())?;
        Ok(Some(element.into_iter().collect()))
    }
}

impl<T: Lenient> Lenient for Vec<T> {
    fn maybe<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}
