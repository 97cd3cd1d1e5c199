//! Validation of a job before creation: report, and specs of the algorithm and of the flavor.
//!
//! The service reports one error at a time, and a job may wait in a queue before it fails. The
//! validation reports all problems: [violations](crate::error::Violation) of rules that the service
//! or a document states, and [warnings](Warning). `openapi/SOURCES.md` lists the rules.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # fn main() -> Result { run(async |emulator, client| {
//! use modelarts_ext::validation::FlavorSpec;
//!
//! // The spec of a flavor. submit() reads it from the service unless it is given.
//! let flavor = serde_json::json!({"flavor_type": "CPU", "max_num": 2});
//! let report = client
//!     .training_jobs()
//!     .create("not a name")
//!     .flavor("modelarts.vm.cpu.2u")
//!     .nodes(3)
//!     .with_flavor_spec(FlavorSpec::from_json(&flavor))
//!     .check();
//! for violation in &report.violations {
//!     println!("{}: {violation}", violation.field());
//! }
//! assert!(!report.is_ok());
//! # Ok(()) }) }
//! ```
//!
//! [`CreateJob::check`](crate::jobs::create::CreateJob::check) validates without a request, with
//! the specs from [`CreateJob::look_up`](crate::jobs::create::CreateJob::look_up) or the program.
//! [`CreateJob::submit`](crate::jobs::create::CreateJob::submit) looks up specs and validates.

// `check` compares the fields of the body (`draft`, `json_path`) with limits, rules,
// recommendations, and the specs of the algorithm and the flavor.

pub(crate) mod draft;
pub(crate) mod json_path;
pub(crate) mod known_engines;
pub(crate) mod limits;
pub(crate) mod obs_path;
pub(crate) mod recommendations;
pub(crate) mod report;
pub(crate) mod rules;
pub(crate) mod specs;

pub use report::{Report, Warning};
pub use specs::AlgorithmSpec;
pub use specs::FlavorSpec;

use serde_json::Value;

use crate::{
    config::cloud::Cloud,
    validation::{draft::Draft, known_engines::KnownSpecs},
};

pub(crate) fn check(body: &Value, cloud: Cloud, specs: &KnownSpecs) -> Report {
    let draft = Draft::new(body, cloud);
    let mut report = Report::default();
    limits::check(limits::BODY, &draft.root(), &mut report);
    rules::check(draft, &mut report);
    let algorithm = specs.algorithm.of(draft.algorithm_id());
    if let Some(algorithm) = algorithm {
        algorithm.check(draft, &mut report);
    }
    if let Some(flavor) = specs.flavor.of(draft.flavor_id()) {
        flavor.check(draft, algorithm, &mut report);
    }
    if let Some(engines) = &specs.engines {
        engines.check(draft, &mut report);
    }
    recommendations::check(draft, &mut report.warnings);
    report
}
