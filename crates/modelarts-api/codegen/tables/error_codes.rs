//! Table of error codes. Each row contains the meaning, the advice and the retry conditions of one
//! code.

use proc_macro2::TokenStream;
use quote::quote;
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
    let rows = rows.into_iter().map(row);
    Ok(quote! {
        /// The error codes of the description, by code and status.
        pub static ERROR_CODES: &[crate::ErrorCode] = &[#(#rows),*];
    })
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
