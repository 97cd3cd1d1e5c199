//! The table of limits, which generated types do not enforce.

use proc_macro2::TokenStream;
use quote::quote;
use serde_json::Value;

use super::super::{
    description::{is_true, members, operations, schemas, text},
    error::Error,
};

/// Returns the table as an item of the generated file.
pub fn table(description: &Value) -> Result<TokenStream, Error> {
    let mut rows = Vec::new();
    for (schema, definition) in schemas(description)? {
        limits_of(schema, "", definition, &mut rows);
        for (field, property) in members(definition, "properties") {
            limits_of(schema, field, property, &mut rows);
        }
    }
    for operation in operations(description)? {
        for parameter in operation.parameters(description) {
            if let (Some(name), Some(schema)) = (text(parameter, "name"), parameter.get("schema")) {
                limits_of(operation.id, name, schema, &mut rows);
            }
        }
    }
    Ok(quote! {
        /// The limits that the description states for single fields.
        pub static LIMITS: &[crate::Limit] = &[#(#rows),*];
    })
}

/// Adds the limits of a field, and those of its elements.
fn limits_of(schema: &str, field: &str, definition: &Value, rows: &mut Vec<TokenStream>) {
    let count = |key: &str| definition.get(key).and_then(Value::as_u64);
    let number = |key: &str| definition.get(key).and_then(Value::as_f64);
    // In OpenAPI 3.0, a separate flag excludes the bound itself.
    let flag = |key: &str| is_true(definition, key);
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
        text(definition, "pattern").map(|pattern| quote!(Pattern(#pattern))),
    ];
    rows.extend(rules.into_iter().flatten().map(
        |rule| quote!(crate::Limit { schema: #schema, field: #field, rule: crate::Rule::#rule }),
    ));
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(inner) = definition.get(key) {
            limits_of(schema, &format!("{field}{mark}"), inner, rows);
        }
    }
}
