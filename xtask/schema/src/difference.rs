//! Difference between a generated type and the description.

use std::fmt;

use crate::shape::Shape;

#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Name of the type.
    pub name: String,
    /// Name of the field; `None` for the type itself.
    pub field: Option<String>,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// The generated types lack this type or field.
    NotDerived,
    /// The description lacks this type or field.
    NotDescribed,
    Shape {
        described: Shape,
        derived: Shape,
    },
    /// Only the type or only the description admits null.
    Null {
        described: bool,
        /// The shape of the value.
        shape: Shape,
        /// True if the type requires the field.
        required: bool,
    },
    Required {
        described: bool,
        shape: Shape,
    },
    /// A keyword that only the type or only the description has.
    Keyword {
        keyword: String,
        described: bool,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(field) = &self.field {
            write!(f, ".{field}")?;
        }
        f.write_str(": ")?;
        let or = |is: bool, yes, no| if is { yes } else { no };
        match &self.kind {
            Kind::NotDerived => f.write_str("described, and not derived"),
            Kind::NotDescribed => f.write_str("derived, and not described"),
            Kind::Shape { described, derived } => {
                write!(f, "described as {described}, derived as {derived}")
            }
            Kind::Null { described, .. } => write!(
                f,
                "described as {}, derived as {}",
                or(*described, "nullable", "not nullable"),
                or(*described, "not nullable", "nullable"),
            ),
            Kind::Required { described, .. } => write!(
                f,
                "described as {}, derived as {}",
                or(*described, "required", "optional"),
                or(*described, "optional", "required"),
            ),
            Kind::Keyword { keyword, described } => write!(
                f,
                "{keyword} is {}, and not {}",
                or(*described, "described", "derived"),
                or(*described, "derived", "described"),
            ),
        }
    }
}
