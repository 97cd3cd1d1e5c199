//! Validation of a job before its creation: the report, and the specs of its algorithm and flavor.
//!
//! The service reports one error of an invalid job at a time, and a job may wait in a queue before
//! it fails. The validation reads the whole request body, and reports all problems that it detects.
//! A problem is a [violation](crate::error::Violation) if the service is known to reject such jobs,
//! or if a document states the rule. It is a [`Warning`] if a document only recommends the rule, or
//! if the rule is inferred. `openapi/SOURCES.md` contains a row for each rule.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # #[tokio::main]
//! # async fn main() -> Result {
//! # let (emulator, client) = start().await?;
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
//! # emulator.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! [`CreateJob::check`](crate::jobs::create::CreateJob::check) validates without sending a request.
//! [`CreateJob::look_up`](crate::jobs::create::CreateJob::look_up) reads the specs of the algorithm
//! and the flavor from the service; the caller can also set them.
//! [`CreateJob::submit`](crate::jobs::create::CreateJob::submit) reads the specs and validates
//! before it sends the create request.

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

/// Validates the body by the rules of a cloud, and by the specs as far as they are known.
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
