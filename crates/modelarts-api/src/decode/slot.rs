//! Where a value goes, and what a type must have to be read.

use std::fmt;

use serde::de::Expected;
use serde_json::Value;

/// Where a value goes, by its kind.
#[non_exhaustive]
pub enum Target<'a> {
    /// Text; numbers and flags are taken as they are written.
    Text(&'a mut Option<String>),
    /// Text of a certain form.
    Word(&'a mut dyn Word),
    /// An integer, also as text, as a number without a fraction, or as a flag.
    Integer(&'a mut Option<i64>),
    /// A number, also as text.
    Number(&'a mut Option<f64>),
    /// A flag, also as 0, 1, or text.
    Flag(&'a mut Option<bool>),
    /// Any JSON; `null` is nothing.
    Any(&'a mut Option<Value>),
    /// Any JSON; `null` is a value.
    Cell(&'a mut Option<Value>),
    /// An object; also as a list of it alone.
    Object(&'a mut dyn Nested),
    /// A list; also its only element.
    List(&'a mut dyn List),
    /// Names with values; also as a list of such.
    Table(&'a mut dyn Table),
}

impl<'a> Target<'a> {
    pub(crate) fn nothing(self) {
        match self {
            Target::Text(slot) => *slot = None,
            Target::Word(word) => word.nothing(),
            Target::Integer(slot) => *slot = None,
            Target::Number(slot) => *slot = None,
            Target::Flag(slot) => *slot = None,
            Target::Any(slot) => *slot = None,
            Target::Cell(slot) => *slot = Some(Value::Null),
            Target::Object(slot) => slot.nothing(),
            Target::List(list) => list.nothing(),
            Target::Table(table) => table.nothing(),
        }
    }
}

/// What is said to be expected in a place.
impl Expected for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Target::Text(_) | Target::Word(_) => "text, also as a number or flag",
            Target::Integer(_) => "an integer, also as text",
            Target::Number(_) => "a number, also as text",
            Target::Flag(_) => "a flag: true, false, 1, 0, or one of them as text",
            Target::Any(_) | Target::Cell(_) => "any JSON",
            Target::Object(_) | Target::Table(_) => "an object",
            Target::List(_) => "a list",
        })
    }
}

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

/// What has fields.
pub trait Object {
    /// The field of this name, if there is one.
    fn field(&mut self, name: &str) -> Option<Target<'_>>;
}

/// Puts fields into an object.
pub type Fill<'a> = &'a mut dyn FnMut(&mut dyn Object);

/// What is made of fields.
pub trait Make: Sized {
    /// How many bytes one takes on the heap, without what its fields hold.
    const HEAP: usize = 0;

    /// Makes one of the fields that `fill` puts in.
    ///
    /// # Errors
    /// The name of a field that must be there and is not.
    fn make(slot: &mut Option<Self>, fill: Fill<'_>) -> Result<(), &'static str>;
}

/// A place for an object.
pub trait Nested {
    /// Nothing was said.
    fn nothing(&mut self);

    /// As [`Make::HEAP`].
    fn heap(&self) -> usize;

    /// As [`Make::make`].
    ///
    /// # Errors
    /// As [`Make::make`].
    fn make(&mut self, fill: Fill<'_>) -> Result<(), &'static str>;
}

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

/// What a field holds: something, or nothing.
pub trait Slot {
    /// Where its value goes.
    fn place(&mut self) -> Target<'_>;

    /// Whether there is nothing to write.
    fn is_vacant(&self) -> bool;
}
