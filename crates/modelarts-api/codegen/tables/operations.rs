//! The table of operations: their effects and their paging, which generated types do not carry.

use heck::ToSnakeCase;
use proc_macro2::TokenStream;
use quote::quote;
use serde_json::Value;

use super::{super::error::Error, docs, error_codes};

/// The HTTP methods that a path item may have; its other keys are not operations.
pub const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

/// Returns the definition, or the shared one that it refers to.
pub fn resolve<'a>(description: &'a Value, definition: &'a Value) -> &'a Value {
    let reference = definition.get("$ref").and_then(Value::as_str);
    let shared = reference.and_then(|reference| description.pointer(reference.strip_prefix('#')?));
    shared.unwrap_or(definition)
}

/// One operation, as a row of the table.
pub struct Operation {
    pub id: String,
    pub method_name: String,
    method: String,
    path: String,
    effect: Effect,
    pagination: Option<Pagination>,
    error_codes: Vec<String>,
    /// The documentation of its builder.
    pub documentation: String,
}

enum Effect {
    Read,
    Idempotent,
    Create,
}

struct Pagination {
    offset: TokenStream,
    disputed: bool,
    location: TokenStream,
    offset_name: Option<String>,
    limit_name: Option<String>,
    max_limit: Option<u32>,
    cursor: Option<Cursor>,
    items: String,
    total: Option<String>,
}

struct Cursor {
    name: String,
    order_name: String,
    first: String,
    last: String,
}

/// Reads the operations, sorted by name.
pub fn operations(description: &Value) -> Result<Vec<Operation>, Error> {
    let mut operations = Vec::new();
    let paths = description
        .get("paths")
        .and_then(Value::as_object)
        .ok_or_else(|| Error::new("the description has no paths"))?;
    for (path, item) in paths {
        for (method, operation) in item.as_object().into_iter().flatten() {
            if !METHODS.contains(&method.as_str()) {
                continue;
            }
            let text = |key: &str| operation.get(key).and_then(Value::as_str);
            let id = text("operationId")
                .ok_or_else(|| Error(format!("{method} {path}: no operationId")))?;
            let effect = match text("x-effect") {
                Some("read") => Effect::Read,
                Some("idempotent") => Effect::Idempotent,
                Some("create") => Effect::Create,
                _ => {
                    return Err(Error(format!(
                        "operation {id}: x-effect is {}; it must be read, idempotent or create",
                        value_text(operation, "x-effect")
                    )));
                }
            };
            operations.push(Operation {
                id: id.to_owned(),
                method_name: id.to_snake_case(),
                method: method.to_uppercase(),
                path: path.clone(),
                effect,
                pagination: operation
                    .get("x-pagination")
                    .map(|value| pagination(id, value))
                    .transpose()?,
                error_codes: error_codes::own(id, operation)?,
                documentation: format!(
                    "`{} {path}`\n\n{}",
                    method.to_uppercase(),
                    docs::list(operation)
                ),
            });
        }
    }
    operations.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(operations)
}

/// Formats the value of a key for messages.
fn value_text(value: &Value, key: &str) -> String {
    value
        .get(key)
        .map_or_else(|| "missing".to_owned(), Value::to_string)
}

fn pagination(id: &str, value: &Value) -> Result<Pagination, Error> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let wrong = |key: &str, admitted: &str| {
        Error(format!(
            "operation {id}: x-pagination.{key} is {}; it must be {admitted}",
            value_text(value, key)
        ))
    };
    let named = |key: &str| text(key).map(str::to_owned);
    let needed = |key: &str, what: &str| named(key).ok_or_else(|| wrong(key, what));
    let (offset, paged, lines) = match text("offset") {
        Some("page-index") => (quote!(PageIndex), true, false),
        Some("record") => (quote!(Record), true, false),
        Some("line-cursor") => (quote!(LineCursor), false, true),
        Some("single-page") => (quote!(SinglePage), false, false),
        _ => {
            return Err(wrong(
                "offset",
                "page-index, record, line-cursor or single-page",
            ));
        }
    };
    const PARAMETER: &str = "the name of a parameter";
    const FIELD: &str = "the name of a field";
    Ok(Pagination {
        offset,
        disputed: value.get("disputed").and_then(Value::as_bool) == Some(true),
        location: match text("in") {
            Some("body") => quote!(Body),
            Some("query") => quote!(Query),
            _ => return Err(wrong("in", "query or body")),
        },
        offset_name: paged
            .then(|| needed("offset-name", PARAMETER))
            .transpose()?,
        limit_name: (paged || lines)
            .then(|| needed("limit-name", PARAMETER))
            .transpose()?,
        max_limit: match value.get("max-limit") {
            None => None,
            Some(limit) => Some(
                limit
                    .as_u64()
                    .and_then(|limit| u32::try_from(limit).ok())
                    .ok_or_else(|| wrong("max-limit", "a whole number"))?,
            ),
        },
        cursor: match lines {
            false => None,
            true => Some(Cursor {
                name: needed("cursor-name", PARAMETER)?,
                order_name: needed("order-name", PARAMETER)?,
                first: needed("first", FIELD)?,
                last: needed("last", FIELD)?,
            }),
        },
        items: needed("items", "the name of the field that holds the entries")?,
        total: named("total"),
    })
}

/// The table, as an item of the generated file.
pub fn table(operations: &[Operation]) -> TokenStream {
    let operations = operations.iter().map(|operation| {
        let Operation {
            id,
            method_name,
            method,
            path,
            error_codes,
            ..
        } = operation;
        let effect = match operation.effect {
            Effect::Read => quote!(Read),
            Effect::Idempotent => quote!(Idempotent),
            Effect::Create => quote!(Create),
        };
        let pagination = match &operation.pagination {
            None => quote!(None),
            Some(pagination) => {
                let pagination = pagination.tokens();
                quote!(Some(#pagination))
            }
        };
        quote!(crate::Operation::new(
            #id, #method_name, #method, #path, crate::Effect::#effect, #pagination, &[#(#error_codes),*],
        ))
    });
    quote! {
        /// The operations of the description, by name.
        pub static OPERATIONS: &[crate::Operation] = &[#(#operations),*];
    }
}

impl Pagination {
    fn tokens(&self) -> TokenStream {
        let Self {
            offset,
            disputed,
            location,
            items,
            ..
        } = self;
        let offset_name = option(self.offset_name.as_ref());
        let limit_name = option(self.limit_name.as_ref());
        let max_limit = option(self.max_limit.as_ref());
        let total = option(self.total.as_ref());
        let cursor = self.cursor.as_ref().map(|cursor| {
            let Cursor {
                name,
                order_name,
                first,
                last,
            } = cursor;
            quote!(crate::Cursor {
                name: #name,
                order_name: #order_name,
                first: #first,
                last: #last,
            })
        });
        let cursor = option(cursor.as_ref());
        quote!(crate::Pagination {
            offset: crate::Offset::#offset,
            disputed: #disputed,
            location: crate::ParameterLocation::#location,
            offset_name: #offset_name,
            limit_name: #limit_name,
            max_limit: #max_limit,
            cursor: #cursor,
            items: #items,
            total: #total,
        })
    }
}

fn option<T: quote::ToTokens>(value: Option<&T>) -> TokenStream {
    match value {
        Some(value) => quote!(Some(#value)),
        None => quote!(None),
    }
}
