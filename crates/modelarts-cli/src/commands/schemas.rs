//! Schemas of the JSON that the commands print.

use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde_json::{Value, json};

use crate::{
    commands::{api, catalog, console, create, data, help, jobs, record, setup, sync},
    failure::ErrorDocument,
    follow::{Item, JobEnd},
    output::{Row, SCHEMA_VERSION},
};

/// Returns the schemas of all JSON documents, with their names. `jobs` is the document of a list,
/// `jobs.line` a line of the list in the format `ndjson`, and `error` an error on stderr.
#[must_use]
pub fn schemas() -> Vec<(String, Schema)> {
    let mut all = Schemas(Vec::new());
    all.document::<ErrorDocument>("error");
    all.document::<create::check::CheckResult>("check");
    all.document::<JobEnd>("submit");
    all.document::<Item>("submit.line");
    all.list::<create::sweep::TrialRow>();
    all.list::<jobs::values::trials::SearchTrialRow>();
    all.list::<jobs::values::metrics::PointRow>();
    all.list::<jobs::ls::JobRow>();
    all.document::<jobs::show::JobDocument>("job");
    all.list::<jobs::diff::FieldRow>();
    all.document::<jobs::logs::LogDocument>("lines");
    all.document::<jobs::logs::LogItemRow>("lines.line");
    all.list::<jobs::events::EventRow>();
    all.list::<jobs::top::TopRow>();
    all.list::<jobs::wait::WaitRow>();
    all.list::<jobs::results::JobResult>();
    all.list::<jobs::download::OutputRow>();
    all.list::<sync::objects::ObjectRow>();
    all.list::<data::VersionRow>();
    all.list::<data::RemovalRow>();
    all.document::<jobs::explain::DiagnosisDocument>("diagnosis");
    all.list::<catalog::flavors::FlavorRow>();
    all.list::<catalog::engines::EngineRow>();
    all.list::<catalog::algorithms::AlgorithmRow>();
    all.document::<catalog::algorithms::AlgorithmDetails>("algorithm");
    all.list::<api::OperationRow>();
    all.document::<api::OperationDetails>("operation");
    all.document::<api::PreparedRequest>("request");
    all.list::<record::Difference>();
    all.document::<sync::SyncReport>("sync");
    all.document::<sync::SyncLine>("sync.line");
    all.list::<setup::context::ContextRow>();
    all.document::<setup::context::ContextRow>("context");
    all.document::<setup::context::ContextVariables>("context-variables");
    all.document::<setup::context::ContextPath>("context-path");
    all.document::<setup::dev::DevReady>("dev");
    all.document::<console::ConsoleReady>("console");
    all.document::<setup::doctor::Report>("doctor");
    all.document::<help::document::CommandLine>("command-line");
    all.0
}

struct Schemas(Vec<(String, Schema)>);

impl Schemas {
    /// Adds the schema of a document, or of a line of the format `ndjson` that is not a row.
    fn document<T: JsonSchema>(&mut self, name: &str) {
        self.0.push((name.to_owned(), schema_of_document::<T>()));
    }

    fn list<R: Row>(&mut self) {
        self.0.push((R::LIST.to_owned(), schema_of_list::<R>()));
        let line = format!("{}.line", R::LIST);
        self.0.push((line, schema_of_document::<R>()));
    }
}

fn schema_of_document<T: JsonSchema>() -> Schema {
    with_version(schema_of::<T>())
}

fn schema_of_list<R: Row>() -> Schema {
    let mut row = schema_of::<R>();
    row.remove("$schema");
    // References point to definitions at the root of the schema.
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

fn schema_of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}
