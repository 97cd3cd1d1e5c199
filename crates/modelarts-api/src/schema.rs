//! The fields of requests, and the limits that the description states for them.

/// One field of a schema that requests use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// The schema, such as `JobMetadataRequest`.
    pub schema: &'static str,
    /// The name on the wire, such as `workspace_id`.
    pub name: &'static str,
    /// True if every request must contain the field.
    pub required: bool,
    /// The kind of its JSON value.
    pub shape: Shape,
}

/// The kind of JSON value that the field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// Text.
    Text,
    /// Text that is one of these values; the service may accept more.
    OneOf(&'static [&'static str]),
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// An object of this schema.
    Object(&'static str),
    /// A list.
    List(&'static Shape),
    /// An object whose keys are free.
    Map(&'static Shape),
    /// Any JSON.
    Any,
}

/// A limit that the description states for a field. Generated code does not enforce it, because a
/// response outside the limit must still be readable.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Limit {
    /// The schema of the field, such as `JobMetadataRequest`, or the operation of the query
    /// parameter, such as `ListTrainingJobEvents`.
    pub schema: &'static str,
    /// The field or parameter; empty when the limit is on the schema itself. The suffix `[]` means
    /// each element of the list, `{}` each value of the map.
    pub field: &'static str,
    /// The kind of limit, with its value.
    pub rule: Rule,
}

/// The kinds of limits, with the meaning that JSON Schema gives them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Rule {
    /// Minimum length of the text, in characters.
    MinLength(u64),
    /// Maximum length of the text, in characters.
    MaxLength(u64),
    /// A regular expression that the text must match.
    Pattern(&'static str),
    /// Minimum of the number.
    Minimum(f64),
    /// Bound that the number must exceed.
    ExclusiveMinimum(f64),
    /// Maximum of the number.
    Maximum(f64),
    /// Bound that the number must stay below.
    ExclusiveMaximum(f64),
    /// Minimum number of elements of the list.
    MinItems(u64),
    /// Maximum number of elements of the list.
    MaxItems(u64),
    /// The list must not contain equal elements.
    UniqueItems,
    /// Minimum number of entries of the map.
    MinProperties(u64),
    /// Maximum number of entries of the map.
    MaxProperties(u64),
}
