//! Shape of a schema, in a form that is common to OpenAPI and JSON Schema.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// Types by name.
pub type Types = BTreeMap<String, Field>;

/// Named type, or field of a type.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub shape: Shape,
    pub nullable: bool,
    pub required: bool,
    /// Further keywords, such as `maxLength`.
    pub keywords: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Any JSON.
    Any,
    /// Another named type.
    Named(String),
    Scalar {
        kind: String,
        format: Option<String>,
    },
    List(Box<Shape>),
    Map(Box<Shape>),
    Values {
        values: Vec<String>,
        open: bool,
    },
    Object(BTreeMap<String, Field>),
    /// A schema whose form is not recognized, as JSON.
    Odd(String),
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any JSON"),
            Self::Named(name) => f.write_str(name),
            Self::Scalar { kind, format: None } => f.write_str(kind),
            Self::Scalar {
                kind,
                format: Some(format),
            } => write!(f, "{kind} {format}"),
            Self::List(inner) => write!(f, "list of {inner}"),
            Self::Map(inner) => write!(f, "map of {inner}"),
            Self::Values { values, open } => {
                let or = if *open { ", or other text" } else { "" };
                write!(f, "one of {}{or}", values.join(", "))
            }
            Self::Object(fields) => write!(f, "object with {} fields", fields.len()),
            Self::Odd(text) => write!(f, "what cannot be compared: {text}"),
        }
    }
}
