//! The table of the fields of requests. Programs use it to walk a body without Rust types, for
//! example to check its limits or to find misspelt keys.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;
use serde_json::{Map, Value};

use super::super::error::Error;

/// One field of one schema.
pub struct Field {
    schema: String,
    name: String,
    required: bool,
    shape: TokenStream,
}

/// Lists the fields of the schemas that requests contain, in the order of the description.
pub fn fields(
    schemas: &Map<String, Value>,
    in_requests: &BTreeSet<String>,
) -> Result<Vec<Field>, Error> {
    let mut fields = Vec::new();
    for (schema, definition) in schemas {
        if !in_requests.contains(schema) {
            continue;
        }
        let required: Vec<&str> = definition
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let properties = definition.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            fields.push(Field {
                schema: schema.clone(),
                name: name.clone(),
                required: required.contains(&name.as_str()),
                shape: shape(schemas, property)
                    .map_err(|error| Error(format!("schema {schema}, field {name}: {error}")))?,
            });
        }
    }
    Ok(fields)
}

pub fn shape(schemas: &Map<String, Value>, definition: &Value) -> Result<TokenStream, Error> {
    if let Some(name) = reference(definition) {
        let target = schemas
            .get(name)
            .ok_or_else(|| Error(format!("there is no schema {name}")))?;
        return match target.get("properties") {
            Some(_) => Ok(quote!(Object(#name))),
            None => shape(schemas, target),
        };
    }
    // An open enumeration: the known values come first.
    if let Some(known) = definition.pointer("/anyOf/0") {
        return shape(schemas, known);
    }
    let nested = |key: &str| match definition.get(key) {
        Some(inner) if inner.is_object() => shape(schemas, inner),
        _ => Ok(quote!(Any)),
    };
    match definition.get("type").and_then(Value::as_str) {
        Some("string") => {
            let values = definition.get("enum").and_then(Value::as_array);
            Ok(match values {
                None => quote!(Text),
                Some(values) => {
                    let values = values.iter().filter_map(Value::as_str);
                    quote!(OneOf(&[#(#values),*]))
                }
            })
        }
        Some("integer") => Ok(quote!(Integer)),
        Some("number") => Ok(quote!(Number)),
        Some("boolean") => Ok(quote!(Boolean)),
        Some("array") => {
            let items = nested("items")?;
            Ok(quote!(List(&crate::Shape::#items)))
        }
        Some("object") => {
            let values = nested("additionalProperties")?;
            Ok(quote!(Map(&crate::Shape::#values)))
        }
        None if definition.as_object().is_some_and(Map::is_empty) => Ok(quote!(Any)),
        other => Err(Error(format!("the type is {other:?}"))),
    }
}

/// The schema that a property refers to, either directly or through `allOf`, which allows the
/// property a description of its own.
pub fn reference(definition: &Value) -> Option<&str> {
    definition
        .get("$ref")
        .or_else(|| definition.pointer("/allOf/0/$ref"))?
        .as_str()?
        .strip_prefix("#/components/schemas/")
}

/// The table, as an item of the generated file.
pub fn table(fields: &[Field]) -> TokenStream {
    let fields = fields.iter().map(|field| {
        let Field {
            schema,
            name,
            required,
            shape,
        } = field;
        quote!(crate::Field::new(#schema, #name, #required, crate::Shape::#shape))
    });
    quote! {
        /// The fields of all schemas that are sent.
        pub static FIELDS: &[crate::Field] = &[#(#fields),*];
    }
}
