//! Rules that depend on an answer of the service or on local files.
//!
//! They are checked by the code that reads the answer or the files.

use crate::{
    error::violation::Actual,
    validation::report::{
        Basis::{self, Must, Refusal},
        Report,
    },
};

/// Such a rule, with the name and the basis of `openapi/SOURCES.md`.
pub(crate) struct Fact {
    #[cfg_attr(not(test), expect(dead_code, reason = "for tests of the table"))]
    pub(crate) name: &'static str,
    pub(crate) basis: Basis,
    /// The rule, and the correction. Empty if they depend on the answer.
    pub(crate) requirement: &'static str,
    pub(crate) advice: &'static str,
}

impl Fact {
    /// Adds the broken rule to the report.
    pub(crate) fn report(&self, report: &mut Report, field: &str, actual: Actual) {
        report.add_value(self.basis, field, actual, self.requirement, self.advice);
    }
}

macro_rules! facts {
    ($($constant:ident = $name:literal, $basis:expr $(, $requirement:literal, $advice:literal)?;)*) => {
        $(pub(crate) const $constant: Fact = Fact {
            name: $name,
            basis: $basis,
            requirement: concat!("" $(, $requirement)?),
            advice: concat!("" $(, $advice)?),
        };)*

        /// All rules of this file.
        #[cfg(test)]
        pub(crate) const FACTS: &[Fact] = &[$($constant),*];
    };
}

facts! {
    ALGORITHM_EXISTS = "algorithm-exists", Refusal("ModelArts.2755"),
        "must be an algorithm that the service has", "correct the id, or create the algorithm first";
    JOB_FITS_ALGORITHM = "job-fits-algorithm", Refusal("ModelArts.2814");
    PARAMETER_FIXED = "job-fits-algorithm", Refusal("ModelArts.2814"),
        "must not be changed, because the algorithm fixes this hyper-parameter", "leave it out";
    DATA_FITS_ALGORITHM = "data-fits-algorithm", Refusal("ModelArts.2834");
    PARAMETER_REQUIRED = "parameter-required", Refusal("ModelArts.2766"),
        "must be given, because the algorithm requires this hyper-parameter and has no default for it",
        "give it a value";
    PARAMETER_EMPTY = "parameter-required", Refusal("ModelArts.2766"),
        "must have a value, because the algorithm requires one", "give it a value";
    PARAMETER_TYPED = "parameter-typed", Refusal("ModelArts.2768"),
        "must be of the type that the algorithm states", "correct the value";
    PARAMETER_CHOSEN = "parameter-chosen", Refusal("ModelArts.2765"),
        "must be one of the choices of the algorithm", "choose one of them";
    PARAMETER_IN_RANGE = "parameter-in-range", Refusal("ModelArts.2769"),
        "must lie in the range of the algorithm", "choose a value in the range";
    FLAVOR_EXISTS = "flavor-exists", Refusal("ModelArts.2781");
    FLAVOR_FITS_ALGORITHM = "flavor-fits-algorithm", Refusal("ModelArts.2763");
    NODES_OF_FLAVOR = "nodes-of-flavor", Refusal("ModelArts.2793");
    CODE_DIR_FILES = "code-dir-files", Refusal("ModelArts.2759"),
        "must have at most 1,000 files", "leave out what the script does not need, or pack it";
    CODE_DIR_DEPTH = "code-dir-depth", Refusal("ModelArts.2760"),
        "must be at most 32 directories deep", "make the tree flatter";
    CODE_DIR_SIZE = "code-dir-size", Refusal("ModelArts.2761"),
        "must have at most 5 GB", "move data to an input";
    BOOT_FILE_INSIDE = "boot-file-inside", Refusal("ModelArts.2792"),
        "must lie in the code directory", "move the boot file into the directory";
    BOOT_FILE_PYTHON = "boot-file-python", Must("ModelArts.2758"),
        "must end in .py", "start a Python file; other programs need an image and a command";
    BOOT_FILE_EXISTS = "boot-file-exists", Refusal("ModelArts.2758"),
        "must exist in the code directory", "correct its name, or put it into the directory";
}
