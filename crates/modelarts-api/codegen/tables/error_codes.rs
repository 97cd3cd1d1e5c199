//! Table of error codes. Each row contains the meaning, the advice and the retry conditions of one
//! code.

use std::collections::{BTreeMap, BTreeSet};

use heck::ToShoutySnakeCase;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use serde_json::Value;

use super::{
    super::{
        error::Error,
        extensions::{ErrorRow, read},
    },
    operations::{option, variant},
};

/// Converts `x-error-table` to an item of the generated file.
pub fn table(description: &Value) -> Result<TokenStream, Error> {
    let rows: Vec<ErrorRow> = match description.get("x-error-table") {
        Some(rows) => read("/x-error-table", rows)?,
        None => Vec::new(),
    };
    let names = names(&rows);
    let rows = rows.into_iter().map(row);
    Ok(quote! {
        /// The error codes of the description, by code and status.
        pub static ERROR_CODES: &[crate::ErrorCode] = &[#(#rows),*];
        /// The error codes by their names, for programs that handle some of them.
        pub mod codes {
            #(#names)*
        }
    })
}

/// Returns a constant for each name that belongs to one code.
fn names(rows: &[ErrorRow]) -> Vec<TokenStream> {
    let mut codes = BTreeMap::<String, BTreeSet<&str>>::new();
    for row in rows {
        let name = row.name.to_shouty_snake_case();
        codes.entry(name).or_default().insert(&row.code);
    }
    let constants = codes.into_iter().filter_map(|(name, codes)| {
        let code = codes.first().filter(|_| codes.len() == 1)?;
        let name = format_ident!("{name}");
        Some(quote!(pub const #name: &str = #code;))
    });
    constants.collect()
}

fn row(row: ErrorRow) -> TokenStream {
    let retries = [row.retry.read, row.retry.idempotent, row.retry.create].map(variant);
    let condition = option(row.retry_only_with);
    let (message, solution) = (option(row.message), option(row.solution));
    let (code, status, name) = (row.code, row.status, row.name);
    let (meaning, advice, any_operation) = (row.meaning, row.advice, row.any_operation);
    quote!(crate::ErrorCode {
        code: #code,
        status: #status,
        name: #name,
        meaning: #meaning,
        advice: #advice,
        message: #message,
        solution: #solution,
        any_operation: #any_operation,
        retry_only_with: #condition,
        retry: [#(crate::Retry::#retries),*],
    })
}
