//! The JSON Schema of job files, which the program contains, is that of the OpenAPI description.

use std::{collections::BTreeSet, fs, sync::LazyLock};

use serde_json::{Map, Value, json};

use super::directory;

static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(modelarts_ext::api::DESCRIPTION).unwrap());

const ROOT: &str = "CreateTrainingJobRequest";
const COMPONENTS: &str = "#/components/schemas/";
const DEFINITIONS: &str = "#/definitions/";

/// Fields that a request must have, and a job file may lack: the program adds them.
const ADDED: [(&str, &str); 4] = [
    (ROOT, "kind"),
    (ROOT, "metadata"),
    ("JobMetadataRequest", "name"),
    ("OutputRequest", "remote"),
];

/// Sentences about what only a job file may have.
const NOTES: [(&str, &str, &str); 4] = [
    ("JobMetadataRequest", "name", "By default, the name of the script with random characters."),
    (
        "JobAlgorithmRequest",
        "code_dir",
        "A relative path is a directory beside this file, which is sent to OBS.",
    ),
    (
        "InputRemoteRequest",
        "obs",
        "A relative path is a directory beside this file, which is sent to OBS.",
    ),
    ("OutputRequest", "remote", "By default, a new directory in the bucket of the context."),
];

/// `UPDATE=1` writes the file.
#[test]
fn the_schema_of_job_files_is_that_of_the_description() {
    let path = directory().join("job-file.json");
    let text = format!("{:#}\n", job_schema());
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap();
    assert!(stored == text, "job-file.json differs; set UPDATE=1 to write it");
    jsonschema::meta::validate(&job_schema()).unwrap();
}

/// Returns the schema, in the draft that the YAML extensions of editors read.
///
/// It has only the fields of a request, and only the documented values of enumerations. `check`
/// warns about values that the documents do not list, because the service may accept them.
fn job_schema() -> Value {
    let mut definitions = Map::new();
    let mut pending = vec![ROOT.to_owned()];
    while let Some(name) = pending.pop() {
        if definitions.contains_key(&name) {
            continue;
        }
        let mut schema = component(&name).clone();
        if let Some(known) = schema["anyOf"][0]["$ref"].as_str().and_then(name_of) {
            schema["enum"] = component(known)["enum"].clone();
            schema["type"] = "string".into();
            remove(&mut schema, "anyOf");
        }
        convert(&mut schema, "", &mut pending);
        definitions.insert(name, schema);
    }
    allow_nulls(&mut definitions);
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Job file of modelarts",
        "$ref": format!("{DEFINITIONS}{ROOT}"),
        "definitions": definitions,
    });
    for (name, field) in ADDED {
        if let Some(required) = schema["definitions"][name]["required"].as_array_mut() {
            required.retain(|other| other != field);
        }
    }
    for (name, field, note) in NOTES {
        let text = &mut schema["definitions"][name]["properties"][field]["description"];
        *text = format!("{} {note}", text.as_str().unwrap_or_default()).into();
    }
    schema
}

fn component(name: &str) -> &'static Value {
    &DOCUMENT["components"]["schemas"][name]
}

fn name_of(reference: &str) -> Option<&str> {
    reference.strip_prefix(COMPONENTS)
}

fn remove(schema: &mut Value, keyword: &str) -> Option<Value> {
    schema.as_object_mut()?.remove(keyword)
}

/// Allows null, which counts as a missing field. Returns the definition that must allow it.
fn allow_null(schema: &mut Value) -> Option<String> {
    let null = Value::from("null");
    match schema.get_mut("type") {
        Some(Value::Array(types)) if types.contains(&null) => return None,
        Some(Value::Array(types)) => types.push(null),
        Some(kind) => *kind = json!([kind.clone(), "null"]),
        None => {
            let reference = schema.get("$ref").or(schema.pointer("/allOf/0/$ref"))?;
            return reference.as_str()?.strip_prefix(DEFINITIONS).map(str::to_owned);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.push(Value::Null);
    }
    None
}

/// Allows null for the fields that a job file may lack.
fn allow_nulls(definitions: &mut Map<String, Value>) {
    let mut nullable = BTreeSet::new();
    for definition in definitions.values_mut() {
        let required = definition.get("required").cloned().unwrap_or_default();
        let fields = definition.get_mut("properties").and_then(Value::as_object_mut);
        for (name, field) in fields.into_iter().flatten() {
            let mut names = required.as_array().into_iter().flatten();
            let is_added = ADDED.iter().any(|(_, added)| added == name);
            if is_added || !names.any(|required| required == name) {
                nullable.extend(allow_null(field));
            }
        }
    }
    for name in nullable {
        allow_null(&mut definitions[&name]);
    }
}

/// Converts a schema of OpenAPI 3.0 in place. `name` is the name of its field. Adds the names of
/// the schemas to which it refers to `pending`.
fn convert(schema: &mut Value, name: &str, pending: &mut Vec<String>) {
    if let Some(target) = schema["$ref"].as_str().and_then(name_of) {
        pending.push(target.to_owned());
        *schema = json!({"$ref": format!("{DEFINITIONS}{target}")});
        return;
    }
    if let Some(default) = remove(schema, "x-default") {
        schema["default"] = default;
    }
    if remove(schema, "exclusiveMinimum").is_some_and(|exclusive| exclusive == true) {
        schema["exclusiveMinimum"] = remove(schema, "minimum").unwrap_or_default();
    }
    let is_nullable = remove(schema, "nullable").is_some_and(|nullable| nullable == true);
    let kind = schema["type"].as_str().unwrap_or_default();
    let mut types = vec![kind];
    // As in YAML files, numbers are texts where the service expects texts.
    if kind == "string" && schema.get("enum").is_none() {
        types.push("number");
    }
    if kind == "string" && name == "value" {
        types.push("boolean");
    }
    if is_nullable {
        types.push("null");
    }
    if types.len() > 1 {
        schema["type"] = json!(types);
    }
    let Some(keywords) = schema.as_object_mut() else {
        return;
    };
    keywords.retain(|keyword, value| {
        keyword != "format" && !keyword.starts_with("x-") && !value.is_null()
    });
    if keywords.contains_key("properties") {
        keywords.insert("additionalProperties".to_owned(), false.into());
    }
    for (keyword, value) in keywords {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(fields)) => {
                fields.iter_mut().for_each(|(name, field)| convert(field, name, pending));
            }
            ("items", item) => convert(item, name, pending),
            ("additionalProperties", value @ Value::Object(_)) => convert(value, "value", pending),
            ("allOf", Value::Array(all)) => {
                all.iter_mut().for_each(|schema| convert(schema, name, pending));
            }
            _ => {}
        }
    }
}
