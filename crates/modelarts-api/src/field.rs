//! What the description says about the fields of what is sent.

/// One field of a schema that requests use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// The schema, such as `JobMetadataRequest`.
    pub schema: &'static str,
    /// The name on the wire, such as `workspace_id`.
    pub name: &'static str,
    /// Whether it must be there.
    pub required: bool,
    /// What it holds.
    pub shape: Shape,
}

impl Field {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(
        schema: &'static str,
        name: &'static str,
        required: bool,
        shape: Shape,
    ) -> Self {
        Self {
            schema,
            name,
            required,
            shape,
        }
    }
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// Text.
    Text,
    /// Text that is one of these; the service may know more.
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
    /// Anything.
    Any,
}
