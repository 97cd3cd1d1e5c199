//! Lists and tables, element by element.

use std::collections::BTreeMap;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::{
    dropped::{Level, Pass},
    lenient::Lenient,
    target::{Reader, Target},
};

/// Reads one value into a place, and says whether that worked.
pub type Read<'a> = &'a mut dyn FnMut(Target<'_>) -> bool;

/// A list that grows by what is read.
pub trait List {
    /// Nothing was said.
    fn nothing(&mut self);
    /// Begins anew.
    fn begin(&mut self);
    /// Adds the element that is read, if it says something.
    fn add(&mut self, read: Read<'_>) -> bool;
}

/// Names with values, which grow by what is read.
pub trait Table {
    /// Nothing was said.
    fn nothing(&mut self);
    /// Begins anew.
    fn begin(&mut self);
    /// Adds the value that is read, if it says something.
    fn put(&mut self, name: String, read: Read<'_>);
}

/// What holds nothing but a list or a table.
pub trait Wrapper {
    /// What it holds.
    type Inner: Default;
    /// Wraps it.
    fn wrap(inner: Self::Inner) -> Self;
    /// What is inside.
    fn inner(&mut self) -> &mut Self::Inner;
}

impl<T: Lenient> List for Vec<T> {
    fn nothing(&mut self) {
        self.clear();
    }
    fn begin(&mut self) {
        self.clear();
    }
    fn add(&mut self, read: Read<'_>) -> bool {
        let mut slot = None;
        // An element that failed may be there in part.
        let good = read(T::element(&mut slot));
        match slot {
            Some(element) if good => {
                self.push(element);
                true
            }
            _ => false,
        }
    }
}

impl<T: Lenient> Table for BTreeMap<String, T> {
    fn nothing(&mut self) {
        self.clear();
    }
    fn begin(&mut self) {
        self.clear();
    }
    fn put(&mut self, name: String, read: Read<'_>) {
        let mut slot = None;
        if read(T::element(&mut slot)) {
            self.extend(slot.map(|value| (name, value)));
        }
    }
}

impl Table for Map<String, Value> {
    fn nothing(&mut self) {
        self.clear();
    }
    fn begin(&mut self) {
        self.clear();
    }
    fn put(&mut self, name: String, read: Read<'_>) {
        let mut slot = None;
        if read(Value::element(&mut slot)) {
            self.extend(slot.map(|value| (name, value)));
        }
    }
}

impl<T> Wrapper for Vec<T> {
    type Inner = Self;
    fn wrap(inner: Self) -> Self {
        inner
    }
    fn inner(&mut self) -> &mut Self {
        self
    }
}

impl<T> Wrapper for BTreeMap<String, T> {
    type Inner = Self;
    fn wrap(inner: Self) -> Self {
        inner
    }
    fn inner(&mut self) -> &mut Self {
        self
    }
}

impl Wrapper for Map<String, Value> {
    type Inner = Self;
    fn wrap(inner: Self) -> Self {
        inner
    }
    fn inner(&mut self) -> &mut Self {
        self
    }
}

fn inner<W: Wrapper>(slot: &mut Option<W>) -> &mut W::Inner {
    slot.get_or_insert_with(|| W::wrap(W::Inner::default()))
        .inner()
}

impl<W: Wrapper<Inner: List>> List for Option<W> {
    fn nothing(&mut self) {
        *self = None;
    }
    fn begin(&mut self) {
        inner(self).begin();
    }
    fn add(&mut self, read: Read<'_>) -> bool {
        inner(self).add(read)
    }
}

impl<W: Wrapper<Inner: Table>> Table for Option<W> {
    fn nothing(&mut self) {
        *self = None;
    }
    fn begin(&mut self) {
        inner(self).begin();
    }
    fn put(&mut self, name: String, read: Read<'_>) {
        inner(self).put(name, read);
    }
}

/// Reads the elements of a list.
pub(crate) fn elements<'de, A: SeqAccess<'de>>(
    list: &mut dyn List,
    pass: &Pass,
    mut seq: A,
) -> Result<(), A::Error> {
    let level = pass.enter();
    list.begin();
    if pass.salvages() {
        while let Some(element) = seq.next_element()? {
            salvage(list, pass, &level, element);
        }
        return Ok(());
    }
    loop {
        let mut outcome = Ok(None);
        let added = list.add(&mut |place| {
            outcome = seq.next_element_seed(place.in_pass(pass));
            matches!(outcome, Ok(Some(())))
        });
        if outcome?.is_none() {
            return Ok(());
        }
        if !added {
            level.dropped(None);
        }
    }
}

/// Reads the only element of a list, which comes without one.
pub(crate) fn only<E>(
    list: &mut dyn List,
    pass: &Pass,
    read: impl FnOnce(Reader<'_, '_>) -> Result<(), E>,
) -> Result<(), E> {
    list.begin();
    let mut read = Some(read);
    let mut outcome = Ok(());
    list.add(&mut |place| {
        if let Some(read) = read.take() {
            outcome = read(place.in_pass(pass));
        }
        outcome.is_ok()
    });
    outcome
}

/// Reads an object that comes instead of a list of it alone.
pub(crate) fn alone<'de, A: MapAccess<'de>>(
    list: &mut dyn List,
    pass: &Pass,
    map: A,
) -> Result<(), A::Error> {
    let level = pass.enter();
    if !pass.salvages() {
        return only(list, pass, |reader| reader.visit_map(map));
    }
    list.begin();
    let map = serde::de::value::MapAccessDeserializer::new(map);
    salvage(list, pass, &level, serde::Deserialize::deserialize(map)?);
    Ok(())
}

/// Reads one element; what cannot be read is left out.
fn salvage(list: &mut dyn List, pass: &Pass, level: &Level<'_>, element: Value) {
    let mut element = Some(element);
    let mut outcome = Ok(());
    let added = list.add(&mut |place| {
        if let Some(element) = element.take() {
            outcome = place.in_pass(pass).deserialize(element);
        }
        outcome.is_ok()
    });
    if !added {
        level.dropped(outcome.err().map(|error| error.to_string()));
    }
}

/// Reads names with values.
pub(crate) fn entries<'de, A: MapAccess<'de>>(
    table: &mut dyn Table,
    pass: &Pass,
    mut map: A,
) -> Result<(), A::Error> {
    while let Some(name) = map.next_key()? {
        let mut outcome = Ok(());
        table.put(name, &mut |place| {
            outcome = map.next_value_seed(place.in_pass(pass));
            outcome.is_ok()
        });
        outcome?;
    }
    Ok(())
}

/// Reads a list of tables into one.
pub(crate) fn tables<'de, A: SeqAccess<'de>>(
    table: &mut dyn Table,
    pass: &Pass,
    mut seq: A,
) -> Result<(), A::Error> {
    table.begin();
    while seq.next_element_seed(More { table, pass })?.is_some() {}
    Ok(())
}

/// Reads a table into one that has entries already.
struct More<'a> {
    table: &'a mut dyn Table,
    pass: &'a Pass,
}

impl<'de> DeserializeSeed<'de> for More<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for More<'_> {
    type Value = ();
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        entries(self.table, self.pass, map)
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
