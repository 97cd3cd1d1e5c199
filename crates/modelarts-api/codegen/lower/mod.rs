//! Lowers the description: removes everything that progenitor must not compile.
//!
//! The description states every documented limit, for readers and for generators of other
//! languages. Generated types would enforce the limits while decoding, and one value outside its
//! limit would make the whole answer unreadable. Lowering removes them from a copy.

pub mod open_enums;
mod portable_forms;
mod reachability;

use std::collections::{BTreeMap, BTreeSet};

use heck::ToUpperCamelCase;
use proc_macro2::TokenStream;
use serde_json::{Map, Value, json};

use self::{
    open_enums::OpenEnum,
    reachability::{Roots, reachable},
};
use super::{
    error::Error,
    tables::{
        docs, error_codes,
        fields::{self, Field},
        limits::{self, Limit},
        operations::{self, METHODS, Operation},
        parameters::{self, Parameter},
        request_paths,
    },
};

/// A lowered description, and the facts that lowering removed from it.
pub struct Lowered {
    pub description: Value,
    pub open_enums: Vec<OpenEnum>,
    /// (schema, property) of each secret.
    pub secrets: BTreeSet<(String, String)>,
    /// Schemas that requests contain; only the service creates values of the others.
    pub in_requests: BTreeSet<String>,
    pub operations: Vec<Operation>,
    pub limits: Vec<Limit>,
    pub fields: Vec<Field>,
    pub parameters: Vec<Parameter>,
    /// The table of error codes, as an item.
    pub error_codes: TokenStream,
    /// The paths of the fields of requests, as an item.
    pub request_paths: TokenStream,
}

/// Lowers a description.
pub fn lower(description: &Value) -> Result<Lowered, Error> {
    let mut description = description.clone();
    portable_forms::undo(&mut description);
    let operations = operations::operations(&description)?;
    let limits = limits::limits(&description)?;
    let error_codes = error_codes::table(&description)?;
    let schemas = description
        .pointer("/components/schemas")
        .and_then(Value::as_object)
        .cloned()
        .ok_or_else(|| Error::new("the description has no components/schemas"))?;

    let mut roots = Roots::default();
    roots.collect(&description)?;
    let in_answers = reachable(&schemas, roots.answers)?;
    let in_requests = reachable(&schemas, roots.requests)?;
    let fields = fields::fields(&schemas, &in_requests)?;
    let request_paths = request_paths::table(&schemas, &in_requests);
    let parameters = parameters::parameters(&description, &schemas)?;
    let open_enums = open_enums(&schemas)?;
    let secrets = secrets(&schemas);
    let schemas = lower_schemas(schemas, &open_enums, &in_answers, &roots.identifiers)?;
    lower_components(&mut description, schemas)?;
    lower_paths(&mut description)?;
    Ok(Lowered {
        description,
        open_enums,
        secrets,
        in_requests,
        operations,
        limits,
        fields,
        parameters,
        error_codes,
        request_paths,
    })
}

/// Finds the open enumerations; fails on a name that differs from the name of its Rust type.
fn open_enums(schemas: &Map<String, Value>) -> Result<Vec<OpenEnum>, Error> {
    let mut open_enums = Vec::new();
    for (name, schema) in schemas {
        if name.to_upper_camel_case() != *name {
            return Err(Error(format!(
                "schema {name}: write the name as {}, which is what the type will be called",
                name.to_upper_camel_case()
            )));
        }
        open_enums.extend(OpenEnum::read(name, schema, schemas)?);
    }
    Ok(open_enums)
}

/// Finds the properties that hold secrets, as (schema, property).
fn secrets(schemas: &Map<String, Value>) -> BTreeSet<(String, String)> {
    let mut secrets = BTreeSet::new();
    for (name, schema) in schemas {
        for (property, text) in properties(schema) {
            if text.get("format").and_then(Value::as_str) == Some("password") {
                secrets.insert((name.clone(), property.clone()));
            }
        }
    }
    secrets
}

/// Removes the keywords that generated types must not enforce.
fn lower_schemas(
    schemas: Map<String, Value>,
    open_enums: &[OpenEnum],
    in_answers: &BTreeSet<String>,
    identifiers: &BTreeSet<String>,
) -> Result<Map<String, Value>, Error> {
    let mut lowered = Map::new();
    for (name, mut schema) in schemas {
        if open_enums.iter().any(|open_enum| open_enum.known == name) {
            continue;
        }
        if open_enums.iter().any(|open_enum| open_enum.name == name) {
            // The generated enum replaces this schema; progenitor only needs a schema of that name.
            lowered.insert(name, json!({ "type": "string" }));
            continue;
        }
        if in_answers.contains(&name) && schema.get("enum").is_some() {
            return Err(Error(format!(
                "schema {name}: an answer uses this closed enumeration, and a new value would \
                 make the answer unreadable; write anyOf [Known{name}, string]"
            )));
        }
        let keep = Keep {
            required: !in_answers.contains(&name),
            pattern: identifiers.contains(&name),
        };
        lower_schema(&mut schema, &keep);
        lowered.insert(name, schema);
    }
    Ok(lowered)
}

/// Inserts the lowered schemas, and removes the parts that generated code does not need.
fn lower_components(description: &mut Value, schemas: Map<String, Value>) -> Result<(), Error> {
    let components = object_mut(description, "components")?;
    components.insert("schemas".into(), Value::Object(schemas));
    components.remove("securitySchemes");
    components.remove("examples");
    components.remove("headers");
    for section in ["parameters", "responses"] {
        if let Some(section) = components.get_mut(section).and_then(Value::as_object_mut) {
            section.values_mut().for_each(lower_holder);
        }
    }
    Ok(())
}

/// Lowers the operations, and the parameters that all operations of a path share.
fn lower_paths(description: &mut Value) -> Result<(), Error> {
    for path in object_mut(description, "paths")?.values_mut() {
        let Some(path) = path.as_object_mut() else {
            continue;
        };
        for (key, operation) in path.iter_mut() {
            if METHODS.contains(&key.as_str()) {
                lower_operation(operation)?;
            } else if key == "parameters" {
                lower_parameters(operation);
            }
        }
    }
    Ok(())
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

/// The keywords that a schema keeps.
struct Keep {
    required: bool,
    pattern: bool,
}

const KEEP_NOTHING: Keep = Keep {
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
        // A missing field and a field that is null decode to the same value.
        "nullable",
        // All numbers have the same width in JSON, and all texts have the same type.
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
            lower_schema(property, &KEEP_NOTHING);
        }
    }
    if let Some(parts) = object.get_mut("allOf").and_then(Value::as_array_mut) {
        parts.iter_mut().for_each(|part| lower_schema(part, keep));
    }
}

/// Lowers a parameter, or any other object that holds a schema or media types.
fn lower_holder(holder: &mut Value) {
    let Some(object) = holder.as_object_mut() else {
        return;
    };
    object.remove("headers");
    object.remove("example");
    object.remove("examples");
    if let Some(schema) = object.get_mut("schema") {
        lower_schema(schema, &KEEP_NOTHING);
    }
    if let Some(content) = object.get_mut("content").and_then(Value::as_object_mut) {
        content.values_mut().for_each(lower_holder);
    }
}

fn lower_parameters(list: &mut Value) {
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
        lower_parameters(parameters);
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
            // 204 means "not ready" where another success status has the body. The service mixes up
            // its success codes, so one range covers all of them.
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
