//! Tables and documentation lists of the facts that generated types do not contain.

pub mod docs;
mod error_codes;
mod events;
mod fields;
mod limits;
mod operations;
mod parameters;
mod regions;
pub mod request_paths;
mod response_only;
mod shape;

use proc_macro2::TokenStream;
use serde_json::Value;

use super::{description::Usage, error::Error};

/// Generates all tables, each with the name of its piece.
pub fn tables(
    description: &Value,
    usage: &Usage,
) -> Result<[(&'static str, TokenStream); 4], Error> {
    let mut tables = operations::table(description)?;
    tables.extend(limits::table(description)?);
    tables.extend(parameters::table(description)?);
    tables.extend(regions::table(description)?);
    Ok([
        ("tables", tables),
        ("error_codes", error_codes::table(description)?),
        ("events", events::table(description)?),
        ("fields", fields::table(description, usage)?),
    ])
}
