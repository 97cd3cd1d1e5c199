//! Slots that JSON values are decoded into, and the traits of the types that provide them.

use std::fmt;

use serde::de::Expected;
use serde_json::Value;

/// A JSON object with arbitrary keys and values.
pub(super) type JsonMap = serde_json::Map<String, Value>;

/// Mutable reference to a value, together with the kind of JSON that is expected for it.
#[non_exhaustive]
pub enum Slot<'a> {
    /// A string; numbers and booleans are stored in their JSON spelling.
    Text(&'a mut Option<String>),
    /// A type that is parsed from a string.
    FromText(&'a mut dyn FromText),
    /// An integer, also spelled as a string, as a number without a fraction, or as a boolean.
    Integer(&'a mut Option<i64>),
    /// A number, also spelled as a string.
    Number(&'a mut Option<f64>),
    /// A boolean, also spelled as 0, as 1, or as a string.
    Boolean(&'a mut Option<bool>),
    /// Any JSON value; `null` leaves the slot empty.
    Any(&'a mut Option<Value>),
    /// Any JSON value, including `null`.
    AnyOrNull(&'a mut Option<Value>),
    /// An object, also sent as a list of one object.
    Object(&'a mut dyn Container<dyn Object>),
    /// A list, also sent as its only element.
    List(&'a mut dyn Container<dyn List>),
    /// A map with string keys, also sent as a list of such maps.
    Map(&'a mut dyn Container<dyn Map>),
}

impl Slot<'_> {
    /// Empties the slot, as `null` does.
    pub(super) fn clear(self) {
        match self {
            Slot::Text(value) => *value = None,
            Slot::FromText(value) => value.clear(),
            Slot::Integer(value) => *value = None,
            Slot::Number(value) => *value = None,
            Slot::Boolean(value) => *value = None,
            Slot::Any(value) => *value = None,
            Slot::AnyOrNull(value) => *value = Some(Value::Null),
            Slot::Object(object) => object.clear(),
            Slot::List(list) => list.clear(),
            Slot::Map(map) => map.clear(),
        }
    }
}

/// Describes the expected JSON in error messages.
impl Expected for Slot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Slot::Text(_) | Slot::FromText(_) => "text, also as a number or flag",
            Slot::Integer(_) => "an integer, also as text",
            Slot::Number(_) => "a number, also as text",
            Slot::Boolean(_) => "a flag: true, false, 1, 0, or one of them as text",
            Slot::Any(_) | Slot::AnyOrNull(_) => "any JSON",
            Slot::Object(_) | Slot::Map(_) => "an object",
            Slot::List(_) => "a list",
        })
    }
}

/// A type that can be decoded from every spelling that was observed for its values.
pub trait Decode: Sized + 'static {
    /// Returns the slot for a value of this type. The value stays or becomes `None` when the
    /// service sends `null`, or sends a blank string where a number or an object is expected.
    fn slot(value: &mut Option<Self>) -> Slot<'_>;

    /// Returns the slot for an element of a list or map. Where any JSON is admitted, `null` is
    /// stored as a value, because omitting it would shift the cells of a table row.
    fn element_slot(value: &mut Option<Self>) -> Slot<'_> {
        Self::slot(value)
    }
}

/// Type of a struct field, which may be absent.
pub trait FieldValue {
    /// Returns the slot of the field.
    fn slot(&mut self) -> Slot<'_>;

    /// Returns whether the field is absent. Absent fields are not encoded.
    fn is_absent(&self) -> bool;
}

/// Slot for a type that is parsed from a string: an enumeration or an identifier.
pub trait FromText {
    /// Empties the slot.
    fn clear(&mut self);

    /// Parses a string into the slot.
    ///
    /// # Errors
    /// Returns the reason why the string is not a value of the type.
    fn set_text(&mut self, text: &str) -> Result<(), String>;
}

/// Content that decoding writes to a slot: `dyn Object`, `dyn List` or `dyn Map`.
pub trait Content: 'static {
    /// Returns the slot with this container.
    fn slot(container: &mut dyn Container<Self>) -> Slot<'_>;
}

/// A value whose content decoding fills, or an `Option` of such a value.
pub trait Container<C: ?Sized> {
    /// Removes the content.
    fn clear(&mut self);

    /// Replaces the content by empty content, and returns it.
    fn begin(&mut self) -> &mut C;

    /// Returns the heap memory of empty content, in bytes.
    fn heap_size(&self) -> usize;
}

/// A type whose content is an object, a list or a map.
pub trait Holder: Default + 'static {
    /// The trait of the content: `dyn Object`, `dyn List` or `dyn Map`.
    type Content: Content + ?Sized;

    /// Heap memory of empty content, in bytes.
    const HEAP_SIZE: usize = 0;

    /// Returns the content.
    fn content(&mut self) -> &mut Self::Content;

    /// Returns whether a field of this type counts as absent.
    fn is_absent(&self) -> bool {
        false
    }
}

/// A type with named fields.
pub trait Object {
    /// Returns the slot of the field with this name; `None` for an unknown name.
    fn field(&mut self, name: &str) -> Option<Slot<'_>>;
}

/// Function that decodes one value into a slot, and returns `true` if decoding succeeded.
pub type ReadValue<'a> = &'a mut dyn FnMut(Slot<'_>) -> bool;

/// A list, to which decoded elements are appended.
pub trait List {
    /// Returns the memory for one more element, in bytes: first the memory to allocate, then the
    /// memory that is freed afterwards. Both are 0 while the list has capacity.
    fn growth(&self) -> (usize, usize);

    /// Appends the element that `read` decodes, and returns whether an element was appended.
    fn push_with(&mut self, read: ReadValue<'_>) -> bool;
}

/// A map, to which decoded entries are added.
pub trait Map {
    /// Returns the memory for one more entry, in bytes, excluding the contents of its key and
    /// value.
    fn growth(&self) -> usize;

    /// Adds an entry with the value that `read` decodes. Adds nothing if `read` decodes no value.
    fn insert_with(&mut self, name: String, read: ReadValue<'_>);
}
