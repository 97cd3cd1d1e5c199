//! Compiles the OpenAPI description to Rust. Shared by the build script of
//! `modelarts-api` and by `xtask`, which compares the result with its snapshots.
//!
//! 1. [`lower`]: removes from a copy of the description the parts that generated code must not
//!    enforce; [`tables`] keeps them.
//! 2. progenitor generates Rust code from the lowered copy.
//! 3. [`rewrite`]: replaces decoding by that of `crate::decode`, boxes large objects of answers,
//!    turns patterns into plain code, sends calls through `crate::send`, adds open enumerations and
//!    tables, and removes builders of types that only the service creates.
//! 4. [`pieces`]: cuts the result into one piece per schema and operation.

mod error;
// The build script includes this file on its own where it does not build the generator.
pub mod link;
mod lower;
mod pieces;
mod rewrite;
// The build script includes this file on its own where it does not build the generator.
#[allow(dead_code)]
pub mod snapshots;
mod tables;

use std::panic::{AssertUnwindSafe, catch_unwind};

use error::Error;
pub use pieces::Piece;
use progenitor::{GenerationSettings, Generator, HooksMode, InterfaceStyle, TagStyle};
use quote::quote;
use serde_json::Value;
// Used by xtask, not by the build script.
#[allow(unused_imports)]
pub use tables::{docs::SOURCES, operations::METHODS};

/// Parses the YAML text of the description.
pub fn parse(yaml: &str) -> Result<Value, Error> {
    link::check(yaml).map_err(Error::new)?;
    // `yaml_serde::Value` rejects duplicate keys; `serde_json::Value` keeps the last of them.
    yaml_serde::from_str(yaml)
        .and_then(yaml_serde::from_value::<Value>)
        .map_err(|error| Error(format!("not YAML: {error}")))
}

/// Generates the file, as pieces in the order of the file.
pub fn generate(description: &Value) -> Result<Vec<Piece>, Error> {
    let lowered = lower::lower(description)?;
    let openapi: openapiv3::OpenAPI =
        serde_json::from_value(lowered.description.clone()).map_err(|error| {
            Error(format!(
                "the lowered description is not OpenAPI 3.0: {error}"
            ))
        })?;

    let mut settings = GenerationSettings::default();
    settings
        .with_interface(InterfaceStyle::Builder)
        .with_tag(TagStyle::Merged)
        // Calls that still used hooks would be sent unsigned. `Expected` makes them fail to
        // compile.
        .with_hooks(HooksMode::Expected)
        .with_inner_type(quote!(crate::Context))
        .with_derive("PartialEq")
        .with_map_type("::std::collections::BTreeMap");
    for open_enum in &lowered.open_enums {
        settings.with_replacement(
            &open_enum.name,
            format!("crate::types::{}", open_enum.name),
            [progenitor::TypeImpl::Display, progenitor::TypeImpl::FromStr].into_iter(),
        );
    }
    // progenitor panics on some of the constructs that it does not support.
    let tokens = catch_unwind(AssertUnwindSafe(|| {
        Generator::new(&settings).generate_tokens(&openapi)
    }))
    .map_err(|_| Error::new("progenitor panics on the description, with the message above"))?
    .map_err(|error| Error(format!("progenitor refuses the description: {error}")))?;
    let file = syn::parse2(tokens)
        .map_err(|error| Error(format!("progenitor's output is not Rust: {error}")))?;

    pieces::cut(rewrite::rewrite(file, &lowered)?, &lowered)
}

/// Joins the pieces to the generated file.
pub fn join(pieces: &[Piece]) -> String {
    pieces.iter().map(|piece| piece.text.as_str()).collect()
}
