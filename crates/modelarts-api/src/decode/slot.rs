//! Slots into which JSON values are decoded, and traits of the types that provide slots.

use std::fmt;

use serde::de::Expected;
use serde_json::Value;

/// JSON object with arbitrary keys and values.
pub(super) type JsonMap = serde_json::Map<String, Value>;

/// Mutable reference to a value, together with the kind of JSON that is expected for it.
#[non_exhaustive]
pub enum Slot<'a> {
    /// String. Numbers and booleans are stored in their JSON notation.
    Text(&'a mut Option<String>),
    /// Value of a type that is parsed from a string.
    FromText(&'a mut dyn FromText),
    /// Integer. Also accepts a string, a number without a fraction, and a boolean.
    Integer(&'a mut Option<i64>),
    /// Number. Also accepts a string.
    Number(&'a mut Option<f64>),
    /// Boolean. Also accepts 0, 1, and a string.
    Boolean(&'a mut Option<bool>),
    /// Any JSON value. `null` empties the slot.
    Any(&'a mut Option<Value>),
    /// Any JSON value, including `null`.
    AnyOrNull(&'a mut Option<Value>),
    /// Object. Also accepts a list of one object.
    Object(&'a mut dyn Container<dyn Object>),
    /// List. Also accepts a single element without the list.
    List(&'a mut dyn Container<dyn List>),
    /// Map with string keys. Also accepts a list of such maps.
    Map(&'a mut dyn Container<dyn Map>),
}

impl Slot<'_> {
    /// Empties the slot, as decoding `null` does.
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

/// Describes the expected JSON for error messages.
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

/// Type that can be decoded from all forms in which the service sends its values.
pub trait Decode: Sized + 'static {
    /// Returns the slot for a value of this type. The value is `None` after decoding if the service
    /// sends `null`, or a blank string instead of, for example, a number or an object.
    fn slot(value: &mut Option<Self>) -> Slot<'_>;

    /// Returns the slot for an element of a list or map. If elements can be any JSON, `null` is
    /// stored as a value, because omitting `null` would shift the cells of a table row.
    fn element_slot(value: &mut Option<Self>) -> Slot<'_> {
        Self::slot(value)
    }
}

/// Type of a struct field, which may be absent.
pub trait FieldValue {
    /// Returns the slot of the field.
    fn slot(&mut self) -> Slot<'_>;

    /// Returns `true` if the field is absent. Absent fields are not encoded.
    fn is_absent(&self) -> bool;
}

/// Slot for a value that is parsed from a string, such as an enumeration or an identifier.
pub trait FromText {
    /// Empties the slot.
    fn clear(&mut self);

    /// Parses a string, and stores the value in the slot.
    ///
    /// # Errors
    /// Returns an error with the reason if the string is not a value of the type.
    fn set_text(&mut self, text: &str) -> Result<(), String>;
}

/// Kind of content that decoding writes to a container: `dyn Object`, `dyn List` or `dyn Map`.
pub trait Content: 'static {
    /// Returns the slot for a container of this kind of content.
    fn slot(container: &mut dyn Container<Self>) -> Slot<'_>;
}

/// Value whose content is filled by decoding, or an `Option` of such a value.
pub trait Container<C: ?Sized> {
    /// Removes the content.
    fn clear(&mut self);

    /// Replaces the content with empty content, and returns the empty content.
    fn begin(&mut self) -> &mut C;

    /// Returns the heap memory that empty content occupies, in bytes.
    fn heap_size(&self) -> usize;
}

/// Type whose content is an object, a list or a map.
pub trait Holder: Default + 'static {
    /// Kind of the content: `dyn Object`, `dyn List` or `dyn Map`.
    type Content: Content + ?Sized;

    /// Heap memory that empty content occupies, in bytes.
    const HEAP_SIZE: usize = 0;

    /// Returns a mutable reference to the content.
    fn content(&mut self) -> &mut Self::Content;

    /// Returns `true` if a field with this value counts as absent. Default: `false`.
    fn is_absent(&self) -> bool {
        false
    }
}

/// Type with named fields.
pub trait Object {
    /// Returns the slot of the field with this JSON name. `None` for an unknown name.
    fn field(&mut self, name: &str) -> Option<Slot<'_>>;
}

/// Function that decodes one value into a slot, and returns `true` if decoding succeeded.
pub type ReadValue<'a> = &'a mut dyn FnMut(Slot<'_>) -> bool;

/// List to which decoded elements are appended.
pub trait List {
    /// Returns the change of memory for one more element: the number of bytes to allocate, and the
    /// number of bytes that are freed afterwards. Both are 0 while the list has capacity.
    fn growth(&self) -> (usize, usize);

    /// Appends the element that `read` decodes. Returns `true` if an element was appended.
    fn push_with(&mut self, read: ReadValue<'_>) -> bool;
}

/// Map to which decoded entries are added.
pub trait Map {
    /// Returns the memory for one more entry, in bytes, excluding the contents of the key and of
    /// the value.
    fn growth(&self) -> usize;

    /// Adds an entry with the value that `read` decodes. Adds nothing if `read` decodes no value.
    fn insert_with(&mut self, name: String, read: ReadValue<'_>);
}
