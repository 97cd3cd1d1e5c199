//! Tables of request fields, and of the limits that the description states.

/// Field of a request schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// Name of the schema, such as `JobMetadataRequest`.
    pub schema: &'static str,
    /// JSON name of the field, such as `workspace_id`.
    pub name: &'static str,
    /// `true` if every object of the schema must contain the field.
    pub required: bool,
    /// JSON type of the field.
    pub shape: Shape,
}

/// JSON type that a field or parameter accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// String.
    Text,
    /// String from this list. The service may accept values that the list does not contain.
    OneOf(&'static [&'static str]),
    /// Integer.
    Integer,
    /// Number, with or without a fraction.
    Number,
    /// Boolean.
    Boolean,
    /// Object of the schema with this name.
    Object(&'static str),
    /// List of values of this type.
    List(&'static Shape),
    /// Object with arbitrary keys and values of this type.
    Map(&'static Shape),
    /// Any JSON value.
    Any,
}

/// Limit that the description states for a field or parameter. Generated code does not enforce
/// limits, because a response that exceeds a limit must still be readable.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Limit {
    /// Name of the schema of the field, such as `JobMetadataRequest`, or of the operation with the
    /// query parameter, such as `ListTrainingJobEvents`.
    pub schema: &'static str,
    /// Name of the field or parameter. Empty if the limit applies to the schema itself. The suffix
    /// `[]` stands for each element of the list, and `{}` for each value of the map.
    pub field: &'static str,
    /// Kind and value of the limit.
    pub rule: Rule,
}

/// Kind and value of a limit. The kinds have the same meaning as in JSON Schema.
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
    /// Requirement that the list contains no equal elements.
    UniqueItems,
    /// Minimum number of entries of the map.
    MinProperties(u64),
    /// Maximum number of entries of the map.
    MaxProperties(u64),
}
