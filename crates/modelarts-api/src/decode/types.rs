//! The types that can be read.

use std::{collections::BTreeMap, fmt::Display, str::FromStr};

use serde_json::{Map, Value};

use super::slot::{
    Fill, Lenient, List, Make, Nested, Object, Read, Slot, Table, Target, Word, Wrapper,
};

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

impl<T: FromStr<Err: Display>> Word for Option<T> {
    fn nothing(&mut self) {
        *self = None;
    }
    fn set(&mut self, text: &str) -> Result<(), String> {
        *self = Some(text.parse().map_err(|error: T::Err| error.to_string())?);
        Ok(())
    }
}

impl<T: Object + Default> Make for Box<T> {
    const HEAP: usize = size_of::<T>();

    fn make(slot: &mut Option<Self>, fill: Fill<'_>) -> Result<(), &'static str> {
        fill(&mut **slot.insert(Self::default()));
        Ok(())
    }
}

/// [`Make::make`] where all fields may be missing, which is what the service sends.
pub fn in_place<T: Object + Default>(
    slot: &mut Option<T>,
    fill: Fill<'_>,
) -> Result<(), &'static str> {
    fill(slot.insert(T::default()));
    Ok(())
}

impl<T: Make> Nested for Option<T> {
    fn nothing(&mut self) {
        *self = None;
    }
    fn heap(&self) -> usize {
        T::HEAP
    }
    fn make(&mut self, fill: Fill<'_>) -> Result<(), &'static str> {
        T::make(self, fill)
    }
}

impl<T: Lenient> Slot for Option<T> {
    fn place(&mut self) -> Target<'_> {
        T::place(self)
    }
    fn is_vacant(&self) -> bool {
        self.is_none()
    }
}

impl<T: Lenient> Slot for Vec<T> {
    fn place(&mut self) -> Target<'_> {
        Target::List(self)
    }
    fn is_vacant(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Lenient> Slot for BTreeMap<String, T> {
    fn place(&mut self) -> Target<'_> {
        Target::Table(self)
    }
    fn is_vacant(&self) -> bool {
        self.is_empty()
    }
}

impl Slot for Map<String, Value> {
    fn place(&mut self) -> Target<'_> {
        Target::Table(self)
    }
    fn is_vacant(&self) -> bool {
        self.is_empty()
    }
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
