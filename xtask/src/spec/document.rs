//! Parts of the description that rules check: schemas, parameters, operations and bodies, each with
//! its JSON pointer.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::pointer::join;

const METHODS: [&str; 8] = [
    "get", "put", "post", "delete", "patch", "head", "options", "trace",
];
const SCHEMAS: &str = "#/components/schemas/";

/// Description with its parts.
pub struct Document<'a> {
    pub root: &'a Value,
    pub schemas: Vec<Schema<'a>>,
    pub parameters: Vec<Parameter<'a>>,
    pub operations: Vec<Operation<'a>>,
    /// Bodies of requests and responses, by media type.
    pub bodies: Vec<Body<'a>>,
    /// Names of the schemas that responses use.
    pub in_answers: BTreeSet<&'a str>,
}

/// A schema at any depth.
pub struct Schema<'a> {
    pub place: String,
    pub value: &'a Value,
    pub role: Role<'a>,
}

/// Position of a schema in the description.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role<'a> {
    /// A named schema under `components/schemas`.
    Named(&'a str),
    /// The schema of a property.
    Property,
    /// The schema of the elements of a list, or of the values of a map.
    Element,
    /// A subschema of `allOf`, `anyOf`, `oneOf` or `not`.
    Part,
    /// The schema of a parameter or a header.
    Parameter,
    /// The schema of a request or a response.
    Body,
}

/// Parameter, with the JSON pointer to its definition.
pub struct Parameter<'a> {
    pub place: String,
    pub value: &'a Value,
}

/// Operation of the description.
pub struct Operation<'a> {
    pub place: String,
    pub value: &'a Value,
    /// Parameters of the operation and of its path, with references resolved.
    pub parameters: Vec<&'a Value>,
}

/// A media type of a request or a response.
pub struct Body<'a> {
    pub place: String,
    pub value: &'a Value,
}

impl<'a> Document<'a> {
    pub fn new(root: &'a Value) -> Self {
        let mut document = Self {
            root,
            schemas: Vec::new(),
            parameters: Vec::new(),
            operations: Vec::new(),
            bodies: Vec::new(),
            in_answers: BTreeSet::new(),
        };
        for (name, schema) in document.section("schemas") {
            let place = join("/components/schemas", name);
            document.schema(place, schema, Role::Named(name));
        }
        for (name, parameter) in document.section("parameters") {
            document.parameter(join("/components/parameters", name), parameter);
        }
        for (name, header) in document.section("headers") {
            let place = join("/components/headers", name);
            document.schema_of(&place, header, Role::Parameter);
        }
        for (name, body) in document.section("requestBodies") {
            document.content(&join("/components/requestBodies", name), body);
        }
        let mut answers = BTreeSet::new();
        for (name, response) in document.section("responses") {
            document.content(&join("/components/responses", name), response);
            references(response, &mut answers);
        }
        for (path, item) in entries(root.get("paths")) {
            document.path(&join("/paths", path), item, &mut answers);
        }
        document.in_answers = document.reachable(answers);
        document
    }

    /// Returns the target of a local reference.
    pub fn follow(&self, value: &'a Value) -> &'a Value {
        value
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|reference| self.root.pointer(reference.strip_prefix('#')?))
            .unwrap_or(value)
    }

    /// Returns the known values of a schema: those of a closed or an open enumeration, or of the
    /// enumeration that `x-open-enum` names.
    pub fn known_values(&self, schema: &'a Value) -> &'a [Value] {
        let schema = self.resolve(schema);
        let named = schema.get("x-open-enum").and_then(Value::as_str);
        let named = named.and_then(|name| self.at(&join("/components/schemas", name)));
        let open = list(schema.get("anyOf")).iter();
        let part = open.clone().find(|part| reference(part).is_some());
        match named.or(part) {
            Some(known) => self.known_values(known),
            None => list(schema.get("enum")),
        }
    }

    /// Returns the value at a JSON pointer of the description.
    pub fn at(&self, place: &str) -> Option<&'a Value> {
        self.root.pointer(place)
    }

    /// Returns all documentation texts with their JSON pointers, except for those in examples.
    pub fn texts(&self) -> Vec<(String, &'a str)> {
        let mut found = Vec::new();
        texts(self.root, "", &mut found);
        found
    }

    /// Resolves a reference to a named schema, direct or by `allOf`.
    pub fn resolve(&self, schema: &'a Value) -> &'a Value {
        let wrapped = schema
            .get("allOf")
            .and_then(Value::as_array)
            .and_then(|parts| parts.first())
            .unwrap_or(schema);
        self.follow(wrapped)
    }

    fn section(&self, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
        entries(self.root.pointer(&join("/components", name)))
    }

    fn path(&mut self, place: &str, item: &'a Value, answers: &mut BTreeSet<&'a str>) {
        let shared = list(item.get("parameters"));
        self.parameters_at(&join(place, "parameters"), shared);
        for (method, operation) in entries(Some(item)) {
            if !METHODS.contains(&method.as_str()) {
                continue;
            }
            let place = join(place, method);
            let own = list(operation.get("parameters"));
            self.parameters_at(&join(&place, "parameters"), own);
            if let Some(body) = operation.get("requestBody") {
                self.content(&join(&place, "requestBody"), body);
            }
            for (status, response) in entries(operation.get("responses")) {
                let place = join(&join(&place, "responses"), status);
                self.content(&place, response);
                references(response, answers);
            }
            let parameters = shared.iter().chain(own).map(|p| self.follow(p)).collect();
            self.operations.push(Operation {
                place,
                value: operation,
                parameters,
            });
        }
    }

    fn parameters_at(&mut self, place: &str, parameters: &'a [Value]) {
        for (index, parameter) in parameters.iter().enumerate() {
            if parameter.get("$ref").is_none() {
                self.parameter(join(place, &index.to_string()), parameter);
            }
        }
    }

    fn parameter(&mut self, place: String, value: &'a Value) {
        self.schema_of(&place, value, Role::Parameter);
        self.parameters.push(Parameter { place, value });
    }

    /// Collects the media types and headers of a request or a response.
    fn content(&mut self, place: &str, holder: &'a Value) {
        for (name, header) in entries(holder.get("headers")) {
            let place = join(&join(place, "headers"), name);
            self.schema_of(&place, header, Role::Parameter);
        }
        for (media_type, value) in entries(holder.get("content")) {
            let place = join(&join(place, "content"), media_type);
            self.schema_of(&place, value, Role::Body);
            self.bodies.push(Body { place, value });
        }
    }

    fn schema_of(&mut self, place: &str, holder: &'a Value, role: Role<'a>) {
        if let Some(schema) = holder.get("schema") {
            self.schema(join(place, "schema"), schema, role);
        }
    }

    fn schema(&mut self, place: String, value: &'a Value, role: Role<'a>) {
        for key in ["items", "additionalProperties"] {
            if let Some(inner) = value.get(key).filter(|inner| inner.is_object()) {
                self.schema(join(&place, key), inner, Role::Element);
            }
        }
        if let Some(inner) = value.get("not") {
            self.schema(join(&place, "not"), inner, Role::Part);
        }
        for key in ["allOf", "anyOf", "oneOf"] {
            for (index, part) in list(value.get(key)).iter().enumerate() {
                let place = join(&join(&place, key), &index.to_string());
                self.schema(place, part, Role::Part);
            }
        }
        for (name, property) in entries(value.get("properties")) {
            let place = join(&join(&place, "properties"), name);
            self.schema(place, property, Role::Property);
        }
        self.schemas.push(Schema { place, value, role });
    }

    fn reachable(&self, roots: BTreeSet<&'a str>) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&str> = roots.into_iter().collect();
        while let Some(name) = open.pop() {
            if found.insert(name) {
                let mut next = BTreeSet::new();
                if let Some(schema) = self.at(&join("/components/schemas", name)) {
                    references(schema, &mut next);
                }
                open.extend(next);
            }
        }
        found
    }
}

/// Returns the name of the schema that a reference points to.
pub fn reference(value: &Value) -> Option<&str> {
    value.get("$ref")?.as_str()?.strip_prefix(SCHEMAS)
}

/// Returns the entries of an object. The result is empty if the value is missing or not an object.
pub fn entries(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::iter)
}

/// Returns the elements of a list. The result is empty if the value is missing or not a list.
pub fn list(value: Option<&Value>) -> &[Value] {
    value
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// Keys of documentation texts. The last three occur in `x-error-table` and `x-events`.
const TEXTS: [&str; 5] = ["description", "summary", "meaning", "advice", "when"];

/// Collects the documentation texts in `value`, whose JSON pointer is `place`.
fn texts<'a>(value: &'a Value, place: &str, found: &mut Vec<(String, &'a str)>) {
    match value {
        Value::Object(object) => {
            for (key, inner) in object {
                let place = join(place, key);
                match inner {
                    Value::String(text) if TEXTS.contains(&key.as_str()) => {
                        found.push((place, text));
                    }
                    // Under `properties`, such a key is the name of a property.
                    _ if ["example", "examples", "enum"].contains(&key.as_str())
                        && !place.ends_with(&format!("/properties/{key}")) => {}
                    _ => texts(inner, &place, found),
                }
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                texts(inner, &join(place, &index.to_string()), found);
            }
        }
        _ => {}
    }
}

/// Collects the names of the schemas that `value` refers to.
fn references<'a>(value: &'a Value, names: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(object) => {
            names.extend(reference(value));
            for (key, inner) in object {
                // Skips examples, which are data even if they have the form of a reference.
                if key != "example" && key != "examples" {
                    references(inner, names);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|inner| references(inner, names)),
        _ => {}
    }
}
