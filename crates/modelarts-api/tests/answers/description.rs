//! The response schemas of the OpenAPI description, each field reduced to the kind of its values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::portable_forms;

const SCHEMAS: &str = "#/components/schemas/";

/// The kind of value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Integer,
    Number,
    Flag,
    Text,
    /// An open enumeration, with its known values.
    Open(Vec<String>),
    /// A schema with fields.
    Object(String),
    List(Box<Kind>),
    Map {
        inner: Box<Kind>,
        /// True if the list or map has a named type. A field of such a type may be present and
        /// empty.
        named: bool,
    },
    Any,
}

/// Schemas that occur in responses.
pub struct Description {
    schemas: Map<String, Value>,
    /// Names of the schemas of response bodies.
    pub roots: BTreeSet<String>,
    /// Names of the schemas of response bodies, and of all schemas inside them.
    pub in_answers: BTreeSet<String>,
}

impl Description {
    pub fn read() -> Self {
        let mut root: Value = serde_json::from_str(modelarts_api::DESCRIPTION).unwrap();
        portable_forms::undo(&mut root);
        let schemas = root["components"]["schemas"].as_object().unwrap().clone();
        let mut roots = BTreeSet::new();
        references(&root["components"]["responses"], &mut roots);
        for path in root["paths"].as_object().unwrap().values() {
            for operation in path.as_object().unwrap().values() {
                if let Some(responses) = operation.get("responses") {
                    references(responses, &mut roots);
                }
            }
        }
        let mut in_answers = BTreeSet::new();
        let mut open: Vec<_> = roots.iter().cloned().collect();
        while let Some(name) = open.pop() {
            let mut next = BTreeSet::new();
            references(&schemas[&name], &mut next);
            if in_answers.insert(name) {
                open.extend(next);
            }
        }
        Self { schemas, roots, in_answers }
    }

    /// Returns the number of properties of all response schemas, counted directly in the
    /// description.
    pub fn properties_in_answers(&self) -> usize {
        let schemas = self.in_answers.iter().map(|name| &self.schemas[name]);
        let properties = schemas.filter_map(|schema| schema["properties"].as_object());
        properties.map(Map::len).sum()
    }

    /// Returns the kind of a named schema.
    pub fn named(&self, name: &str) -> Kind {
        let schema = &self.schemas[name];
        if schema.get("properties").is_some() {
            return Kind::Object(name.to_owned());
        }
        match self.kind(schema) {
            Kind::Map { inner, .. } => Kind::Map { inner, named: true },
            kind => kind,
        }
    }

    /// Returns the fields of a schema.
    pub fn fields(&self, name: &str) -> BTreeMap<&str, Kind> {
        let properties = self.schemas[name]["properties"].as_object();
        properties
            .into_iter()
            .flatten()
            .map(|(name, property)| (name.as_str(), self.kind(property)))
            .collect()
    }

    fn kind(&self, schema: &Value) -> Kind {
        if let Some(name) = name(schema).or_else(|| name(schema.get("allOf")?.get(0)?)) {
            return self.named(name);
        }
        if let Some(parts) = schema.get("anyOf") {
            let known = &self.schemas[name(&parts[0]).unwrap()]["enum"];
            let values = known.as_array().unwrap().iter();
            return Kind::Open(values.map(|v| v.as_str().unwrap().to_owned()).collect());
        }
        let inner = |key: &str| Box::new(self.kind(&schema[key]));
        match schema.get("type").and_then(Value::as_str) {
            None => Kind::Any,
            Some("integer") => Kind::Integer,
            Some("number") => Kind::Number,
            Some("boolean") => Kind::Flag,
            Some("string") => Kind::Text,
            Some("array") => Kind::List(inner("items")),
            Some("object") => Kind::Map { inner: inner("additionalProperties"), named: false },
            Some(other) => panic!("type {other}"),
        }
    }
}

fn name(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix(SCHEMAS)
}

fn references(value: &Value, names: &mut BTreeSet<String>) {
    names.extend(name(value).map(str::to_owned));
    match value {
        Value::Object(object) => object
            .iter()
            // Examples are data, not schemas.
            .filter(|(key, _)| *key != "example" && *key != "examples")
            .for_each(|(_, inner)| references(inner, names)),
        Value::Array(list) => list.iter().for_each(|inner| references(inner, names)),
        _ => {}
    }
}

#[test]
fn kinds_of_well_known_fields() {
    let description = Description::read();
    let kind = |schema: &str, field: &str| description.fields(schema)[field].clone();
    assert_eq!(kind("JobStatus", "duration"), Kind::Integer);
    assert_eq!(kind("JobMetadata", "name"), Kind::Text);
    assert!(matches!(kind("JobStatus", "phase"), Kind::Open(values) if values.len() == 8));
    assert_eq!(kind("TrainingJob", "status"), Kind::Object("JobStatus".into()));
    let rows = Kind::List(Box::new(Kind::List(Box::new(Kind::Any))));
    assert_eq!(kind("ResultTable", "data"), rows);
    assert!(!description.in_answers.contains("CreateTrainingJobRequest"));
}
