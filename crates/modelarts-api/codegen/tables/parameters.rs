//! The table of the parameters and bodies of operations. Programs use it to call an operation by
//! its name.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use serde_json::Value;

use super::{
    super::{
        description::{is_true, json_schema, operations, reference, text},
        error::Error,
        extensions::{Location, read},
    },
    operations::variant,
    shape::shape,
};

/// Returns the table as an item of the generated file, sorted by operation. For each operation,
/// path parameters come first, and the body last.
pub fn table(description: &Value) -> Result<TokenStream, Error> {
    let mut rows = Vec::new();
    for operation in operations(description)? {
        let id = operation.id;
        let mut row = |name: &str, location: Ident, definition: &Value, schema: &Value| {
            let required = is_true(definition, "required");
            let shape = shape(description, schema)
                .map_err(|error| Error(format!("operation {id}, parameter {name}: {error}")))?;
            let schema = reference(schema).unwrap_or_default();
            rows.push(quote!(crate::Parameter {
                operation: #id,
                name: #name,
                location: crate::ParameterLocation::#location,
                required: #required,
                schema: #schema,
                shape: #shape,
            }));
            Ok(())
        };
        for parameter in operation.parameters(description) {
            let place = format!("{}/parameters/in", operation.place());
            let location = variant(read::<Location>(&place, &parameter["in"])?);
            if let (Some(name), Some(schema)) = (text(parameter, "name"), json_schema(parameter)) {
                row(name, location, parameter, schema)?;
            }
        }
        if let Some(body) = operation.body(description) {
            let schema = json_schema(body).ok_or_else(|| {
                Error(format!("operation {id}: its body must be application/json with a schema"))
            })?;
            row("body", variant(Location::Body), body, schema)?;
        }
    }
    Ok(quote! {
        /// The parameters of all operations, and their bodies.
        pub static PARAMETERS: &[crate::Parameter] = &[#(#rows),*];
    })
}
