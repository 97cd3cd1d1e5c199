//! Compiler from the OpenAPI description to Rust. The build script of `modelarts-api` uses it to
//! generate the code, and `xtask` uses it to check the snapshots.
//!
//! 1. [`lower::portable_forms`] replaces forms that only generators of other languages need.
//! 2. [`tables`] generates tables of facts that generated types do not contain.
//! 3. [`lower`] removes limits and other parts of the description that generated code must not
//!    enforce.
//! 4. progenitor generates Rust code from the lowered description.
//! 5. [`rewrite`] changes the code: types of responses implement `crate::decode`, calls use
//!    `crate::send`, and large objects in responses are boxed. It adds open enumerations and
//!    identifiers, and removes the builders of types that only responses contain.
//! 6. [`pieces`] divides the code into the texts of the snapshots, by resource and kind.
//!
//! [`causes`] compiles `causes.yaml`, which is independent of the description.

pub mod causes;
pub mod description;
mod error;
pub mod extensions;
// Compiled also without the generator: the build script then includes this file directly.
pub mod link;
mod lower;
mod pieces;
pub mod pointer;
mod rewrite;
// Compiled also without the generator: the build script then includes this file directly.
#[allow(dead_code)]
pub mod snapshots;
mod tables;

use std::{
    collections::BTreeMap,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

// Used by xtask, not by the build script.
#[allow(unused_imports)]
pub use description::METHODS;
use description::Usage;
use error::Error;
use progenitor::{GenerationSettings, Generator, HooksMode, InterfaceStyle, TagStyle, TypeImpl};
use quote::quote;
use serde_json::Value;
#[allow(unused_imports)]
pub use tables::docs::SOURCES;

/// Reads a description with the files to which its extensions refer. An error names the file.
pub fn read(file: &Path) -> Result<Value, Error> {
    let read_file = |file: &Path| {
        let text = fs::read_to_string(file).map_err(Error::new);
        let value = text.and_then(|yaml| parse(&yaml));
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        value.map_err(|error| Error(format!("{name}: {error}")))
    };
    let mut root = read_file(file)?;
    for (_, table) in root.as_object_mut().into_iter().flatten() {
        if let Some(name) = description::text(table, "$ref").map(str::to_owned) {
            *table = read_file(&file.with_file_name(name))?;
        }
    }
    Ok(root)
}

/// Parses a text in YAML.
pub fn parse(yaml: &str) -> Result<Value, Error> {
    link::check(yaml).map_err(Error::new)?;
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options(yaml, options).map_err(|error| {
        let message = error.render_with_formatter(&serde_saphyr::UserMessageFormatter);
        Error(format!("not YAML: {message}"))
    })
}

/// Generates the Rust code, as the texts of the snapshots by name. [`snapshots::join`] makes them
/// one file.
pub fn generate(description: &Value) -> Result<BTreeMap<String, String>, Error> {
    let mut description = description.clone();
    lower::portable_forms::undo(&mut description);
    let usage = Usage::of(&description)?;
    let tables = tables::tables(&description, &usage)?;
    let documentation = tables::docs::builders(&description)?;
    let lowered = lower::lower(description.clone(), &usage)?;
    let openapi: openapiv3::OpenAPI = serde_json::from_value(lowered.description.clone())
        .map_err(|error| Error(format!("the lowered description is not OpenAPI 3.0: {error}")))?;

    let mut settings = GenerationSettings::default();
    settings
        .with_interface(InterfaceStyle::Builder)
        .with_tag(TagStyle::Merged)
        // progenitor's hooks would send a request unsigned. With `Expected`, a call that still uses
        // them fails to compile.
        .with_hooks(HooksMode::Expected)
        .with_inner_type(quote!(crate::Context))
        .with_derive("PartialEq")
        .with_map_type("::std::collections::BTreeMap");
    let open_enums = lowered.open_enums.iter().map(|open_enum| open_enum.name.as_str());
    for name in open_enums.chain([lower::SECRET]) {
        let path = match name {
            lower::SECRET => format!("crate::{name}"),
            name => format!("crate::types::{name}"),
        };
        let implemented = [TypeImpl::Display, TypeImpl::FromStr];
        settings.with_replacement(name, path, implemented.into_iter());
    }
    // progenitor panics on some constructs that it does not support.
    let tokens =
        catch_unwind(AssertUnwindSafe(|| Generator::new(&settings).generate_tokens(&openapi)))
            .map_err(|_| {
                Error::new("progenitor panics on the description, with the message above")
            })?
            .map_err(|error| Error(format!("progenitor refuses the description: {error}")))?;
    let file = syn::parse2(tokens)
        .map_err(|error| Error(format!("progenitor's output is not Rust: {error}")))?;

    let file = rewrite::rewrite(file, &lowered, &usage)?;
    pieces::cut(file, tables, &description, &usage, &documentation)
}
