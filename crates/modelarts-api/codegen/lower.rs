//! The description as progenitor should see it.
//!
//! The description states every documented limit, for readers and for other
//! languages. Generated types would enforce them while decoding, and one answer
//! that breaks one would be unreadable as a whole. So a copy loses them.

use std::collections::{BTreeMap, BTreeSet};

use heck::ToUpperCamelCase;
use serde_json::{Map, Value, json};

use super::{
    Error, docs,
    facts::{self, Limit, METHODS, Operation},
    fields::{self, Field},
    open_enum::OpenEnum,
    parameters::{self, Parameter},
    spelling,
};

const SCHEMAS: &str = "#/components/schemas/";

/// A lowered description, and what it said before.
pub struct Lowered {
    pub description: Value,
    pub open_enums: Vec<OpenEnum>,
    /// (schema, property) of each secret.
    pub secrets: BTreeSet<(String, String)>,
    /// Schemas that requests need; all others are made by the service alone.
    pub in_requests: BTreeSet<String>,
    pub operations: Vec<Operation>,
    pub limits: Vec<Limit>,
    pub fields: Vec<Field>,
    pub parameters: Vec<Parameter>,
}

pub fn lower(description: &Value) -> Result<Lowered, Error> {
    let mut description = description.clone();
    spelling::undo(&mut description);
    let operations = facts::operations(&description)?;
    let limits = facts::limits(&description)?;
    let schemas = description
        .pointer("/components/schemas")
        .and_then(Value::as_object)
        .cloned()
        .ok_or_else(|| Error::new("the description has no components/schemas"))?;

    let mut roots = Roots::default();
    roots.collect(&description)?;
    let in_answers = reachable(&schemas, roots.answers)?;
    let in_requests = reachable(&schemas, roots.requests)?;
    let identifiers = roots.identifiers;
    let fields = fields::fields(&schemas, &in_requests)?;
    let parameters = parameters::parameters(&description, &schemas)?;

    let mut open_enums = Vec::new();
    let mut closed = BTreeSet::new();
    for (name, schema) in &schemas {
        if name.to_upper_camel_case() != *name {
            return Err(Error(format!(
                "schema {name}: write the name as {}, which is what the type will be called",
                name.to_upper_camel_case()
            )));
        }
        if let Some(open_enum) = OpenEnum::read(name, schema, &schemas)? {
            closed.insert(open_enum.known.clone());
            open_enums.push(open_enum);
        }
    }

    let mut secrets = BTreeSet::new();
    let mut lowered = Map::new();
    for (name, schema) in schemas {
        if closed.contains(&name) {
            continue;
        }
        if open_enums.iter().any(|open_enum| open_enum.name == name) {
            // Replaced by its own type; progenitor needs to see that it exists.
            lowered.insert(name, json!({ "type": "string" }));
            continue;
        }
        for (property, text) in properties(&schema) {
            if text.get("format").and_then(Value::as_str) == Some("password") {
                secrets.insert((name.clone(), property.clone()));
            }
        }
        if in_answers.contains(&name) && schema.get("enum").is_some() {
            return Err(Error(format!(
                "schema {name}: an answer uses this closed enumeration, and a new value would \
                 make the answer unreadable; write anyOf [Known{name}, string]"
            )));
        }
        let mut schema = schema;
        lower_schema(
            &mut schema,
            &Keep {
                required: !in_answers.contains(&name),
                pattern: identifiers.contains(&name),
            },
        );
        lowered.insert(name, schema);
    }
    let components = description
        .get_mut("components")
        .and_then(Value::as_object_mut)
        .ok_or_else(|| Error::new("the description has no components"))?;
    components.insert("schemas".into(), Value::Object(lowered));
    components.remove("securitySchemes");
    components.remove("examples");
    components.remove("headers");
    for section in ["parameters", "responses"] {
        if let Some(section) = components.get_mut(section).and_then(Value::as_object_mut) {
            section.values_mut().for_each(lower_holder);
        }
    }
    for path in object_mut(&mut description, "paths")?.values_mut() {
        let Some(path) = path.as_object_mut() else {
            continue;
        };
        for (key, operation) in path.iter_mut() {
            if METHODS.contains(&key.as_str()) {
                lower_operation(operation)?;
            } else if key == "parameters" {
                lower_all(operation);
            }
        }
    }
    Ok(Lowered {
        description,
        open_enums,
        secrets,
        in_requests,
        operations,
        limits,
        fields,
        parameters,
    })
}

fn object_mut<'a>(value: &'a mut Value, key: &str) -> Result<&'a mut Map<String, Value>, Error> {
    value
        .get_mut(key)
        .and_then(Value::as_object_mut)
        .ok_or_else(|| Error(format!("the description has no {key}")))
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

// ------------------------------------------------------------- who uses which

/// The schemas that bodies and parameters begin with.
#[derive(Default)]
struct Roots {
    requests: BTreeSet<String>,
    answers: BTreeSet<String>,
    /// Schemas of path parameters: the only ones whose pattern is enforced,
    /// because a wrong identifier would address something else.
    identifiers: BTreeSet<String>,
}

impl Roots {
    fn collect(&mut self, description: &Value) -> Result<(), Error> {
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
            // Those of the path itself, which all of its operations have.
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
                // An example may hold anything, also something that looks like a reference.
                if key != "example" && key != "examples" {
                    references(value, names);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| references(value, names)),
        _ => {}
    }
}

fn reachable(
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

// ------------------------------------------------------------------- lowering

struct Keep {
    required: bool,
    pattern: bool,
}

const NOTHING: Keep = Keep {
    required: false,
    pattern: false,
};

fn lower_schema(schema: &mut Value, keep: &Keep) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    for key in [
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
        "default",
        "title",
        "discriminator",
        "example",
        "examples",
        "readOnly",
        "writeOnly",
        // What the service leaves out and what it sends as null is the same to us.
        "nullable",
        // Every number is as wide as JSON writes it, every text is text.
        "format",
    ] {
        object.remove(key);
    }
    object.retain(|key, _| !key.starts_with("x-"));
    if !keep.pattern {
        object.remove("pattern");
    }
    if !keep.required {
        object.remove("required");
    }
    match object.get("type").and_then(Value::as_str) {
        Some("integer") => {
            object.insert("format".into(), "int64".into());
        }
        Some("number") => {
            object.insert("format".into(), "double".into());
        }
        _ => {}
    }
    match object.get_mut("additionalProperties") {
        Some(Value::Bool(_)) => {
            object.remove("additionalProperties");
        }
        Some(values) => lower_schema(values, keep),
        None => {}
    }
    if let Some(items) = object.get_mut("items") {
        lower_schema(items, keep);
    }
    if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        for property in properties.values_mut() {
            lower_schema(property, &NOTHING);
        }
    }
    if let Some(parts) = object.get_mut("allOf").and_then(Value::as_array_mut) {
        parts.iter_mut().for_each(|part| lower_schema(part, keep));
    }
}

/// A parameter, or anything else that holds a schema or media types.
fn lower_holder(holder: &mut Value) {
    let Some(object) = holder.as_object_mut() else {
        return;
    };
    object.remove("headers");
    object.remove("example");
    object.remove("examples");
    if let Some(schema) = object.get_mut("schema") {
        lower_schema(schema, &NOTHING);
    }
    if let Some(content) = object.get_mut("content").and_then(Value::as_object_mut) {
        content.values_mut().for_each(lower_holder);
    }
}

fn lower_all(list: &mut Value) {
    if let Some(list) = list.as_array_mut() {
        list.iter_mut().for_each(lower_holder);
    }
}

fn lower_operation(operation: &mut Value) -> Result<(), Error> {
    let id = operation
        .get("operationId")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let facts = docs::list(operation);
    let Some(object) = operation.as_object_mut() else {
        return Ok(());
    };
    object.retain(|key, _| !key.starts_with("x-") && key != "security");
    let text = object.get("description").and_then(Value::as_str);
    let text = format!("{}\n\n{facts}", text.unwrap_or_default());
    object.insert("description".into(), text.trim().into());
    if let Some(parameters) = object.get_mut("parameters") {
        lower_all(parameters);
    }
    if let Some(body) = object.get_mut("requestBody") {
        lower_holder(body);
    }
    let responses = object
        .get("responses")
        .and_then(Value::as_object)
        .ok_or_else(|| Error(format!("operation {id}: no responses")))?;
    let mut kept = BTreeMap::new();
    for (status, response) in responses {
        let mut response = response.clone();
        lower_holder(&mut response);
        match status.as_bytes() {
            // 204 says "not ready" where another success has the body. The
            // service mixes up its success codes, so that one range serves all.
            b"204" if responses.keys().any(|s| s.starts_with('2') && s != "204") => {}
            [b'2', ..] => {
                if kept.insert("2XX".to_owned(), response).is_some() {
                    return Err(Error(format!(
                        "operation {id}: more than one success with a body"
                    )));
                }
            }
            b"4XX" | b"5XX" => {
                kept.insert(status.clone(), response);
            }
            _ => {
                return Err(Error(format!(
                    "operation {id}: response {status}; errors are written as 4XX and 5XX"
                )));
            }
        }
    }
    object.insert("responses".into(), json!(kept));
    Ok(())
}
