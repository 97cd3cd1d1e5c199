//! The table of the fields of requests. Programs use it to walk a body without Rust types, for
//! example to check its limits or to find misspelt keys.

use proc_macro2::TokenStream;
use quote::quote;
use serde_json::Value;

use super::{
    super::{
        description::{Usage, members, schemas, texts},
        error::Error,
    },
    shape::shape,
};

/// Returns the table as an item of the generated file.
pub fn table(description: &Value, usage: &Usage) -> Result<TokenStream, Error> {
    let mut rows = Vec::new();
    for (schema, definition) in schemas(description)? {
        if !usage.in_requests.contains(schema) {
            continue;
        }
        for (name, property) in members(definition, "properties") {
            let required = texts(definition, "required").any(|required| required == name);
            let shape = shape(description, property)
                .map_err(|error| Error(format!("schema {schema}, field {name}: {error}")))?;
            rows.push(quote!(crate::Field {
                schema: #schema,
                name: #name,
                required: #required,
                shape: #shape,
            }));
        }
    }
    Ok(quote! {
        /// The fields of all schemas that are sent.
        pub static FIELDS: &[crate::Field] = &[#(#rows),*];
    })
}
