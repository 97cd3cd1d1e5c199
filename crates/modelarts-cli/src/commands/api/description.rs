//! Operations with their parameters and bodies, from the tables and the OpenAPI description.

use std::{io, sync::LazyLock};

use flate2::read::DeflateDecoder;
use modelarts_ext::api::{Effect, FIELDS, Offset, Operation, Parameter, ParameterLocation, Shape};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    output::{Column, Document, Row, or_dash, wrapped},
    terminal::{Emphasis, Terminal},
};

/// Maximum depth of the listed fields of a body.
const MAX_DEPTH: usize = 5;

/// An operation of the service.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OperationRow {
    /// Name of the operation.
    id: &'static str,
    /// HTTP method.
    method: &'static str,
    /// Path with its parameters in braces.
    path: &'static str,
    /// Effect: `read`, `idempotent` or `create`.
    effect: &'static str,
    /// `true` if the operation returns a list that `--all` reads.
    is_list: bool,
    /// Purpose of the operation.
    summary: Option<String>,
}

/// An operation with its parameters.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OperationDetails {
    /// The facts of the list.
    #[serde(flatten)]
    row: OperationRow,
    /// Description.
    description: Option<String>,
    /// Parameters of the path, the query and the headers.
    parameters: Vec<OperationParameter>,
    /// Fields of the body.
    fields: Vec<OperationParameter>,
    /// Example of a body.
    example: Option<Value>,
    /// Error codes that the operation returns, besides those of all operations.
    error_codes: &'static [&'static str],
}

/// A parameter of an operation, or a field of its body.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OperationParameter {
    /// Name, or path of a field such as `metadata.name`.
    name: String,
    /// Part of the request: `path`, `query`, `header` or `body`.
    #[serde(rename = "in")]
    location: &'static str,
    /// `true` if a request must have it. A field counts only if its object is present.
    required: bool,
    /// Type, such as `text`.
    #[serde(rename = "type")]
    kind: String,
}

/// The OpenAPI description, compressed to a sixth by the build script.
const COMPRESSED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/modelarts.json.deflate"));

/// Parsed OpenAPI description. The command `api` reads only texts and examples from it.
pub(crate) static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let description = io::read_to_string(DeflateDecoder::new(COMPRESSED)).unwrap_or_default();
    serde_json::from_str(&description).unwrap_or_default()
});
/// Returns the part of the OpenAPI description about an operation.
pub(crate) fn documented(operation: &Operation) -> &'static Value {
    &DOCUMENT["paths"][operation.path][operation.method.to_ascii_lowercase()]
}

/// Returns a text of the OpenAPI description as one line.
fn text(value: &Value) -> Option<String> {
    let words: Vec<&str> = value.as_str()?.split_whitespace().collect();
    Some(words.join(" "))
}

impl OperationRow {
    pub(super) fn new(operation: &'static Operation) -> Self {
        let pagination = operation.pagination;
        Self {
            id: operation.id,
            method: operation.method,
            path: operation.path,
            effect: match operation.effect {
                Effect::Read => "read",
                Effect::Idempotent => "idempotent",
                Effect::Create => "create",
            },
            is_list: pagination.is_some_and(|list| list.offset != Offset::LineCursor),
            summary: text(&documented(operation)["summary"]),
        }
    }
}

impl Row for OperationRow {
    const LIST: &'static str = "operations";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::key("OPERATION", |row| row.id.to_owned()),
        Column::new("EFFECT", |row| row.effect.to_owned()),
        Column::wide("METHOD", |row| row.method.to_owned()),
        Column::wide("PATH", |row| row.path.to_owned()),
        Column::new("SUMMARY", |row| or_dash(row.summary.clone())),
    ];

    fn id(&self) -> Option<&str> {
        Some(self.id)
    }
}

impl OperationDetails {
    pub(super) fn new(operation: &'static Operation) -> Self {
        let (body, parameters): (Vec<&Parameter>, Vec<&Parameter>) = operation
            .parameters()
            .partition(|parameter| parameter.location == ParameterLocation::Body);
        let mut fields = Vec::new();
        if let Some(body) = body.first() {
            add_fields(body.shape, "", &mut Vec::new(), &mut fields);
        }
        let documented = documented(operation);
        let content = &documented["requestBody"]["content"]["application/json"];
        let mut examples = content["examples"].as_object().into_iter().flatten();
        Self {
            row: OperationRow::new(operation),
            description: text(&documented["description"]),
            parameters: parameters.into_iter().map(OperationParameter::new).collect(),
            fields,
            example: examples.find_map(|(_, example)| example.get("value").cloned()),
            error_codes: operation.own_error_codes,
        }
    }

    /// Returns an example of a command line that calls the operation.
    fn call(&self) -> String {
        let mut call = format!("modelarts api {}", self.row.id);
        let needed = self.parameters.iter().filter(|parameter| parameter.required);
        for parameter in needed.filter(|parameter| parameter.name != "project_id") {
            call += &format!(" {}=…", parameter.name);
        }
        if !self.fields.is_empty() {
            call += " --body FILE";
        }
        if self.row.is_list {
            call += " --all";
        }
        call
    }
}

impl OperationParameter {
    fn new(parameter: &Parameter) -> Self {
        Self {
            name: parameter.name.to_owned(),
            location: match parameter.location {
                ParameterLocation::Path => "path",
                ParameterLocation::Query => "query",
                ParameterLocation::Header => "header",
                _ => "body",
            },
            required: parameter.required,
            kind: kind(parameter.shape),
        }
    }
}

/// Adds the fields of a body with their paths. `open` contains the enclosing schemas.
fn add_fields(
    shape: Shape,
    path: &str,
    open: &mut Vec<&'static str>,
    fields: &mut Vec<OperationParameter>,
) {
    let (schema, path) = match shape {
        Shape::Object(schema) => (schema, path.to_owned()),
        Shape::List(inner) => return add_fields(*inner, &format!("{path}[]"), open, fields),
        Shape::Map(inner) => return add_fields(*inner, &format!("{path}.KEY"), open, fields),
        _ => return,
    };
    if open.contains(&schema) || open.len() == MAX_DEPTH {
        return;
    }
    open.push(schema);
    for field in FIELDS.iter().filter(|field| field.schema == schema) {
        let name = match path.as_str() {
            "" => field.name.to_owned(),
            path => format!("{path}.{}", field.name),
        };
        fields.push(OperationParameter {
            name: name.clone(),
            location: "body",
            required: field.required,
            kind: kind(field.shape),
        });
        add_fields(field.shape, &name, open, fields);
    }
    open.pop();
}

/// Returns the name of a type for people, such as `whole number`.
fn kind(shape: Shape) -> String {
    match shape {
        Shape::Text => "text".to_owned(),
        Shape::OneOf(values) => values.join("|"),
        Shape::Integer => "whole number".to_owned(),
        Shape::Number => "number".to_owned(),
        Shape::Boolean => "true|false".to_owned(),
        Shape::Object(_) => "object".to_owned(),
        Shape::List(inner) => format!("list of {}", kind(*inner)),
        Shape::Map(inner) => format!("object with values of type {}", kind(*inner)),
        _ => "any".to_owned(),
    }
}

impl Document for OperationDetails {
    fn folds(&self) -> bool {
        false
    }

    fn text(&self, _wide: bool, width: Option<u16>) -> String {
        let heading = |text: &str| Terminal::styled(text, Emphasis::Bold);
        let row = &self.row;
        let mut lines = vec![
            format!("{}  {} {}", heading(row.id), row.method, row.path),
            wrapped(&or_dash(self.description.as_ref().or(row.summary.as_ref())), width),
            String::new(),
            format!("Effect  {}", row.effect),
            format!("Call    {}", self.call()),
        ];
        for (name, parameters) in
            [("Parameters", &self.parameters), ("Fields of the body", &self.fields)]
        {
            if parameters.is_empty() {
                continue;
            }
            lines.extend([String::new(), heading(name)]);
            let widths = parameters.iter().map(|parameter| parameter.name.len());
            let width = widths.max().unwrap_or_default();
            lines.extend(parameters.iter().map(|parameter| {
                let name = &parameter.name;
                let note = match parameter {
                    OperationParameter { required: false, .. } => "",
                    _ if name == "project_id" => "  default: that of the client",
                    _ => "  required",
                };
                format!("  {name:width$}  {}{note}", parameter.kind)
            }));
        }
        if let Some(example) = &self.example {
            lines.extend([String::new(), heading("Example of a body"), format!("{example:#}")]);
        }
        lines.join("\n")
    }

    fn id(&self) -> Option<&str> {
        Some(self.row.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compressed_description_is_that_of_the_library() {
        let description = io::read_to_string(DeflateDecoder::new(COMPRESSED)).unwrap();
        assert!(description == modelarts_ext::api::DESCRIPTION);
    }
}
