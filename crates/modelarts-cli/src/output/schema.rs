//! Schemas of the JSON of all commands.

use schemars::{JsonSchema, Schema, generate::SchemaSettings};

use crate::output::Row;

/// Returns the schema of the document of a list.
pub(crate) fn of_list<R: Row>() -> Schema {
    let mut schema = of::<R>();
    let row = std::mem::take(&mut schema);
    let mut list = serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": ["schema_version", R::LIST],
        "properties": {
            "schema_version": {"const": super::SCHEMA_VERSION},
            R::LIST: {"type": "array", "items": row},
        },
    });
    // Definitions are referred to from the root.
    if let Some(definitions) = list["properties"][R::LIST]["items"]
        .as_object_mut()
        .and_then(|items| {
            items.remove("$schema");
            items.remove("$defs")
        })
    {
        list["$defs"] = definitions;
    }
    Schema::try_from(list).unwrap_or_default()
}

/// Returns the schema of a document, without its version.
pub(crate) fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>()
}
