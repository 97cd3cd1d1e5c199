//! Lists and tables, element by element.

use std::collections::BTreeMap;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
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
    /// How many bytes the space for one more element takes that must be made for it, and how
    /// many bytes the space takes that there is until then; zeros while there is room.
    fn growth(&mut self) -> (usize, usize);
    /// Adds the element that is read, if it says something.
    fn add(&mut self, read: Read<'_>) -> bool;
}

/// Names with values, which grow by what is read.
pub trait Table {
    /// Nothing was said.
    fn nothing(&mut self);
    /// Begins anew.
    fn begin(&mut self);
    /// How many bytes one more name with its value takes, without what they hold.
    fn growth(&mut self) -> usize;
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

/// [`List::growth`] of a `Vec`, which doubles its space.
fn growth_of<T>(list: &Vec<T>) -> (usize, usize) {
    if list.len() < list.capacity() {
        return (0, 0);
    }
    let now = list.capacity() * size_of::<T>();
    ((2 * now).max(4 * size_of::<T>()), now)
}

/// [`Table::growth`] of a map. A table has nodes for eleven entries, which are half full in
/// the worst case.
fn growth_of_table<T>(is_empty: bool) -> usize {
    size_of::<(String, T)>() * if is_empty { 12 } else { 2 }
}

impl<T: Lenient> List for Vec<T> {
    fn nothing(&mut self) {
        *self = Self::new();
    }
    fn begin(&mut self) {
        *self = Self::new();
    }
    fn growth(&mut self) -> (usize, usize) {
        growth_of(self)
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
    fn growth(&mut self) -> usize {
        growth_of_table::<T>(self.is_empty())
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
    fn growth(&mut self) -> usize {
        growth_of_table::<Value>(self.is_empty())
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
    fn growth(&mut self) -> (usize, usize) {
        inner(self).growth()
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
    fn growth(&mut self) -> usize {
        inner(self).growth()
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
        loop {
            let before = pass.room();
            let mut element = None;
            let next = Target::Cell(&mut element).in_pass(pass);
            if seq.next_element_seed(next)?.is_none() {
                return Ok(());
            }
            let held = before - pass.room();
            make_room(list, pass)?;
            if salvage(list, pass, &level, element.unwrap_or_default())? {
                pass.give_back(held);
            } else {
                pass.restore(before);
            }
        }
    }
    loop {
        let before = pass.room();
        make_room(list, pass)?;
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
            pass.restore(before);
        }
    }
}

/// Reads the elements of a list of any JSON.
pub(crate) fn cells<'de, A: SeqAccess<'de>>(
    items: &mut Vec<Value>,
    pass: &Pass,
    mut seq: A,
) -> Result<(), A::Error> {
    loop {
        make_room(items, pass)?;
        let mut item = None;
        let next = Target::Cell(&mut item).in_pass(pass);
        if seq.next_element_seed(next)?.is_none() {
            return Ok(());
        }
        items.push(item.unwrap_or_default());
    }
}

/// Takes the memory for one more element.
fn make_room<E: Error>(list: &mut dyn List, pass: &Pass) -> Result<(), E> {
    pass.count()?;
    let (needed, freed) = list.growth();
    if needed > 0 {
        // The elements are moved: for a moment there are both.
        pass.take(needed)?;
        pass.give_back(freed);
    }
    Ok(())
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
    let mut element = None;
    Target::Cell(&mut element).in_pass(pass).visit_map(map)?;
    salvage(list, pass, &level, element.unwrap_or_default())?;
    Ok(())
}

/// Reads one element, and says whether it was added; what cannot be read is left out.
fn salvage<E: Error>(
    list: &mut dyn List,
    pass: &Pass,
    level: &Level<'_>,
    element: Value,
) -> Result<bool, E> {
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
    pass.go_on()?;
    Ok(added)
}

/// Reads names with values.
pub(crate) fn entries<'de, A: MapAccess<'de>>(
    table: &mut dyn Table,
    pass: &Pass,
    mut map: A,
) -> Result<(), A::Error> {
    while let Some(name) = map.next_key::<String>()? {
        pass.count()?;
        pass.take(name.len() + table.growth())?;
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
