//! Fields of the bodies of requests. The description has their types, necessity and limits.
//! FIELDS.md has what the emulator does with each, and the checks that differ from the description.
//!
//! [`field`] joins both, [`row`] reads the page, [`ignored`] finds fields without an effect, and
//! [`visible`] finds fields that responses return.
//!
//! A request with a field that violates its row is rejected with `ModelArts.2788` and the name of
//! the field.

pub(crate) mod field;
pub(crate) mod ignored;
mod row;
#[cfg(test)]
pub(super) mod tests;
pub(crate) mod visible;

use std::sync::LazyLock;

use crate::validation::fields::{field::Field, row::table};

/// Body of CreateTrainingJob.
pub(crate) static CREATION: LazyLock<Field> =
    LazyLock::new(|| table("CreateTrainingJob\n", "CreateTrainingJobRequest"));

/// Body of ChangeTrainingJobDescription.
pub(crate) static CHANGE: LazyLock<Field> = LazyLock::new(|| {
    table("ChangeTrainingJobDescription\n", "ChangeTrainingJobDescriptionRequest")
});

/// Body of CreateAlgorithm and ChangeAlgorithm. The rules for jobs check the fields of
/// `job_config`.
pub(crate) static ALGORITHM: LazyLock<Field> =
    LazyLock::new(|| table("CreateAlgorithm and ChangeAlgorithm\n", "AlgorithmRequest"));
