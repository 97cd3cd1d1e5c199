//! Fields of the bodies of requests. The description has their types, necessity and limits,
//! FIELDS.md the handling by the emulator, and the checks that differ. A violated row is
//! `ModelArts.2788`.

pub(crate) mod field;
pub(crate) mod ignored;
mod row;
#[cfg(test)]
pub(super) mod tests;
pub(crate) mod visible;

use std::sync::LazyLock;

use crate::validation::fields::{field::Field, row::table};

pub(crate) static CREATION: LazyLock<Field> =
    LazyLock::new(|| table("CreateTrainingJob\n", "CreateTrainingJobRequest"));

pub(crate) static CHANGE: LazyLock<Field> = LazyLock::new(|| {
    table("ChangeTrainingJobDescription\n", "ChangeTrainingJobDescriptionRequest")
});

/// The rules for jobs check the fields of `job_config`.
pub(crate) static ALGORITHM: LazyLock<Field> =
    LazyLock::new(|| table("CreateAlgorithm and ChangeAlgorithm\n", "AlgorithmRequest"));
