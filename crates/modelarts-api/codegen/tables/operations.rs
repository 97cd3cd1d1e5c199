//! Table of operations, with effects and paging, which generated types do not contain.

use std::fmt::Debug;

use heck::ToSnakeCase;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use serde_json::Value;

use super::{
    super::{
        description::{Operation, operations},
        error::Error,
        extensions::{Cloud, Pagination},
    },
    response_only,
};

/// Returns the table as an item of the generated file.
pub fn table(description: &Value) -> Result<TokenStream, Error> {
    let operations = operations(description)?;
    let rows = operations.iter().map(|operation| row(description, operation));
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    Ok(quote! {
        /// The operations of the description, by name.
        pub static OPERATIONS: &[crate::Operation] = &[#(#rows),*];
    })
}

fn row(description: &Value, operation: &Operation<'_>) -> Result<TokenStream, Error> {
    let Operation { id, method, path, .. } = operation;
    let extensions = operation.extensions()?;
    let effect = variant(extensions.x_effect);
    let pagination = option(extensions.x_pagination.map(pagination_of));
    let clouds = extensions.x_clouds.iter().map(Cloud::name);
    let own_error_codes = extensions.x_error_codes;
    let response_only = response_only::paths(description, operation, extensions.x_effect);
    let (method_name, method) = (id.to_snake_case(), method.to_uppercase());
    Ok(quote!(crate::Operation {
        id: #id,
        method_name: #method_name,
        method: #method,
        path: #path,
        effect: crate::Effect::#effect,
        clouds: &[#(#clouds),*],
        pagination: #pagination,
        own_error_codes: &[#(#own_error_codes),*],
        response_only: &[#(#response_only),*],
    }))
}

fn pagination_of(paging: Pagination) -> TokenStream {
    let (offset, location) = (variant(paging.offset), variant(paging.r#in));
    let offset_name = option(paging.offset_name);
    let limit_name = option(paging.limit_name);
    let (max_limit, limits) = (option(paging.max_limit), paging.limits);
    let cursor = match (paging.cursor_name, paging.order_name, paging.first, paging.last) {
        (Some(name), Some(order_name), Some(first), Some(last)) => quote!(Some(crate::Cursor {
            name: #name,
            order_name: #order_name,
            first: #first,
            last: #last,
        })),
        _ => quote!(None),
    };
    let (disputed, items, total) = (paging.disputed, paging.items, option(paging.total));
    quote!(crate::Pagination {
        offset: crate::Offset::#offset,
        disputed: #disputed,
        location: crate::ParameterLocation::#location,
        offset_name: #offset_name,
        limit_name: #limit_name,
        max_limit: #max_limit,
        limits: &[#(#limits),*],
        cursor: #cursor,
        items: #items,
        total: #total,
    })
}

/// Returns the name of an enum variant of the description, which is that of the crate.
pub fn variant(value: impl Debug) -> Ident {
    format_ident!("{value:?}")
}

pub fn option<T: ToTokens>(value: Option<T>) -> TokenStream {
    match value {
        Some(value) => quote!(Some(#value)),
        None => quote!(None),
    }
}
