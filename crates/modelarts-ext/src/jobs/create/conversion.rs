//! Conversion of documents and of responses into the request body of a job creation.

use modelarts_api::{Shape, request_path::parameter};
use serde_json::{Map, Value};

use crate::{
    error::violation::{Actual, Violation},
    spelling::nearest,
    validation::{
        json_path::{Fields, Located, general_name, has_content},
        limits::{self, BODY},
        report::Warning,
        response_only::is_response_only,
    },
};

/// State of a conversion: its violations, and its warnings about fields that are not sent. A
/// conversion turns numbers into strings where strings are required, and removes nulls.
#[derive(Default)]
pub(super) struct Conversion {
    /// `true` for a response of the service. The conversion then preserves undocumented fields,
    /// omits empty values and the fields that only the service sets, and tolerates other
    /// deviations.
    is_answer: bool,
    pub(super) violations: Vec<Violation>,
    pub(super) warnings: Vec<Warning>,
}

impl Conversion {
    pub(super) fn of_answer() -> Self {
        Self { is_answer: true, ..Self::default() }
    }

    pub(super) fn convert_body(&mut self, document: &Value) -> Value {
        let body = self.convert(Shape::Object(BODY), "", &Located::root(document));
        body.unwrap_or_else(|| Value::Object(Map::new()))
    }

    /// Converts a field of this name; returns `None` if the field must not occur in a request.
    pub(super) fn convert(
        &mut self,
        shape: Shape,
        name: &str,
        located: &Located<'_>,
    ) -> Option<Value> {
        let value = located.value()?;
        let converted = match (shape, value) {
            (Shape::Object(schema), Value::Object(_)) => self.convert_object(schema, located),
            // The service returns some lists with a single element as that element.
            (Shape::List(inner), _) if self.is_answer || value.is_array() => {
                let items = match value {
                    Value::Array(_) => located.items(),
                    _ => Fields::from(located.as_only_item()),
                };
                let items = items.iter();
                let items = items.filter_map(|item| self.convert(*inner, "", item));
                items.collect()
            }
            (Shape::Map(inner), Value::Object(_)) if !self.is_answer => {
                let entries = located.keys().filter_map(|key| {
                    let entry = self.convert(*inner, "", &located.entry(key))?;
                    Some((key.to_owned(), entry))
                });
                Value::Object(entries.collect())
            }
            (Shape::Text | Shape::OneOf(_), Value::Number(_) | Value::Bool(_)) => {
                value.to_string().into()
            }
            (Shape::Integer | Shape::Number | Shape::Boolean, Value::String(text))
                if self.is_answer =>
            {
                let read = serde_json::from_str(text.trim()).ok();
                let read = read.filter(|read| limits::fits(shape, read));
                read.unwrap_or_else(|| value.clone())
            }
            // In a response, a value of the wrong type is preserved, because the validation reports
            // it.
            _ if self.is_answer || limits::fits(shape, value) => value.clone(),
            _ => {
                self.violations.push(Violation::new(
                    located.path(),
                    located.actual(),
                    format!("must be {}", limits::shape_in_words(shape)),
                    None,
                    "change its type",
                ));
                return None;
            }
        };
        // The value of a hyper-parameter may be empty.
        let may_be_empty = !self.is_answer || (shape == Shape::Text && name == parameter::VALUE);
        (may_be_empty || has_content(&converted)).then_some(converted)
    }

    fn convert_object(&mut self, schema: &str, located: &Located<'_>) -> Value {
        let mut object = Map::new();
        for (name, member) in located.members() {
            let field = limits::field(schema, name);
            let is_kept = field.is_some() && !self.is_answer;
            if !is_kept && is_response_only(&general_name(member.path())) {
                self.warnings.push(Warning::new(
                    member.path(),
                    Actual::Field,
                    "only the service sets this field, so it is not sent",
                ));
            } else if field.is_none() && !self.is_answer {
                self.violations.push(unknown_field(schema, name, &member));
            } else {
                let shape = field.map_or(Shape::Any, |field| field.shape);
                let value = self.convert(shape, name, &member);
                object.extend(value.map(|value| (name.to_owned(), value)));
            }
        }
        Value::Object(object)
    }
}

fn unknown_field(schema: &str, name: &str, located: &Located<'_>) -> Violation {
    let advice = match nearest(name, limits::fields(schema).map(|field| field.name)) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => "leave it out".to_owned(),
    };
    // The violation omits the value, because an unknown field may be a misspelt secret.
    let rule = "there is no such field";
    Violation::new(located.path(), Actual::Field, rule, None, advice)
}
