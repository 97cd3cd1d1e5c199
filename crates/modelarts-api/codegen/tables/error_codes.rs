//! The table of error codes, with the meaning, the advice and the retry of each.

use proc_macro2::TokenStream;
use quote::quote;
use serde_json::Value;

use super::super::error::Error;

/// Converts `x-error-table` to an item of the generated file.
pub fn table(description: &Value) -> Result<TokenStream, Error> {
    let rows = description.get("x-error-table").and_then(Value::as_array);
    let rows = rows.into_iter().flatten().map(row);
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    Ok(quote! {
        /// The error codes of the description, by code and status.
        pub static ERROR_CODES: &[crate::ErrorCode] = &[#(#rows),*];
    })
}

/// The error codes that an operation lists.
pub fn own(id: &str, operation: &Value) -> Result<Vec<String>, Error> {
    let codes = operation.get("x-error-codes").and_then(Value::as_array);
    let codes = codes.into_iter().flatten().map(|code| {
        let code = code.as_str().map(str::to_owned);
        code.ok_or_else(|| Error(format!("operation {id}: x-error-codes must list codes")))
    });
    codes.collect()
}

fn row(row: &Value) -> Result<TokenStream, Error> {
    let wrong = |key: &str, admitted: &str| {
        Error(format!("x-error-table: {key} of {row} must be {admitted}"))
    };
    let text = |key: &str| {
        let text = row.get(key).and_then(Value::as_str);
        text.ok_or_else(|| wrong(key, "text"))
    };
    let retry = |effect: &str| match row["retry"][effect].as_str() {
        Some("never") => Ok(quote!(Never)),
        Some("backoff") => Ok(quote!(Backoff)),
        Some("poll") => Ok(quote!(Poll)),
        Some("token") => Ok(quote!(Token)),
        _ => Err(wrong(
            "retry",
            "never, backoff, poll or token for each effect",
        )),
    };
    let (read, idempotent, create) = (retry("read")?, retry("idempotent")?, retry("create")?);
    let status = row.get("status").and_then(Value::as_u64);
    let status = status.and_then(|status| u16::try_from(status).ok());
    let status = status.ok_or_else(|| wrong("status", "an HTTP status"))?;
    let any_operation = row.get("any-operation").and_then(Value::as_bool) == Some(true);
    let condition = match row.get("retry-only-with").map(Value::as_str) {
        None => None,
        Some(Some(text)) => Some(quote!(.with_condition(#text))),
        Some(None) => return Err(wrong("retry-only-with", "text")),
    };
    let (code, name) = (text("code")?, text("name")?);
    let (meaning, advice) = (text("meaning")?, text("advice")?);
    Ok(quote!(crate::ErrorCode::new(
        #code,
        #status,
        #name,
        [crate::Retry::#read, crate::Retry::#idempotent, crate::Retry::#create],
        #meaning,
        #advice,
        #any_operation,
    ) #condition))
}
