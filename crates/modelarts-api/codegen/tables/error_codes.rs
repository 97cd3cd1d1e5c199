//! Table of error codes. Each row contains the meaning, the advice and the retry conditions of one
//! code.

use proc_macro2::TokenStream;
use quote::quote;
use serde_json::Value;

use super::{
    super::{
        description::{elements, is_true, text},
        error::Error,
    },
    operations::{option, variant},
};

/// Converts `x-error-table` to an item of the generated file.
pub fn table(description: &Value) -> Result<TokenStream, Error> {
    let rows = elements(description, "x-error-table").map(row);
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    Ok(quote! {
        /// The error codes of the description, by code and status.
        pub static ERROR_CODES: &[crate::ErrorCode] = &[#(#rows),*];
    })
}

fn row(row: &Value) -> Result<TokenStream, Error> {
    let wrong = |key: &str, admitted: &str| {
        Error(format!("x-error-table: {key} of {row} must be {admitted}"))
    };
    let needed = |key: &str| text(row, key).ok_or_else(|| wrong(key, "text"));
    let retry = |effect: &str| {
        let word = row["retry"][effect].as_str();
        let retry = variant(word, &["never", "backoff", "poll", "token"]);
        retry.ok_or_else(|| wrong("retry", "never, backoff, poll or token for each effect"))
    };
    let (read, idempotent, create) = (retry("read")?, retry("idempotent")?, retry("create")?);
    let status = row.get("status").and_then(Value::as_u64);
    let status = status.and_then(|status| u16::try_from(status).ok());
    let status = status.ok_or_else(|| wrong("status", "an HTTP status"))?;
    let any_operation = is_true(row, "any-operation");
    let condition = row
        .get("retry-only-with")
        .map(|_| needed("retry-only-with"));
    let condition = option(condition.transpose()?);
    let (code, name) = (needed("code")?, needed("name")?);
    let (meaning, advice) = (needed("meaning")?, needed("advice")?);
    Ok(quote!(crate::ErrorCode {
        code: #code,
        status: #status,
        name: #name,
        meaning: #meaning,
        advice: #advice,
        any_operation: #any_operation,
        retry_only_with: #condition,
        retry: [crate::Retry::#read, crate::Retry::#idempotent, crate::Retry::#create],
    }))
}
