//! Slots for the field types of generated structs.

use std::{collections::BTreeMap, fmt::Display, str::FromStr};

use serde_json::Value;

use super::slot::{
    Container, Content, Decode, FieldValue, FromText, Holder, JsonMap, List, Map, Object,
    ReadValue, Slot,
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

impl<T: Holder> Decode for T {
    fn slot(value: &mut Option<Self>) -> Slot<'_> {
        T::Content::slot(value)
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

impl<T: Holder> FieldValue for T {
    fn slot(&mut self) -> Slot<'_> {
        T::Content::slot(self)
    }
    fn is_absent(&self) -> bool {
        Holder::is_absent(self)
    }
}

impl Content for dyn Object {
    fn slot(container: &mut dyn Container<Self>) -> Slot<'_> {
        Slot::Object(container)
    }
}

impl Content for dyn List {
    fn slot(container: &mut dyn Container<Self>) -> Slot<'_> {
        Slot::List(container)
    }
}

impl Content for dyn Map {
    fn slot(container: &mut dyn Container<Self>) -> Slot<'_> {
        Slot::Map(container)
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

/// Container for an optional field, or for an element of a list or map.
impl<T: Holder> Container<T::Content> for Option<T> {
    fn clear(&mut self) {
        *self = None;
    }
    fn begin(&mut self) -> &mut T::Content {
        self.insert(T::default()).content()
    }
    fn heap_size(&self) -> usize {
        T::HEAP_SIZE
    }
}

/// Container for a field that is a list or map. An absent field is an empty list or map.
impl<T: Holder> Container<T::Content> for T {
    fn clear(&mut self) {
        *self = T::default();
    }
    fn begin(&mut self) -> &mut T::Content {
        *self = T::default();
        self.content()
    }
    fn heap_size(&self) -> usize {
        T::HEAP_SIZE
    }
}

impl<T: Object + Default + 'static> Holder for Box<T> {
    type Content = dyn Object;
    const HEAP_SIZE: usize = size_of::<T>();

    fn content(&mut self) -> &mut Self::Content {
        &mut **self
    }
}

impl<T: Decode> Holder for Vec<T> {
    type Content = dyn List;
    fn content(&mut self) -> &mut Self::Content {
        self
    }
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Decode> Holder for BTreeMap<String, T> {
    type Content = dyn Map;
    fn content(&mut self) -> &mut Self::Content {
        self
    }
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl Holder for JsonMap {
    type Content = dyn Map;
    fn content(&mut self) -> &mut Self::Content {
        self
    }
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Decode> List for Vec<T> {
    fn growth(&self) -> (usize, usize) {
        if self.len() < self.capacity() {
            return (0, 0);
        }
        // A full `Vec` doubles its capacity.
        let now = self.capacity() * size_of::<T>();
        ((2 * now).max(4 * size_of::<T>()), now)
    }
    fn push_with(&mut self, read: ReadValue<'_>) -> bool {
        let mut element = None;
        // An element whose decoding failed may be incomplete, so it is dropped.
        let complete = read(T::element_slot(&mut element));
        match element {
            Some(element) if complete => {
                self.push(element);
                true
            }
            _ => false,
        }
    }
}

impl<T: Decode> Map for BTreeMap<String, T> {
    fn growth(&self) -> usize {
        map_growth::<T>(self.is_empty())
    }
    fn insert_with(&mut self, name: String, read: ReadValue<'_>) {
        insert(self, name, read);
    }
}

impl Map for JsonMap {
    fn growth(&self) -> usize {
        map_growth::<Value>(self.is_empty())
    }
    fn insert_with(&mut self, name: String, read: ReadValue<'_>) {
        insert(self, name, read);
    }
}

/// Decodes a value with `read`, and adds it to a map as the entry `name`.
fn insert<T: Decode>(map: &mut impl Extend<(String, T)>, name: String, read: ReadValue<'_>) {
    let mut value = None;
    if read(T::element_slot(&mut value)) {
        map.extend(value.map(|value| (name, value)));
    }
}

/// Returns [`Map::growth`] of a B-tree. The nodes of a B-tree hold up to eleven entries, and are
/// half full in the worst case.
fn map_growth<T>(is_empty: bool) -> usize {
    size_of::<(String, T)>() * if is_empty { 12 } else { 2 }
}
