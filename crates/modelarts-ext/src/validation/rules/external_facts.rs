//! Rules that depend on a response of the service or on local files.
//!
//! The code that reads the response or the files evaluates these rules.

use crate::{
    error::violation::Actual,
    validation::report::{
        Basis::{self, Must, Refusal},
        Report,
    },
};

/// Rule that depends on a response or on local files, with its name and basis in
/// `openapi/SOURCES.md`.
#[derive(Clone, Copy)]
pub(crate) struct Fact {
    #[cfg_attr(not(test), expect(dead_code, reason = "for tests of the table"))]
    pub(crate) name: &'static str,
    pub(crate) basis: Basis,
}

/// Rule with a fixed requirement and correction, independent of the response.
pub(crate) struct WordedFact {
    pub(crate) fact: Fact,
    pub(crate) requirement: &'static str,
    pub(crate) advice: &'static str,
}

const fn fact(name: &'static str, basis: Basis) -> Fact {
    Fact { name, basis }
}

const fn worded(fact: Fact, requirement: &'static str, advice: &'static str) -> WordedFact {
    WordedFact {
        fact,
        requirement,
        advice,
    }
}

impl WordedFact {
    /// Adds a violation of this rule to the report.
    pub(crate) fn report(&self, report: &mut Report, field: &str, actual: Actual) {
        let basis = self.fact.basis;
        report.add_value(basis, field, actual, self.requirement, self.advice);
    }
}

pub(crate) const ALGORITHM_EXISTS: WordedFact = worded(
    fact("algorithm-exists", Refusal("ModelArts.2755")),
    "must be an algorithm that the service has",
    "correct the id, or create the algorithm first",
);
pub(crate) const JOB_FITS_ALGORITHM: Fact = fact("job-fits-algorithm", Refusal("ModelArts.2814"));
pub(crate) const PARAMETER_FIXED: WordedFact = worded(
    JOB_FITS_ALGORITHM,
    "must not be changed, because the algorithm fixes this hyper-parameter",
    "leave it out",
);
pub(crate) const DATA_FITS_ALGORITHM: Fact = fact("data-fits-algorithm", Refusal("ModelArts.2834"));
pub(crate) const PARAMETER_REQUIRED: WordedFact = worded(
    fact("parameter-required", Refusal("ModelArts.2766")),
    "must be given, because the algorithm requires this hyper-parameter and has no \
     default for it",
    "give it a value",
);
pub(crate) const PARAMETER_EMPTY: WordedFact = worded(
    PARAMETER_REQUIRED.fact,
    "must have a value, because the algorithm requires one",
    "give it a value",
);
pub(crate) const PARAMETER_TYPED: WordedFact = worded(
    fact("parameter-typed", Refusal("ModelArts.2768")),
    "must be of the type that the algorithm states",
    "correct the value",
);
pub(crate) const PARAMETER_CHOSEN: WordedFact = worded(
    fact("parameter-chosen", Refusal("ModelArts.2765")),
    "must be one of the choices of the algorithm",
    "choose one of them",
);
pub(crate) const PARAMETER_IN_RANGE: WordedFact = worded(
    fact("parameter-in-range", Refusal("ModelArts.2769")),
    "must lie in the range of the algorithm",
    "choose a value in the range",
);
pub(crate) const ENGINE_EXISTS: Fact = fact("engine-exists", Refusal("ModelArts.2780"));
pub(crate) const FLAVOR_EXISTS: Fact = fact("flavor-exists", Refusal("ModelArts.2781"));
pub(crate) const FLAVOR_FITS_ALGORITHM: Fact =
    fact("flavor-fits-algorithm", Refusal("ModelArts.2763"));
pub(crate) const NODES_OF_FLAVOR: Fact = fact("nodes-of-flavor", Refusal("ModelArts.2793"));
pub(crate) const CODE_DIR_FILES: WordedFact = worded(
    fact("code-dir-files", Refusal("ModelArts.2759")),
    "must have at most 1,000 files",
    "leave out what the script does not need, or pack it",
);
pub(crate) const CODE_DIR_DEPTH: WordedFact = worded(
    fact("code-dir-depth", Refusal("ModelArts.2760")),
    "must be at most 32 directories deep",
    "make the tree flatter",
);
pub(crate) const CODE_DIR_SIZE: WordedFact = worded(
    fact("code-dir-size", Refusal("ModelArts.2761")),
    "must have at most 5 GB",
    "move data to an input",
);
pub(crate) const BOOT_FILE_INSIDE: WordedFact = worded(
    fact("boot-file-inside", Refusal("ModelArts.2792")),
    "must lie in the code directory",
    "move the boot file into the directory",
);
pub(crate) const BOOT_FILE_PYTHON: WordedFact = worded(
    fact("boot-file-python", Must("ModelArts.2758")),
    "must end in .py",
    "start a Python file; other programs need an image and a command",
);
pub(crate) const BOOT_FILE_EXISTS: WordedFact = worded(
    fact("boot-file-exists", Refusal("ModelArts.2758")),
    "must exist in the code directory",
    "correct its name, or put it into the directory",
);

/// All rules of this file.
#[cfg(test)]
pub(crate) const FACTS: &[Fact] = &[
    ALGORITHM_EXISTS.fact,
    JOB_FITS_ALGORITHM,
    DATA_FITS_ALGORITHM,
    PARAMETER_REQUIRED.fact,
    PARAMETER_TYPED.fact,
    PARAMETER_CHOSEN.fact,
    PARAMETER_IN_RANGE.fact,
    ENGINE_EXISTS,
    FLAVOR_EXISTS,
    FLAVOR_FITS_ALGORITHM,
    NODES_OF_FLAVOR,
    CODE_DIR_FILES.fact,
    CODE_DIR_DEPTH.fact,
    CODE_DIR_SIZE.fact,
    BOOT_FILE_INSIDE.fact,
    BOOT_FILE_PYTHON.fact,
    BOOT_FILE_EXISTS.fact,
];
