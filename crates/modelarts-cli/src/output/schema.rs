//! Schemas of the JSON of the commands.

use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde_json::{Value, json};

use crate::output::{Row, SCHEMA_VERSION};

/// Returns the schema of a document, with its version.
pub(crate) fn document<T: JsonSchema>() -> Schema {
    with_version(of::<T>())
}

/// Returns the schema of the document of a list.
pub(crate) fn list<R: Row>() -> Schema {
    let mut row = of::<R>();
    row.remove("$schema");
    // Definitions are referred to from the root.
    let definitions = row.remove("$defs");
    let mut list = Schema::default();
    list.insert("type".to_owned(), "object".into());
    list.insert("required".to_owned(), json!([R::LIST]));
    let rows = json!({"type": "array", "items": row});
    list.insert("properties".to_owned(), json!({ R::LIST: rows }));
    if let Some(definitions) = definitions {
        list.insert("$defs".to_owned(), definitions);
    }
    with_version(list)
}

/// Adds the field `schema_version` to the schema of an object.
fn with_version(mut schema: Schema) -> Schema {
    let fields = schema.ensure_object();
    let draft = "https://json-schema.org/draft/2020-12/schema";
    fields.insert("$schema".to_owned(), draft.into());
    let properties = fields.entry("properties").or_insert_with(|| json!({}));
    properties["schema_version"] = json!({
        "description": "Version of the schemas. Within a version, fields are only added.",
        "const": SCHEMA_VERSION,
    });
    let required = fields.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(names) = required {
        names.insert(0, "schema_version".into());
    }
    schema
}

fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}
