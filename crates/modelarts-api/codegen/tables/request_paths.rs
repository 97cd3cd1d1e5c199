//! The paths of the fields of requests, as constants: a field that the description renames becomes
//! a compile error in code that uses its path.

use std::collections::BTreeSet;

use heck::{ToShoutySnakeCase, ToSnakeCase};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use serde_json::{Map, Value};

use super::fields::reference;

/// Writes the module with the paths, as an item of the generated file.
pub fn table(schemas: &Map<String, Value>, in_requests: &BTreeSet<String>) -> TokenStream {
    let roots = schemas.iter().filter(|(schema, definition)| {
        in_requests.contains(*schema) && definition.get("properties").is_some()
    });
    let roots = roots.map(|(schema, definition)| {
        let module = schema.strip_suffix("Request").unwrap_or(schema);
        let module = format_ident!("{}", module.to_snake_case());
        let documentation = format!(" Paths in `{schema}`.");
        let mut ancestors = vec![schema.as_str()];
        let paths = paths(schemas, definition, "", &mut ancestors);
        quote! {
            #[doc = #documentation]
            pub mod #module {
                /// The name of the schema.
                pub const SCHEMA: &str = #schema;
                #paths
            }
        }
    });
    quote! {
        /// The paths of the fields of requests.
        ///
        /// Each schema has a module with the paths in its values: `create_training_job` those in
        /// `CreateTrainingJobRequest`, `input` those in an element of `algorithm.inputs`. A field
        /// with fields of its own has a constant and a module:
        /// `create_training_job::spec::RESOURCE` and
        /// `create_training_job::spec::resource::FLAVOR_ID`, which is `spec.resource.flavor_id`.
        /// `ELEMENT` is any element of a list, `ENTRY` any value of a map:
        /// `algorithm.inputs[].name`, `algorithm.environments{}`.
        pub mod request_path {
            #(#roots)*
        }
    }
}

/// The constants and modules of the fields below a definition, whose path is `prefix`.
fn paths<'a>(
    schemas: &'a Map<String, Value>,
    definition: &'a Value,
    prefix: &str,
    ancestors: &mut Vec<&'a str>,
) -> TokenStream {
    if let Some(schema) = reference(definition) {
        // A schema that contains itself has no end of paths.
        if ancestors.contains(&schema) {
            return TokenStream::new();
        }
        ancestors.push(schema);
        let inner = schemas
            .get(schema)
            .map(|target| paths(schemas, target, prefix, ancestors));
        ancestors.pop();
        return inner.unwrap_or_default();
    }
    let mut items = TokenStream::new();
    for (key, mark, name) in [
        ("items", "[]", "ELEMENT"),
        ("additionalProperties", "{}", "ENTRY"),
    ] {
        if let Some(inner) = definition.get(key).filter(|inner| inner.is_object()) {
            let path = format!("{prefix}{mark}");
            let name = format_ident!("{name}");
            items.extend(quote!(pub const #name: &str = #path;));
            items.extend(paths(schemas, inner, &path, ancestors));
        }
    }
    let properties = definition.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let path = match prefix {
            "" => name.clone(),
            prefix => format!("{prefix}.{name}"),
        };
        let constant = format_ident!("{}", name.to_shouty_snake_case());
        items.extend(quote!(pub const #constant: &str = #path;));
        let inner = paths(schemas, property, &path, ancestors);
        if !inner.is_empty() {
            let module = format_ident!("{}", name.to_snake_case());
            items.extend(quote!(pub mod #module { #inner }));
        }
    }
    items
}
