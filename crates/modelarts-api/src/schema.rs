//! The fields of requests, and the limits that the description states for them.

/// Field of a request schema.
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

/// Kind of JSON value that a field accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// A string.
    Text,
    /// A string from this list; the service may accept more values.
    OneOf(&'static [&'static str]),
    /// An integer.
    Integer,
    /// A number, with or without a fraction.
    Number,
    /// A boolean.
    Boolean,
    /// An object of this schema.
    Object(&'static str),
    /// A list of values of this shape.
    List(&'static Shape),
    /// An object with arbitrary keys and values of this shape.
    Map(&'static Shape),
    /// Any JSON value.
    Any,
}

/// Limit that the description states for a field. Generated code does not enforce limits, because a
/// response that exceeds a limit must still be readable.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Limit {
    /// Schema of the field, such as `JobMetadataRequest`, or operation of the query parameter, such
    /// as `ListTrainingJobEvents`.
    pub schema: &'static str,
    /// Field or parameter; empty when the limit applies to the schema itself. The suffix `[]`
    /// stands for each element of the list, `{}` for each value of the map.
    pub field: &'static str,
    /// Kind of the limit, with its value.
    pub rule: Rule,
}

/// Kind of a limit, with its value. The kinds have the same meaning as in JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Rule {
    /// Minimum length of the string, in characters.
    MinLength(u64),
    /// Maximum length of the string, in characters.
    MaxLength(u64),
    /// Regular expression that the string must match.
    Pattern(&'static str),
    /// Inclusive minimum of the number.
    Minimum(f64),
    /// Exclusive minimum of the number.
    ExclusiveMinimum(f64),
    /// Inclusive maximum of the number.
    Maximum(f64),
    /// Exclusive maximum of the number.
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
