//! Queries on the OpenAPI description, which is held as a JSON value.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    error::Error,
    extensions::{self, Extensions},
    pointer::join,
};

/// HTTP methods of operations in a path item. All other keys of a path item are ignored.
pub const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

/// An operation of the description.
pub struct Operation<'a> {
    pub id: &'a str,
    pub method: &'a str,
    pub path: &'a str,
    pub definition: &'a Value,
    /// The path item, whose parameters all of its operations share.
    item: &'a Value,
}

/// Returns all operations, sorted by their ids.
pub fn operations(description: &Value) -> Result<Vec<Operation<'_>>, Error> {
    if description.get("paths").is_none() {
        return Err(Error::new("the description has no paths"));
    }
    let mut operations = Vec::new();
    for (path, item) in members(description, "paths") {
        for (method, definition) in item.as_object().into_iter().flatten() {
            if METHODS.contains(&method.as_str()) {
                let id = text(definition, "operationId");
                operations.push(Operation {
                    id: id.ok_or_else(|| Error(format!("{method} {path}: no operationId")))?,
                    method,
                    path,
                    definition,
                    item,
                });
            }
        }
    }
    operations.sort_by_key(|operation| operation.id);
    Ok(operations)
}

impl<'a> Operation<'a> {
    /// Returns the JSON pointer to the operation.
    pub fn place(&self) -> String {
        join(&join("/paths", self.path), self.method)
    }

    pub fn extensions(&self) -> Result<Extensions, Error> {
        extensions::of(&self.place(), self.definition)
    }

    /// Returns the parameters: those of the path item, then those of the operation.
    pub fn parameters(&self, description: &'a Value) -> impl Iterator<Item = &'a Value> {
        let (shared, own) = (self.item, self.definition);
        let parameters = elements(shared, "parameters").chain(elements(own, "parameters"));
        parameters.map(move |parameter| resolve(description, parameter))
    }

    /// Returns the definition of the request body; `None` if the operation has no body.
    pub fn body(&self, description: &'a Value) -> Option<&'a Value> {
        let body = self.definition.get("requestBody")?;
        Some(resolve(description, body))
    }
}

/// Returns all schemas of the description by name.
pub fn schemas(description: &Value) -> Result<&Map<String, Value>, Error> {
    let schemas = description.pointer("/components/schemas");
    let schemas = schemas.and_then(Value::as_object);
    schemas.ok_or_else(|| Error::new("the description has no components/schemas"))
}

/// Returns the schema of a parameter or of a JSON body.
pub fn json_schema(holder: &Value) -> Option<&Value> {
    let schema = holder.get("schema");
    schema.or_else(|| holder.pointer("/content/application~1json/schema"))
}

/// Returns the definition itself, or the component that it refers to.
pub fn resolve<'a>(description: &'a Value, definition: &'a Value) -> &'a Value {
    let shared = pointer(definition).and_then(|pointer| description.pointer(pointer));
    shared.unwrap_or(definition)
}

/// Returns the name of the schema that a definition refers to.
pub fn reference(definition: &Value) -> Option<&str> {
    pointer(definition)?.strip_prefix("/components/schemas/")
}

/// Returns the JSON pointer in the `$ref` of a definition. A property that adds its own description
/// to a reference has the `$ref` in its `allOf`.
fn pointer(definition: &Value) -> Option<&str> {
    let reference = definition.get("$ref");
    let reference = reference.or_else(|| definition.pointer("/allOf/0/$ref"));
    reference?.as_str()?.strip_prefix('#')
}

/// Returns the string at this key; `None` for any other value.
pub fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// Returns the elements of the list at this key.
pub fn elements<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// Returns the strings in the list at this key.
pub fn texts<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    elements(value, key).filter_map(Value::as_str)
}

/// Returns the members of the object at this key.
pub fn members<'a>(
    value: &'a Value,
    key: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    value.get(key).and_then(Value::as_object).into_iter().flatten()
}

/// Returns whether the value of the key is `true`.
pub fn is_true(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool) == Some(true)
}

/// Names of the schemas of request and response bodies, including all schemas inside them.
#[derive(Default)]
pub struct Usage {
    pub in_requests: BTreeSet<String>,
    pub in_answers: BTreeSet<String>,
    /// Schemas of path parameters. Only their patterns are enforced, because an invalid identifier
    /// would address another resource.
    pub identifiers: BTreeSet<String>,
}

impl Usage {
    /// Collects the schemas that the operations use.
    pub fn of(description: &Value) -> Result<Self, Error> {
        let mut usage = Self::default();
        for operation in operations(description)? {
            usage.add(description, &operation)?;
        }
        Ok(usage)
    }

    /// Adds the schemas that an operation uses.
    pub fn add(&mut self, description: &Value, operation: &Operation<'_>) -> Result<(), Error> {
        for parameter in operation.parameters(description) {
            references(description, parameter, &mut self.in_requests)?;
            if text(parameter, "in") == Some("path") {
                let schema = parameter.get("schema").and_then(reference);
                self.identifiers.extend(schema.map(str::to_owned));
            }
        }
        if let Some(body) = operation.body(description) {
            references(description, body, &mut self.in_requests)?;
        }
        for (_, response) in members(operation.definition, "responses") {
            let response = resolve(description, response);
            references(description, response, &mut self.in_answers)?;
        }
        Ok(())
    }

    /// Returns whether the schema occurs in requests only.
    pub fn is_only_sent(&self, name: &str) -> bool {
        self.in_requests.contains(name) && !self.in_answers.contains(name)
    }
}

/// Collects the names of the schemas that `value` refers to, directly or through other schemas.
pub fn references(
    description: &Value,
    value: &Value,
    found: &mut BTreeSet<String>,
) -> Result<(), Error> {
    match value {
        Value::Object(object) => {
            if let Some(name) = reference(value)
                && found.insert(name.to_owned())
            {
                let schema = schemas(description)?.get(name).ok_or_else(|| {
                    Error(format!("#/components/schemas/{name} is referred to and not defined"))
                })?;
                references(description, schema, found)?;
            }
            // An example may contain arbitrary data, including a `$ref` key.
            let is_example = |key: &str| key == "example" || key == "examples";
            let mut parts = object.iter().filter(|(key, _)| !is_example(key));
            parts.try_for_each(|(_, part)| references(description, part, found))
        }
        Value::Array(list) => list.iter().try_for_each(|part| references(description, part, found)),
        _ => Ok(()),
    }
}
