//! The check of a job before it is submitted.
//!
//! [`check`] reads the body of a request by its fields ([`draft`], [`json_path`]) and holds it
//! against the limits of single fields ([`limits`]), the rules between fields ([`rules`]), what the
//! algorithm and the flavor demand ([`known_specs`]), and the advice of the documents
//! ([`recommendations`]). A [`report`] has the result.

pub(crate) mod algorithm_spec;
pub(crate) mod annotations;
pub(crate) mod draft;
pub(crate) mod flavor_spec;
pub(crate) mod json_path;
pub(crate) mod known_specs;
pub(crate) mod limits;
pub(crate) mod obs_path;
pub(crate) mod recommendations;
pub(crate) mod report;
pub(crate) mod response_only;
pub(crate) mod rules;

pub use algorithm_spec::AlgorithmSpec;
pub use flavor_spec::FlavorSpec;
pub use report::{Report, Warning};

use serde_json::Value;

use crate::{
    config::cloud::Cloud,
    validation::{
        draft::Draft,
        known_specs::{KnownSpecs, algorithm_of, flavor_of},
    },
};

/// Checks the body of a creation by the rules of a cloud, and against the specs of its algorithm
/// and its flavor, where they are known.
pub(crate) fn check(body: &Value, cloud: Cloud, specs: &KnownSpecs) -> Report {
    let draft = Draft::new(body, cloud);
    let mut report = Report::default();
    limits::check(limits::BODY, &draft.root(), &mut report);
    rules::check(&draft, &mut report);
    let algorithm = specs.algorithm(algorithm_of(body));
    if let Some(algorithm) = algorithm {
        algorithm.check(&draft, &mut report);
    }
    if let Some(flavor) = specs.flavor(flavor_of(body)) {
        flavor.check(&draft, algorithm, &mut report);
    }
    recommendations::check(&draft, &mut report.warnings);
    report
}
