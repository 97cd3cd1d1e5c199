//! Parts of the description that rules check, each with its JSON Pointer.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::codegen::{
    description::{self, json_schema, members, resolve, text},
    extensions::{self, ErrorRow, Extensions, Location},
    pointer::join,
};

/// Description with its typed extensions.
pub struct Document<'a> {
    pub root: &'a Value,
    pub operations: Vec<Operation<'a>>,
    /// Objects at any depth of the paths and components, without examples and other data.
    pub objects: Vec<(String, &'a Map<String, Value>)>,
    pub extensions: OfDescription,
}

/// Operation with its typed extensions.
pub struct Operation<'a> {
    pub place: String,
    pub inner: description::Operation<'a>,
    pub extensions: Extensions,
}

/// Extensions of the whole description.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OfDescription {
    pub x_error_table: Vec<ErrorRow>,
    pub x_events: Events,
    pub x_waiters: Vec<Waiter>,
}

/// Events of a job, which clients parse and the emulator writes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Events {
    pub placeholders: Vec<Placeholder>,
    pub kinds: Vec<Kind>,
}

/// Variable part of the texts of events.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placeholder {
    pub name: String,
    pub pattern: String,
    pub example: String,
    pub description: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    pub kind: String,
    pub source: String,
    pub level: String,
    pub when: String,
    #[serde(default)]
    pub r#final: bool,
    pub texts: Texts,
    #[serde(default)]
    pub examples: Vec<EventExample>,
}

/// Texts of a kind of event: those of the user guide, and different wordings in responses.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Texts {
    pub guide: Vec<String>,
    pub api: Vec<String>,
}

/// Event that a document shows as an example.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventExample {
    pub source: String,
    #[serde(rename = "text")]
    _text: String,
}

/// Operation that clients repeat until a field of the response has a final value.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiter {
    pub name: String,
    pub description: String,
    pub operation: String,
    pub field: String,
    pub outcomes: Vec<Outcome>,
}

/// End of a waiter: a value of the field, or an error code.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    pub value: Option<String>,
    pub error: Option<String>,
    pub outcome: OutcomeKind,
}

/// Meaning of the end of a waiter.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeKind {
    Success,
    Failure,
    Terminated,
    Gone,
}

impl<'a> Document<'a> {
    /// Reads the description. The errors concern the form of the extensions.
    pub fn read(root: &'a Value) -> Result<Self, Vec<String>> {
        let mut errors = Vec::new();
        let mut operations = Vec::new();
        match description::operations(root) {
            Err(error) => errors.push(error.to_string()),
            Ok(all) => {
                for inner in all {
                    match inner.extensions() {
                        Err(error) => errors.push(error.to_string()),
                        Ok(extensions) => {
                            operations.push(Operation { place: inner.place(), inner, extensions })
                        }
                    }
                }
            }
        }
        let extensions = extensions::of("", root).map_err(|error| errors.push(error.to_string()));
        let mut objects = Vec::new();
        for part in ["paths", "components"] {
            if let Some(part_of) = root.get(part) {
                collect(part_of, format!("/{part}"), &mut objects);
            }
        }
        match extensions {
            Ok(extensions) if errors.is_empty() => {
                Ok(Self { root, operations, objects, extensions })
            }
            _ => Err(errors),
        }
    }

    /// Returns the definitions of parameters, with their JSON Pointers.
    pub fn parameters(&self) -> impl Iterator<Item = (&String, &'a Map<String, Value>)> {
        let objects = self.objects.iter().map(|(place, object)| (place, *object));
        objects.filter(|(_, object)| object.contains_key("in") && object.contains_key("schema"))
    }

    /// Returns the values of an enumeration.
    pub fn values(&self, schema: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let schema = self.root.pointer(&join("/components/schemas", schema));
        schema.into_iter().flat_map(|schema| description::texts(schema, "enum"))
    }

    /// Returns the known values of a schema: those of a closed or an open enumeration, or of the
    /// enumeration that `x-open-enum` names.
    pub fn known_values(&self, schema: &'a Value) -> Vec<&'a str> {
        let schema = resolve(self.root, schema);
        let part = schema.pointer("/anyOf/0").and_then(description::reference);
        match text(schema, "x-open-enum").or(part) {
            Some(known) => self.values(known).collect(),
            None => description::texts(schema, "enum").collect(),
        }
    }

    /// Returns the schema of a parameter of an operation.
    pub fn parameter(&self, of: &Operation<'a>, at: Location, name: &str) -> Option<&'a Value> {
        if at == Location::Body {
            let body = of.inner.body(self.root).and_then(json_schema)?;
            return self.property(body, name);
        }
        let at = format!("{at:?}").to_lowercase();
        let mut parameters = of.inner.parameters(self.root);
        let found = parameters.find(|it| it["in"] == *at && it["name"] == *name);
        found?.get("schema")
    }

    /// Returns the schema of the successful response of an operation.
    pub fn answer(&self, of: &Operation<'a>) -> Option<&'a Value> {
        let mut responses = members(of.inner.definition, "responses");
        let schema = responses.find_map(|(_, response)| json_schema(response))?;
        Some(resolve(self.root, schema))
    }

    /// Returns the schema of a field of the response. `path` joins the names of nested fields by
    /// dots; an empty path denotes the response itself.
    pub fn field(&self, of: &Operation<'a>, path: &str) -> Option<&'a Value> {
        let names = path.split('.').filter(|name| !name.is_empty());
        names.into_iter().try_fold(self.answer(of)?, |schema, name| self.property(schema, name))
    }

    fn property(&self, schema: &'a Value, name: &str) -> Option<&'a Value> {
        resolve(self.root, schema).get("properties")?.get(name)
    }
}

/// Collects the objects in `value`, whose JSON Pointer is `place`.
fn collect<'a>(
    value: &'a Value,
    place: String,
    objects: &mut Vec<(String, &'a Map<String, Value>)>,
) {
    match value {
        Value::Object(object) => {
            let is_data = |key: &str| ["example", "examples", "enum"].contains(&key);
            for (key, inner) in object {
                // Under `properties`, such a key is the name of a property.
                if !key.starts_with("x-") && (!is_data(key) || place.ends_with("/properties")) {
                    collect(inner, join(&place, key), objects);
                }
            }
            objects.push((place, object));
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                collect(inner, join(&place, &index.to_string()), objects);
            }
        }
        _ => {}
    }
}
