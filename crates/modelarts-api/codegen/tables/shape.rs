//! Conversion of a definition to an expression of type `crate::Shape`, the kind of its JSON values.

use proc_macro2::TokenStream;
use quote::quote;
use serde_json::{Map, Value};

use super::super::{
    description::{reference, schemas, text, texts},
    error::Error,
};

/// Returns the expression for a definition.
pub fn shape(description: &Value, definition: &Value) -> Result<TokenStream, Error> {
    if let Some(name) = reference(definition) {
        let target = schemas(description)?.get(name);
        let target = target.ok_or_else(|| Error(format!("there is no schema {name}")))?;
        return match target.get("properties") {
            Some(_) => Ok(quote!(crate::Shape::Object(#name))),
            None => shape(description, target),
        };
    }
    // In an open enumeration, the known values are the first alternative.
    if let Some(known) = definition.pointer("/anyOf/0") {
        return shape(description, known);
    }
    let nested = |key: &str| match definition.get(key) {
        Some(inner) if inner.is_object() => shape(description, inner),
        _ => Ok(quote!(crate::Shape::Any)),
    };
    let shape = match text(definition, "type") {
        Some("string") if definition.get("enum").is_some() => {
            let values = texts(definition, "enum");
            quote!(OneOf(&[#(#values),*]))
        }
        Some("string") => quote!(Text),
        Some("integer") => quote!(Integer),
        Some("number") => quote!(Number),
        Some("boolean") => quote!(Boolean),
        Some("array") => {
            let items = nested("items")?;
            quote!(List(&#items))
        }
        Some("object") => {
            let values = nested("additionalProperties")?;
            quote!(Map(&#values))
        }
        None if definition.as_object().is_some_and(Map::is_empty) => quote!(Any),
        other => return Err(Error(format!("the type is {other:?}"))),
    };
    Ok(quote!(crate::Shape::#shape))
}
