//! Request body of a call, from a file, stdin or the command line, with fields set by their paths.

use std::{fs, io, path::Path};

use modelarts_ext::api::{FIELDS, Field, Operation, ParameterLocation, Shape};
use serde_json::{Map, Value};

use crate::{failure::Failure, wording::near_or};

const MAX_INDEX: usize = 1_000;

/// Reads the body and sets the fields. Returns `None` if neither is given.
pub(super) fn read(
    operation: &Operation,
    text: Option<&str>,
    fields: &[String],
) -> Result<Option<Value>, Failure> {
    if text.is_none() && fields.is_empty() {
        return Ok(None);
    }
    let mut parameters = operation.parameters();
    let body = parameters.find(|parameter| parameter.location == ParameterLocation::Body);
    let Some(parameter) = body else {
        return Err(Failure::usage(format_args!(
            "{} has no body; --body and --field must be left out",
            operation.id
        )));
    };
    let mut body = match text {
        Some(text) => parse(text)?,
        None => Value::Object(Map::new()),
    };
    for field in fields {
        let (path, value) = field.split_once('=').ok_or_else(|| {
            Failure::usage(format_args!(
                "--field {field:?}: it must be PATH=VALUE, such as metadata.name=sweep"
            ))
        })?;
        set(&mut body, parameter.shape, path, value)
            .map_err(|reason| Failure::usage(format_args!("--field {path}: {reason}")))?;
    }
    Ok(Some(body))
}

/// Parses the value of `--body`: JSON, `-` for stdin, or the path of a JSON or YAML file.
fn parse(text: &str) -> Result<Value, Failure> {
    let invalid = |place: &str, error: &dyn std::fmt::Display| {
        Failure::usage(format_args!("{place}: {error}; it must be JSON"))
    };
    if text.trim_start().starts_with(['{', '[']) {
        return serde_json::from_str(text).map_err(|error| invalid("--body", &error));
    }
    let (place, content) = match text {
        "-" => ("stdin", io::read_to_string(io::stdin())),
        path => (path, fs::read_to_string(path)),
    };
    let content = content.map_err(|error| {
        Failure::usage(format_args!(
            "--body {place}: {error}; it must be a file, - for stdin, or JSON"
        ))
    })?;
    let extension = Path::new(place).extension().unwrap_or_default();
    if extension == "yaml" || extension == "yml" {
        return yaml_serde::from_str(&content)
            .map_err(|error| Failure::usage(format_args!("{place}: {error}; it must be YAML")));
    }
    serde_json::from_str(&content).map_err(|error| invalid(place, &error))
}

enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

/// Splits a path such as `spec.volumes[0].nfs` into names and indexes.
fn steps(path: &str) -> Result<Vec<Step<'_>>, String> {
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (name, indexes) = part.split_at(part.find('[').unwrap_or(part.len()));
        if name.is_empty() {
            return Err("a path must consist of names and dots, such as metadata.name".to_owned());
        }
        steps.push(Step::Name(name));
        for index in indexes.split('[').skip(1) {
            let index = index.strip_suffix(']').and_then(|index| index.parse().ok());
            let index = index.filter(|index| *index <= MAX_INDEX).ok_or_else(|| {
                format!("the index in {part} must be a number from 0 to {MAX_INDEX}, such as [0]")
            })?;
            steps.push(Step::Index(index));
        }
    }
    Ok(steps)
}

/// Sets the field at a path. The shape of the body determines the type of the value.
fn set(body: &mut Value, shape: Shape, path: &str, text: &str) -> Result<(), String> {
    let (mut value, mut shape) = (body, shape);
    for step in steps(path)? {
        match step {
            Step::Name(name) => {
                shape = match shape {
                    Shape::Object(schema) => field(schema, name)?.shape,
                    Shape::Map(inner) => *inner,
                    Shape::Any => Shape::Any,
                    Shape::List(_) => {
                        return Err(format!("{name} must follow an index, such as [0]"));
                    }
                    _ => return Err(format!("{name} must follow an object")),
                };
                if value.is_null() {
                    *value = Value::Object(Map::new());
                }
                let Value::Object(fields) = value else {
                    return Err(format!("{name} must follow an object in the body"));
                };
                value = fields.entry(name).or_insert(Value::Null);
            }
            Step::Index(index) => {
                shape = match shape {
                    Shape::List(inner) => *inner,
                    Shape::Any => Shape::Any,
                    _ => return Err(format!("[{index}] must follow a list")),
                };
                if value.is_null() {
                    *value = Value::Array(Vec::new());
                }
                let Value::Array(items) = value else {
                    return Err(format!("[{index}] must follow a list in the body"));
                };
                if index >= items.len() {
                    items.resize(index + 1, Value::Null);
                }
                value = &mut items[index];
            }
        }
    }
    *value = typed(shape, text)?;
    Ok(())
}

/// Returns the field of a schema with this name. The error suggests names that exist.
fn field(schema: &str, name: &str) -> Result<&'static Field, String> {
    let fields = || FIELDS.iter().filter(|field| field.schema == schema);
    fields().find(|field| field.name == name).ok_or_else(|| {
        let names: Vec<&str> = fields().map(|field| field.name).collect();
        let all = || format!("it must be one of: {}", names.join(", "));
        let hint = near_or(name, names.iter().copied(), all);
        format!("no field is called {name}; {hint}")
    })
}

/// Parses a text as a value of this shape.
fn typed(shape: Shape, text: &str) -> Result<Value, String> {
    let json = || serde_json::from_str::<Value>(text).ok();
    let (value, rule) = match shape {
        Shape::Text | Shape::OneOf(_) => return Ok(text.into()),
        Shape::Any => return Ok(json().unwrap_or_else(|| text.into())),
        Shape::Integer => {
            (json().filter(|value| value.is_i64() || value.is_u64()), "a whole number")
        }
        Shape::Number => (json().filter(Value::is_number), "a number"),
        Shape::Boolean => (json().filter(Value::is_boolean), "true or false"),
        Shape::List(_) => (json().filter(Value::is_array), "a list in JSON, such as [\"a\"]"),
        _ => (json().filter(Value::is_object), "an object in JSON, or the path must continue"),
    };
    value.ok_or_else(|| format!("{text:?} must be {rule}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn create() -> &'static Operation {
        Operation::find("create_training_job").unwrap()
    }

    fn body(fields: &[&str]) -> Result<Value, String> {
        let fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
        match read(create(), None, &fields) {
            Ok(body) => Ok(body.unwrap()),
            Err(failure) => Err(failure.to_string()),
        }
    }

    #[test]
    fn the_description_determines_the_types() {
        let body = body(&[
            "metadata.name=123",
            "spec.resource.node_count=2",
            "algorithm.environments.EPOCHS=3",
            "algorithm.parameters[1].name=lr",
            "algorithm.parameters[0]={\"name\": \"epochs\", \"value\": \"3\"}",
        ]);
        assert_eq!(
            body.unwrap(),
            json!({
                "metadata": {"name": "123"},
                "spec": {"resource": {"node_count": 2}},
                "algorithm": {
                    "environments": {"EPOCHS": "3"},
                    "parameters": [{"name": "epochs", "value": "3"}, {"name": "lr"}],
                },
            })
        );
    }

    #[test]
    fn wrong_fields_name_the_rule() {
        for (field, message) in [
            ("metadata.nam=a", "--field metadata.nam: no field is called nam; did you mean name?"),
            (
                "spec.resource.node_count=two",
                "--field spec.resource.node_count: \"two\" must be a whole number",
            ),
            ("metadata.name.first=a", "--field metadata.name.first: first must follow an object"),
            ("metadata[0]=a", "--field metadata[0]: [0] must follow a list"),
            (
                "algorithm.parameters.name=a",
                "--field algorithm.parameters.name: name must follow an index, such as [0]",
            ),
            (
                "algorithm.parameters[x].name=a",
                "--field algorithm.parameters[x].name: the index in parameters[x] must be a number \
                 from 0 to 1000, such as [0]",
            ),
            (
                "metadata..name=a",
                "--field metadata..name: a path must consist of names and dots, such as \
                 metadata.name",
            ),
            (
                "metadata=a",
                "--field metadata: \"a\" must be an object in JSON, or the path must continue",
            ),
            (
                "metadata.name",
                "--field \"metadata.name\": it must be PATH=VALUE, such as metadata.name=sweep",
            ),
        ] {
            assert_eq!(body(&[field]).unwrap_err(), message);
        }
    }

    #[test]
    fn fields_change_a_given_body() {
        let text = "{\"metadata\": {\"name\": \"a\"}, \"kind\": \"job\"}";
        let fields = ["metadata.name=b".to_owned()];
        let body = read(create(), Some(text), &fields).unwrap().unwrap();
        assert_eq!(body, json!({"metadata": {"name": "b"}, "kind": "job"}));
    }

    #[test]
    fn wrong_json_is_refused_with_its_place() {
        let failure = read(create(), Some("{\"a\":\n x}"), &[]).unwrap_err();
        assert_eq!(
            failure.to_string(),
            "--body: expected value at line 2 column 2; it must be JSON"
        );
    }

    #[test]
    fn an_operation_without_a_body_takes_none() {
        let quotas = Operation::find("show_training_quotas").unwrap();
        let failure = read(quotas, Some("{}"), &[]).unwrap_err();
        assert_eq!(
            failure.to_string(),
            "ShowTrainingQuotas has no body; --body and --field must be left out"
        );
    }
}
