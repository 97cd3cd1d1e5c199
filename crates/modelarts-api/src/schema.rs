//! The fields of requests, and the limits that the description states for them.

/// One field of a schema that requests use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// The schema, such as `JobMetadataRequest`.
    pub schema: &'static str,
    /// The name on the wire, such as `workspace_id`.
    pub name: &'static str,
    /// True if every request must have it.
    pub required: bool,
    /// The kind of its value.
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
    /// The schema, such as `JobMetadataRequest`, or the operation for a query
    /// parameter, such as `ListTrainingJobEvents`.
    pub schema: &'static str,
    /// The field or parameter; empty when the limit is on the schema itself. The suffix `[]` means
    /// each element of the list, `{}` each value of the map.
    pub field: &'static str,
    /// The limit.
    pub rule: Rule,
}

/// The kinds of limits, with the meaning that JSON Schema gives them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Rule {
    /// Shortest text, in characters.
    MinLength(u64),
    /// Longest text, in characters.
    MaxLength(u64),
    /// A regular expression that the text must match.
    Pattern(&'static str),
    /// Smallest number.
    Minimum(f64),
    /// The number must be larger than this.
    ExclusiveMinimum(f64),
    /// Largest number.
    Maximum(f64),
    /// The number must be smaller than this.
    ExclusiveMaximum(f64),
    /// Fewest elements.
    MinItems(u64),
    /// Most elements.
    MaxItems(u64),
    /// No two equal elements.
    UniqueItems,
    /// Fewest entries of a map.
    MinProperties(u64),
    /// Most entries of a map.
    MaxProperties(u64),
}
