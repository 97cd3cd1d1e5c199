//! Schemas of the JSON that the commands print.

use schemars::{JsonSchema, Schema};

use crate::{
    commands::{api, catalog, console, create, jobs, record, setup, sync},
    failure::ErrorDocument,
    follow::{Item, JobEnd},
    output::{Row, schema},
};

/// Returns the schema of every JSON document by its name. `jobs` is the document of a list, and
/// `jobs.line` a line of it in the format `ndjson`. The errors on stderr are `error`.
#[must_use]
pub fn schemas() -> Vec<(String, Schema)> {
    let mut all = Schemas(Vec::new());
    all.document::<ErrorDocument>("error");
    all.document::<create::check::CheckResult>("check");
    all.document::<JobEnd>("submit");
    all.document::<Item>("submit.line");
    all.list::<jobs::ls::JobRow>();
    all.document::<jobs::show::JobDocument>("job");
    all.document::<jobs::logs::LogDocument>("lines");
    all.document::<jobs::logs::LogItemRow>("lines.line");
    all.list::<jobs::events::EventRow>();
    all.list::<jobs::wait::WaitRow>();
    all.list::<jobs::results::JobResult>();
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
    all.document::<setup::context::ContextPath>("context-path");
    all.document::<setup::dev::DevReady>("dev");
    all.document::<console::ConsoleReady>("console");
    all.document::<setup::doctor::Report>("doctor");
    all.0
}

struct Schemas(Vec<(String, Schema)>);

impl Schemas {
    /// Adds a document, or a line of the format `ndjson` that is not a row.
    fn document<T: JsonSchema>(&mut self, name: &str) {
        self.0.push((name.to_owned(), schema::document::<T>()));
    }

    /// Adds a list and its lines.
    fn list<R: Row>(&mut self) {
        self.0.push((R::LIST.to_owned(), schema::list::<R>()));
        let line = format!("{}.line", R::LIST);
        self.0.push((line, schema::document::<R>()));
    }
}
