//! Finds the schemas that requests and answers consist of.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::super::{error::Error, tables::operations::METHODS};

const SCHEMAS: &str = "#/components/schemas/";

/// The schemas that bodies and parameters refer to directly.
#[derive(Default)]
pub struct Roots {
    pub requests: BTreeSet<String>,
    pub answers: BTreeSet<String>,
    /// Schemas of path parameters. Only their patterns are enforced, because an invalid identifier
    /// would address another resource.
    pub identifiers: BTreeSet<String>,
}

impl Roots {
    /// Collects the roots of all operations.
    pub fn collect(&mut self, description: &Value) -> Result<(), Error> {
        let parameters = description
            .pointer("/components/parameters")
            .and_then(Value::as_object);
        for parameter in parameters.into_iter().flat_map(Map::values) {
            self.parameter(parameter);
        }
        let responses = description
            .pointer("/components/responses")
            .and_then(Value::as_object);
        for response in responses.into_iter().flat_map(Map::values) {
            references(response, &mut self.answers);
        }
        let paths = description
            .get("paths")
            .and_then(Value::as_object)
            .ok_or_else(|| Error::new("the description has no paths"))?;
        for path in paths.values().filter_map(Value::as_object) {
            // The parameters of the path, which all of its operations share.
            self.parameters(path.get("parameters"));
            for (key, operation) in path {
                if !METHODS.contains(&key.as_str()) {
                    continue;
                }
                if let Some(body) = operation.get("requestBody") {
                    references(body, &mut self.requests);
                }
                if let Some(responses) = operation.get("responses") {
                    references(responses, &mut self.answers);
                }
                self.parameters(operation.get("parameters"));
            }
        }
        Ok(())
    }

    fn parameters(&mut self, parameters: Option<&Value>) {
        let parameters = parameters.and_then(Value::as_array);
        for parameter in parameters.into_iter().flatten() {
            self.parameter(parameter);
        }
    }

    fn parameter(&mut self, parameter: &Value) {
        let Some(schema) = parameter.get("schema") else {
            return;
        };
        references(schema, &mut self.requests);
        if parameter.get("in").and_then(Value::as_str) == Some("path") {
            references(schema, &mut self.identifiers);
        }
    }
}

/// Collects the names of the schemas that `value` refers to.
fn references(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            if let Some(name) = object
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|reference| reference.strip_prefix(SCHEMAS))
            {
                names.insert(name.to_owned());
            }
            for (key, value) in object {
                // An example may contain any data, including data that has the form of a reference.
                if key != "example" && key != "examples" {
                    references(value, names);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| references(value, names)),
        _ => {}
    }
}

/// Finds the schemas that these refer to, directly or indirectly.
pub fn reachable(
    schemas: &Map<String, Value>,
    roots: BTreeSet<String>,
) -> Result<BTreeSet<String>, Error> {
    let mut found = BTreeSet::new();
    let mut open: Vec<String> = roots.into_iter().collect();
    while let Some(name) = open.pop() {
        let schema = schemas
            .get(&name)
            .ok_or_else(|| Error(format!("{SCHEMAS}{name} is referred to and not defined")))?;
        if found.insert(name) {
            let mut next = BTreeSet::new();
            references(schema, &mut next);
            open.extend(next);
        }
    }
    Ok(found)
}
