//! Paths of request fields, as constants. If the description renames a field, code that uses its
//! path no longer compiles.

use std::collections::BTreeSet;

use heck::{ToShoutySnakeCase, ToSnakeCase};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use serde_json::Value;

use super::super::{
    description::{members, reference, references, schemas},
    error::Error,
};

/// Schemas of the request bodies for which paths are generated: jobs and algorithms, which programs
/// validate and edit as JSON.
const BODIES: [&str; 2] = ["AlgorithmRequest", "CreateTrainingJobRequest"];

/// Returns the module with the paths as an item of the generated file.
pub fn module(description: &Value) -> Result<TokenStream, Error> {
    let mut inside: BTreeSet<_> = BODIES.map(str::to_owned).into();
    for body in schemas(description)?
        .iter()
        .filter(|(schema, _)| BODIES.contains(&schema.as_str()))
    {
        references(description, body.1, &mut inside)?;
    }
    let roots = schemas(description)?.iter().filter(|(schema, definition)| {
        inside.contains(*schema) && definition.get("properties").is_some()
    });
    let roots = roots.map(|(schema, definition)| {
        let module = schema.strip_suffix("Request").unwrap_or(schema);
        let module = format_ident!("{}", module.to_snake_case());
        let documentation = format!(" Paths in `{schema}`.");
        let paths = paths(description, definition, "", &[schema]);
        quote! {
            #[doc = #documentation]
            pub mod #module {
                /// The name of the schema.
                pub const SCHEMA: &str = #schema;
                #paths
            }
        }
    });
    Ok(quote! {
        /// The paths of the fields of requests that create jobs and algorithms.
        ///
        /// Each schema in them has a module with the paths in its values: `create_training_job` those in
        /// `CreateTrainingJobRequest`, `input` those in an element of `algorithm.inputs`. A field
        /// with fields of its own has a constant and a module:
        /// `create_training_job::spec::RESOURCE` and
        /// `create_training_job::spec::resource::FLAVOR_ID`, which is `spec.resource.flavor_id`.
        /// `ELEMENT` is any element of a list, `ENTRY` any value of a map:
        /// `algorithm.inputs[].name`, `algorithm.environments{}`.
        pub mod request_path {
            #(#roots)*
        }
    })
}

/// Returns the constants and modules for the fields of a definition at the path `prefix`.
fn paths(description: &Value, definition: &Value, prefix: &str, ancestors: &[&str]) -> TokenStream {
    if let Some(schema) = reference(definition) {
        // A recursive schema would have an infinite number of paths.
        let is_new = !ancestors.contains(&schema);
        let target = description.pointer(&format!("/components/schemas/{schema}"));
        return match target.filter(|_| is_new) {
            Some(target) => paths(
                description,
                target,
                prefix,
                &[ancestors, &[schema]].concat(),
            ),
            None => TokenStream::new(),
        };
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
            items.extend(paths(description, inner, &path, ancestors));
        }
    }
    for (name, property) in members(definition, "properties") {
        let path = match prefix {
            "" => name.clone(),
            prefix => format!("{prefix}.{name}"),
        };
        let constant = format_ident!("{}", name.to_shouty_snake_case());
        items.extend(quote!(pub const #constant: &str = #path;));
        let inner = paths(description, property, &path, ancestors);
        if !inner.is_empty() {
            let module = format_ident!("{}", name.to_snake_case());
            items.extend(quote!(pub mod #module { #inner }));
        }
    }
    items
}
