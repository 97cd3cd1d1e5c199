//! The types of fields in generated structs.

use std::{collections::BTreeMap, fmt::Display, str::FromStr};

use serde_json::Value;

use super::slot::{
    Decode, FieldValue, FillFields, FromFields, FromText, JsonMap, List, Map, Object, ObjectSlot,
    ReadValue, Slot, Wrapper,
};

impl Decode for String {
    fn slot(value: &mut Option<Self>) -> Slot<'_> {
        Slot::Text(value)
    }
}

impl Decode for i64 {
    fn slot(value: &mut Option<Self>) -> Slot<'_> {
        Slot::Integer(value)
    }
}

impl Decode for f64 {
    fn slot(value: &mut Option<Self>) -> Slot<'_> {
        Slot::Number(value)
    }
}

impl Decode for bool {
    fn slot(value: &mut Option<Self>) -> Slot<'_> {
        Slot::Boolean(value)
    }
}

impl Decode for Value {
    fn slot(value: &mut Option<Self>) -> Slot<'_> {
        Slot::Any(value)
    }
    fn element_slot(value: &mut Option<Self>) -> Slot<'_> {
        Slot::AnyOrNull(value)
    }
}

impl<T: Decode> Decode for Vec<T> {
    fn slot(value: &mut Option<Self>) -> Slot<'_> {
        Slot::List(value)
    }
}

impl<T: Decode> Decode for BTreeMap<String, T> {
    fn slot(value: &mut Option<Self>) -> Slot<'_> {
        Slot::Map(value)
    }
}

impl Decode for JsonMap {
    fn slot(value: &mut Option<Self>) -> Slot<'_> {
        Slot::Map(value)
    }
}

impl<T: Object + Default> Decode for Box<T> {
    fn slot(value: &mut Option<Self>) -> Slot<'_> {
        Slot::Object(value)
    }
}

impl<T: FromStr<Err: Display>> FromText for Option<T> {
    fn clear(&mut self) {
        *self = None;
    }
    fn set_text(&mut self, text: &str) -> Result<(), String> {
        *self = Some(text.parse().map_err(|error: T::Err| error.to_string())?);
        Ok(())
    }
}

impl<T: Object + Default> FromFields for Box<T> {
    const HEAP_SIZE: usize = size_of::<T>();

    fn from_fields(value: &mut Option<Self>, fill: FillFields<'_>) -> Result<(), &'static str> {
        fill(&mut **value.insert(Self::default()));
        Ok(())
    }
}

/// [`FromFields::from_fields`] for a type whose fields are all optional, such as those of answers.
pub fn fill_in_place<T: Object + Default>(
    value: &mut Option<T>,
    fill: FillFields<'_>,
) -> Result<(), &'static str> {
    fill(value.insert(T::default()));
    Ok(())
}

impl<T: FromFields> ObjectSlot for Option<T> {
    fn clear(&mut self) {
        *self = None;
    }
    fn heap_size(&self) -> usize {
        T::HEAP_SIZE
    }
    fn fill(&mut self, fill: FillFields<'_>) -> Result<(), &'static str> {
        T::from_fields(self, fill)
    }
}

impl<T: Decode> FieldValue for Option<T> {
    fn slot(&mut self) -> Slot<'_> {
        T::slot(self)
    }
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: Decode> FieldValue for Vec<T> {
    fn slot(&mut self) -> Slot<'_> {
        Slot::List(self)
    }
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Decode> FieldValue for BTreeMap<String, T> {
    fn slot(&mut self) -> Slot<'_> {
        Slot::Map(self)
    }
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl FieldValue for JsonMap {
    fn slot(&mut self) -> Slot<'_> {
        Slot::Map(self)
    }
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

/// [`List::growth`] of a `Vec`, which doubles its capacity.
fn vec_growth<T>(list: &Vec<T>) -> (usize, usize) {
    if list.len() < list.capacity() {
        return (0, 0);
    }
    let now = list.capacity() * size_of::<T>();
    ((2 * now).max(4 * size_of::<T>()), now)
}

/// [`Map::growth`] of a B-tree, whose nodes have room for eleven entries and are half full in the
/// worst case.
fn map_growth<T>(is_empty: bool) -> usize {
    size_of::<(String, T)>() * if is_empty { 12 } else { 2 }
}

impl<T: Decode> List for Vec<T> {
    fn clear(&mut self) {
        *self = Self::new();
    }
    fn begin(&mut self) {
        *self = Self::new();
    }
    fn growth(&mut self) -> (usize, usize) {
        vec_growth(self)
    }
    fn push_with(&mut self, read: ReadValue<'_>) -> bool {
        let mut slot = None;
        // An element that failed may be incomplete.
        let complete = read(T::element_slot(&mut slot));
        match slot {
            Some(element) if complete => {
                self.push(element);
                true
            }
            _ => false,
        }
    }
}

impl<T: Decode> Map for BTreeMap<String, T> {
    fn clear(&mut self) {
        self.clear();
    }
    fn begin(&mut self) {
        self.clear();
    }
    fn growth(&mut self) -> usize {
        map_growth::<T>(self.is_empty())
    }
    fn insert_with(&mut self, name: String, read: ReadValue<'_>) {
        let mut slot = None;
        if read(T::element_slot(&mut slot)) {
            self.extend(slot.map(|value| (name, value)));
        }
    }
}

impl Map for JsonMap {
    fn clear(&mut self) {
        self.clear();
    }
    fn begin(&mut self) {
        self.clear();
    }
    fn growth(&mut self) -> usize {
        map_growth::<Value>(self.is_empty())
    }
    fn insert_with(&mut self, name: String, read: ReadValue<'_>) {
        let mut slot = None;
        if read(Value::element_slot(&mut slot)) {
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

impl Wrapper for JsonMap {
    type Inner = Self;
    fn wrap(inner: Self) -> Self {
        inner
    }
    fn inner(&mut self) -> &mut Self {
        self
    }
}

fn inner<W: Wrapper>(wrapper: &mut Option<W>) -> &mut W::Inner {
    wrapper
        .get_or_insert_with(|| W::wrap(W::Inner::default()))
        .inner()
}

impl<W: Wrapper<Inner: List>> List for Option<W> {
    fn clear(&mut self) {
        *self = None;
    }
    fn begin(&mut self) {
        inner(self).begin();
    }
    fn growth(&mut self) -> (usize, usize) {
        inner(self).growth()
    }
    fn push_with(&mut self, read: ReadValue<'_>) -> bool {
        inner(self).push_with(read)
    }
}

impl<W: Wrapper<Inner: Map>> Map for Option<W> {
    fn clear(&mut self) {
        *self = None;
    }
    fn begin(&mut self) {
        inner(self).begin();
    }
    fn growth(&mut self) -> usize {
        inner(self).growth()
    }
    fn insert_with(&mut self, name: String, read: ReadValue<'_>) {
        inner(self).insert_with(name, read);
    }
}
