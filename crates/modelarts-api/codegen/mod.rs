//! Compiles the OpenAPI description to Rust. Shared by the build script of
//! `modelarts-api` and by `xtask`, which compares the result with its snapshots.
//!
//! 1. [`lower`]: a copy of the description loses what generated code must not
//!    enforce; what it loses is kept in [`tables`].
//! 2. progenitor makes Rust of the rest.
//! 3. [`rewrite`]: decoding becomes that of `crate::decode`, large objects of answers are boxed,
//!    patterns become plain code, calls go through `crate::send`, open enumerations and tables
//!    join, builders of types that only the service makes go away.
//! 4. [`pieces`]: the result is cut into one piece per schema and operation.

mod error;
// The build script uses it by itself where it does not build the generator.
pub mod link;
mod lower;
mod pieces;
mod rewrite;
// The build script includes this file by itself where it does not build the generator.
#[allow(dead_code)]
pub mod snapshots;
mod tables;

use std::panic::{AssertUnwindSafe, catch_unwind};

use error::Error;
pub use pieces::Piece;
use progenitor::{GenerationSettings, Generator, HooksMode, InterfaceStyle, TagStyle};
use quote::quote;
use serde_json::Value;
// The build script has no use for these, xtask has.
#[allow(unused_imports)]
pub use tables::{docs::SOURCES, operations::METHODS};

/// Reads the description from YAML.
pub fn parse(yaml: &str) -> Result<Value, Error> {
    link::check(yaml).map_err(Error::new)?;
    // Values of yaml_serde refuse a key that comes twice; those of serde_json take the last one.
    yaml_serde::from_str(yaml)
        .and_then(yaml_serde::from_value::<Value>)
        .map_err(|error| Error(format!("not YAML: {error}")))
}

/// Generates the file, in pieces whose texts follow one another.
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
        // A call that went on using hooks would leave unsigned; so it must not compile.
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
    // Some of what progenitor does not support makes it panic.
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
