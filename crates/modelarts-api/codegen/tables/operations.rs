//! Table of operations, with effects and paging, which generated types do not contain.

use heck::{ToSnakeCase, ToUpperCamelCase};
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use serde_json::Value;

use super::{
    super::{
        description::{Operation, elements, is_true, operations, text},
        error::Error,
    },
    response_only,
};

/// Returns the table as an item of the generated file.
pub fn table(description: &Value) -> Result<TokenStream, Error> {
    let operations = operations(description)?;
    let rows = operations
        .iter()
        .map(|operation| row(description, operation));
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    Ok(quote! {
        /// The operations of the description, by name.
        pub static OPERATIONS: &[crate::Operation] = &[#(#rows),*];
    })
}

fn row(description: &Value, operation: &Operation<'_>) -> Result<TokenStream, Error> {
    let Operation {
        id,
        method,
        path,
        definition,
        ..
    } = operation;
    let effects = ["read", "idempotent", "create"];
    let effect = variant(text(definition, "x-effect"), &effects).ok_or_else(|| {
        Error(format!(
            "operation {id}: x-effect is {}; it must be read, idempotent or create",
            value_text(definition, "x-effect")
        ))
    })?;
    let pagination = match definition.get("x-pagination") {
        Some(value) => option(Some(pagination_of(id, value)?)),
        None => quote!(None),
    };
    let own_error_codes = elements(definition, "x-error-codes").map(|code| {
        let wrong = || Error(format!("operation {id}: x-error-codes must list codes"));
        code.as_str().ok_or_else(wrong)
    });
    let own_error_codes = own_error_codes.collect::<Result<Vec<_>, _>>()?;
    let response_only = response_only::paths(description, operation);
    let (method_name, method) = (id.to_snake_case(), method.to_uppercase());
    Ok(quote!(crate::Operation {
        id: #id,
        method_name: #method_name,
        method: #method,
        path: #path,
        effect: crate::Effect::#effect,
        pagination: #pagination,
        own_error_codes: &[#(#own_error_codes),*],
        response_only: &[#(#response_only),*],
    }))
}

fn pagination_of(id: &str, value: &Value) -> Result<TokenStream, Error> {
    const PARAMETER: &str = "the name of a parameter";
    const FIELD: &str = "the name of a field";
    let wrong = |key: &str, admitted: &str| {
        Error(format!(
            "operation {id}: x-pagination.{key} is {}; it must be {admitted}",
            value_text(value, key)
        ))
    };
    let needed = |key: &str, what: &str| text(value, key).ok_or_else(|| wrong(key, what));
    let kinds = ["page-index", "record", "line-cursor", "single-page"];
    let kind = text(value, "offset");
    let offset = variant(kind, &kinds)
        .ok_or_else(|| wrong("offset", "page-index, record, line-cursor or single-page"))?;
    let location = variant(text(value, "in"), &["query", "body"])
        .ok_or_else(|| wrong("in", "query or body"))?;
    let needed_if = |condition: bool, key: &str| {
        let name = condition.then(|| needed(key, PARAMETER)).transpose()?;
        Ok(option(name))
    };
    let is_cursor = kind == Some("line-cursor");
    let has_limit = kind != Some("single-page");
    let offset_name = needed_if(has_limit && !is_cursor, "offset-name")?;
    let limit_name = needed_if(has_limit, "limit-name")?;
    let cursor = match is_cursor {
        false => quote!(None),
        true => {
            let name = needed("cursor-name", PARAMETER)?;
            let order_name = needed("order-name", PARAMETER)?;
            let (first, last) = (needed("first", FIELD)?, needed("last", FIELD)?);
            quote!(Some(crate::Cursor {
                name: #name,
                order_name: #order_name,
                first: #first,
                last: #last,
            }))
        }
    };
    let max_limit = value.get("max-limit").map(|limit| {
        let limit = limit.as_u64().and_then(|limit| u32::try_from(limit).ok());
        limit.ok_or_else(|| wrong("max-limit", "a whole number"))
    });
    let (max_limit, total) = (option(max_limit.transpose()?), option(text(value, "total")));
    let disputed = is_true(value, "disputed");
    let items = needed("items", "the name of the field that holds the entries")?;
    Ok(quote!(crate::Pagination {
        offset: crate::Offset::#offset,
        disputed: #disputed,
        location: crate::ParameterLocation::#location,
        offset_name: #offset_name,
        limit_name: #limit_name,
        max_limit: #max_limit,
        cursor: #cursor,
        items: #items,
        total: #total,
    }))
}

/// Returns the enum variant for a value of the description, such as `PageIndex` for `page-index`;
/// `None` unless `admitted` contains the value.
pub fn variant(word: Option<&str>, admitted: &[&str]) -> Option<TokenStream> {
    let word = word.filter(|word| admitted.contains(word))?;
    Some(format_ident!("{}", word.to_upper_camel_case()).into_token_stream())
}

/// Formats the value at this key for error messages.
fn value_text(value: &Value, key: &str) -> String {
    value
        .get(key)
        .map_or_else(|| "missing".to_owned(), Value::to_string)
}

pub fn option<T: ToTokens>(value: Option<T>) -> TokenStream {
    match value {
        Some(value) => quote!(Some(#value)),
        None => quote!(None),
    }
}
