//! The table of limits, which generated types do not enforce.

use proc_macro2::TokenStream;
use quote::quote;
use serde_json::{Map, Value};

use super::{super::error::Error, operations::resolve};

/// One limit of one field.
pub struct Limit {
    schema: String,
    field: String,
    rule: TokenStream,
}

/// Reads the limits of schemas and parameters.
pub fn limits(description: &Value) -> Result<Vec<Limit>, Error> {
    let mut limits = Vec::new();
    let schemas = description
        .pointer("/components/schemas")
        .and_then(Value::as_object);
    for (schema, definition) in schemas.into_iter().flatten() {
        limits_of(schema, "", definition, &mut limits)?;
        let properties = definition.get("properties").and_then(Value::as_object);
        for (field, property) in properties.into_iter().flatten() {
            limits_of(schema, field, property, &mut limits)?;
        }
    }
    let paths = description.get("paths").and_then(Value::as_object);
    let operations = paths
        .into_iter()
        .flat_map(Map::values)
        .filter_map(Value::as_object)
        .flat_map(Map::values);
    for operation in operations {
        let (Some(id), Some(parameters)) = (
            operation.get("operationId").and_then(Value::as_str),
            operation.get("parameters").and_then(Value::as_array),
        ) else {
            continue;
        };
        for parameter in parameters {
            let parameter = resolve(description, parameter);
            if let (Some(name), Some(schema)) = (
                parameter.get("name").and_then(Value::as_str),
                parameter.get("schema"),
            ) {
                limits_of(id, name, schema, &mut limits)?;
            }
        }
    }
    Ok(limits)
}

fn limits_of(
    schema: &str,
    field: &str,
    definition: &Value,
    limits: &mut Vec<Limit>,
) -> Result<(), Error> {
    let count = |key: &str| definition.get(key).and_then(Value::as_u64);
    let number = |key: &str| definition.get(key).and_then(Value::as_f64);
    // In OpenAPI 3.0, a flag beside the bound says that the bound itself is excluded.
    let flag = |key: &str| definition.get(key).and_then(Value::as_bool) == Some(true);
    let rules = [
        count("minLength").map(|n| quote!(MinLength(#n))),
        count("maxLength").map(|n| quote!(MaxLength(#n))),
        number("minimum").map(|n| match flag("exclusiveMinimum") {
            true => quote!(ExclusiveMinimum(#n)),
            false => quote!(Minimum(#n)),
        }),
        number("maximum").map(|n| match flag("exclusiveMaximum") {
            true => quote!(ExclusiveMaximum(#n)),
            false => quote!(Maximum(#n)),
        }),
        count("minItems").map(|n| quote!(MinItems(#n))),
        count("maxItems").map(|n| quote!(MaxItems(#n))),
        flag("uniqueItems").then(|| quote!(UniqueItems)),
        count("minProperties").map(|n| quote!(MinProperties(#n))),
        count("maxProperties").map(|n| quote!(MaxProperties(#n))),
        definition
            .get("pattern")
            .and_then(Value::as_str)
            .map(|pattern| quote!(Pattern(#pattern))),
    ];
    limits.extend(rules.into_iter().flatten().map(|rule| Limit {
        schema: schema.to_owned(),
        field: field.to_owned(),
        rule,
    }));
    // The elements of a list or map have limits of their own.
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(inner) = definition.get(key) {
            limits_of(schema, &format!("{field}{mark}"), inner, limits)?;
        }
    }
    Ok(())
}

/// The table, as an item of the generated file.
pub fn table(limits: &[Limit]) -> TokenStream {
    let limits = limits.iter().map(|limit| {
        let Limit {
            schema,
            field,
            rule,
        } = limit;
        quote!(crate::Limit::new(#schema, #field, crate::Rule::#rule))
    });
    quote! {
        /// The limits that the description states for single fields.
        pub static LIMITS: &[crate::Limit] = &[#(#limits),*];
    }
}
