//! Explanations of differences between types and description. Each is an effect of lowering, the
//! step that simplifies the description for the generator. A difference without an explanation is
//! an error.

use crate::{
    described::Described,
    difference::{Difference, Kind},
    shape::Shape,
};

/// Effect of lowering that explains differences.
pub struct Explanation {
    pub name: &'static str,
    /// Text with the effect and its reason.
    pub says: &'static str,
    covers: fn(&Difference, &Described) -> bool,
}

pub const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        name: "known-values",
        says: "a list of known values has no type of its own: its open enumeration contains them",
        covers: |it, description| {
            it.kind == Kind::NotDerived
                && it.field.is_none()
                && description.known.contains(&it.name)
        },
    },
    Explanation {
        name: "widths",
        says: "integers are int64 and numbers double: a wider value must not make an answer unreadable",
        covers: |it, _| match &it.kind {
            Kind::Shape { described, derived } => widened(described) == *derived,
            _ => false,
        },
    },
    Explanation {
        name: "limits",
        says: "limits are in LIMITS, not in types: an answer outside a limit must be readable",
        covers: |it, _| match &it.kind {
            Kind::Keyword {
                keyword,
                described: true,
            } => LIMITS.contains(&keyword.as_str()),
            _ => false,
        },
    },
    Explanation {
        name: "documentation",
        says: "examples, deprecations and names of constants are for readers of the description",
        covers: |it, _| match &it.kind {
            Kind::Keyword {
                keyword,
                described: true,
            } => ["deprecated", "example", "x-open-enum"].contains(&keyword.as_str()),
            _ => false,
        },
    },
    Explanation {
        name: "missing-is-null",
        says: "an optional field reads null as missing",
        covers: |it, _| {
            matches!(
                it.kind,
                Kind::Null {
                    described: false,
                    required: false,
                    ..
                }
            ) && it.field.is_some()
        },
    },
    Explanation {
        name: "null-is-empty",
        says: "a list or map reads null as empty",
        covers: |it, _| match &it.kind {
            Kind::Null {
                described: true,
                shape,
                ..
            } => is_collection(shape) && it.field.is_some(),
            _ => false,
        },
    },
    Explanation {
        name: "null-where-used",
        says: "a named object that may be null is optional in the fields that hold it",
        covers: |it, _| {
            matches!(
                it.kind,
                Kind::Null {
                    described: true,
                    shape: Shape::Object(_),
                    ..
                }
            ) && it.field.is_none()
        },
    },
    Explanation {
        name: "nothing-required-of-answers",
        says: "a missing field must not make a whole answer unreadable",
        covers: |it, description| {
            matches!(
                it.kind,
                Kind::Required {
                    described: true,
                    ..
                }
            ) && description.in_answers.contains(&it.name)
        },
    },
];

/// Keywords that the generator converts to rows of `modelarts_api::LIMITS`.
const LIMITS: [&str; 12] = [
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maximum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "minimum",
    "minItems",
    "minLength",
    "minProperties",
    "pattern",
    "uniqueItems",
];

fn is_collection(shape: &Shape) -> bool {
    matches!(shape, Shape::List(_) | Shape::Map(_))
}

/// Returns a shape with the number formats that lowering sets.
fn widened(shape: &Shape) -> Shape {
    match shape {
        Shape::List(inner) => Shape::List(Box::new(widened(inner))),
        Shape::Map(inner) => Shape::Map(Box::new(widened(inner))),
        Shape::Scalar {
            kind,
            format: Some(format),
        } => {
            let wide = match format.as_str() {
                "int32" => "int64",
                "float" => "double",
                format => format,
            };
            Shape::Scalar {
                kind: kind.clone(),
                format: Some(wide.to_owned()),
            }
        }
        other => other.clone(),
    }
}

/// Returns the explanation of a difference, as an index into [`EXPLANATIONS`].
pub fn explain(difference: &Difference, description: &Described) -> Option<usize> {
    EXPLANATIONS
        .iter()
        .position(|explanation| (explanation.covers)(difference, description))
}
