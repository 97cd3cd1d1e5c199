//! What the description says that generated types do not carry: effects, paging
//! and limits. They become tables.

use heck::ToSnakeCase;
use proc_macro2::TokenStream;
use quote::quote;
use serde_json::{Map, Value};

use super::{Error, docs};

/// One operation, as a row of the table.
pub struct Operation {
    pub id: String,
    pub method_name: String,
    method: String,
    path: String,
    effect: Effect,
    pagination: Option<Pagination>,
    /// For the page of its builder.
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
    place: TokenStream,
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

/// One limit of one field.
pub struct Limit {
    schema: String,
    field: String,
    rule: TokenStream,
}

/// The HTTP methods of a path, by which its operations are found.
pub const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

/// The definition that stands here, or the shared one that is referred to here.
pub fn resolved<'a>(description: &'a Value, definition: &'a Value) -> &'a Value {
    let reference = definition.get("$ref").and_then(Value::as_str);
    let shared = reference.and_then(|reference| description.pointer(reference.strip_prefix('#')?));
    shared.unwrap_or(definition)
}

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
                        said(operation, "x-effect")
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

/// What stands under a key, for messages.
fn said(value: &Value, key: &str) -> String {
    value
        .get(key)
        .map_or_else(|| "missing".to_owned(), Value::to_string)
}

fn pagination(id: &str, value: &Value) -> Result<Pagination, Error> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let wrong = |key: &str, admitted: &str| {
        Error(format!(
            "operation {id}: x-pagination.{key} is {}; it must be {admitted}",
            said(value, key)
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
        place: match text("in") {
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
            let parameter = resolved(description, parameter);
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
    // OpenAPI 3.0: whether the bound itself is excluded is a flag beside it.
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
    // What a list or a map holds has limits of its own.
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(inner) = definition.get(key) {
            limits_of(schema, &format!("{field}{mark}"), inner, limits)?;
        }
    }
    Ok(())
}

/// The tables, as items of the generated file.
pub fn tables(operations: &[Operation], limits: &[Limit]) -> TokenStream {
    let operations = operations.iter().map(|operation| {
        let Operation {
            id,
            method_name,
            method,
            path,
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
            #id, #method_name, #method, #path, crate::Effect::#effect, #pagination,
        ))
    });
    let limits = limits.iter().map(|limit| {
        let Limit {
            schema,
            field,
            rule,
        } = limit;
        quote!(crate::Limit::new(#schema, #field, crate::Rule::#rule))
    });
    quote! {
        /// The operations of the description, by name.
        pub static OPERATIONS: &[crate::Operation] = &[#(#operations),*];
        /// The limits that the description states for single fields.
        pub static LIMITS: &[crate::Limit] = &[#(#limits),*];
    }
}

impl Pagination {
    fn tokens(&self) -> TokenStream {
        let Self {
            offset,
            disputed,
            place,
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
            place: crate::Place::#place,
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
