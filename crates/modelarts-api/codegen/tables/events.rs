//! Table of the kinds of events, with their texts, levels and sources.

use proc_macro2::TokenStream;
use quote::quote;
use serde::Deserialize;
use serde_json::Value;

use super::{
    super::{error::Error, extensions::read},
    operations::option,
};

/// Kind of `x-events`, without its description for readers.
#[derive(Deserialize)]
struct Kind {
    kind: String,
    source: String,
    level: String,
    #[serde(default)]
    r#final: bool,
    texts: Texts,
}

#[derive(Deserialize)]
struct Texts {
    guide: Vec<String>,
    api: Vec<String>,
}

/// Converts the kinds of `x-events` to an item of the generated file.
pub fn table(description: &Value) -> Result<TokenStream, Error> {
    let kinds: Vec<Kind> = match description.pointer("/x-events/kinds") {
        Some(kinds) => read("/x-events/kinds", kinds)?,
        None => Vec::new(),
    };
    let rows = kinds.into_iter().map(|kind| {
        let Kind { kind, source, level, r#final: is_final, texts } = kind;
        let [guide, api] = [texts.guide, texts.api].map(|texts| option(texts.into_iter().next()));
        quote!(crate::EventRow {
            kind: #kind,
            source: #source,
            level: #level,
            is_final: #is_final,
            guide: #guide,
            api: #api,
        })
    });
    Ok(quote! {
        /// The kinds of events of the description.
        pub static EVENTS: &[crate::EventRow] = &[#(#rows),*];
    })
}
