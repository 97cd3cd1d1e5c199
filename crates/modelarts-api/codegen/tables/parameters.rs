//! The table of the parameters and bodies of operations. Programs use it to call an operation by
//! its name.

use proc_macro2::TokenStream;
use quote::quote;
use serde_json::{Map, Value};

use super::{
    super::error::Error,
    fields::{reference, shape},
    operations::{METHODS, resolve},
};

/// One parameter of one operation, or its body.
pub struct Parameter {
    operation: String,
    name: String,
    location: &'static str,
    required: bool,
    schema: String,
    shape: TokenStream,
}

/// Lists the parameters of all operations, by operation: those of the path first, the body last.
pub fn parameters(
    description: &Value,
    schemas: &Map<String, Value>,
) -> Result<Vec<Parameter>, Error> {
    let mut parameters = Vec::new();
    let paths = description.get("paths").and_then(Value::as_object);
    for item in paths.into_iter().flat_map(Map::values) {
        for (method, operation) in item.as_object().into_iter().flatten() {
            let id = operation.get("operationId").and_then(Value::as_str);
            let (true, Some(id)) = (METHODS.contains(&method.as_str()), id) else {
                continue;
            };
            let parameter = |name: &str, location, definition: &Value, schema: &Value| {
                let required = definition.get("required").and_then(Value::as_bool);
                let shape = shape(schemas, schema)
                    .map_err(|error| Error(format!("operation {id}, parameter {name}: {error}")))?;
                Ok(Parameter {
                    operation: id.to_owned(),
                    name: name.to_owned(),
                    location,
                    required: required == Some(true),
                    schema: reference(schema).unwrap_or_default().to_owned(),
                    shape,
                })
            };
            for owner in [item, operation] {
                let listed = owner.get("parameters").and_then(Value::as_array);
                for definition in listed.into_iter().flatten() {
                    let definition = resolve(description, definition);
                    let text = |key: &str| definition.get(key).and_then(Value::as_str);
                    let location = match text("in") {
                        Some("path") => "Path",
                        Some("query") => "Query",
                        Some("header") => "Header",
                        other => {
                            return Err(Error(format!(
                                "operation {id}: a parameter is in {other:?}; it must be in path, \
                                 query or header"
                            )));
                        }
                    };
                    if let (Some(name), Some(schema)) = (text("name"), definition.get("schema")) {
                        parameters.push(parameter(name, location, definition, schema)?);
                    }
                }
            }
            if let Some(body) = operation.get("requestBody") {
                let body = resolve(description, body);
                let schema = body.pointer("/content/application~1json/schema");
                let schema = schema.ok_or_else(|| {
                    Error(format!(
                        "operation {id}: its body must be application/json with a schema"
                    ))
                })?;
                parameters.push(parameter("body", "Body", body, schema)?);
            }
        }
    }
    // The stable sort keeps the order of the description within an operation.
    parameters.sort_by(|a, b| a.operation.cmp(&b.operation));
    Ok(parameters)
}

/// The table, as an item of the generated file.
pub fn table(parameters: &[Parameter]) -> TokenStream {
    let parameters = parameters.iter().map(|parameter| {
        let Parameter {
            operation,
            name,
            location,
            required,
            schema,
            shape,
        } = parameter;
        let location = quote::format_ident!("{location}");
        quote!(crate::Parameter::new(
            #operation, #name, crate::ParameterLocation::#location, #required, #schema, crate::Shape::#shape,
        ))
    });
    quote! {
        /// The parameters of all operations, and their bodies.
        pub static PARAMETERS: &[crate::Parameter] = &[#(#parameters),*];
    }
}
