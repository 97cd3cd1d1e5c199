//! Rules that depend on an answer of the service or on local files.
//!
//! They are checked by the code that reads the answer or the files.

use crate::validation::report::Basis::{self, Must, Refusal};

/// The name and the basis of such a rule, as in `openapi/SOURCES.md`.
pub(crate) struct Fact {
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "tests compare the table with SOURCES")
    )]
    pub(crate) name: &'static str,
    pub(crate) basis: Basis,
}

macro_rules! facts {
    ($($constant:ident = $name:literal, $basis:expr;)*) => {
        $(pub(crate) const $constant: Fact = Fact { name: $name, basis: $basis };)*

        /// All rules of this file.
        #[cfg(test)]
        pub(crate) const FACTS: &[Fact] = &[$($constant),*];
    };
}

facts! {
    ALGORITHM_EXISTS = "algorithm-exists", Refusal("ModelArts.2755");
    JOB_FITS_ALGORITHM = "job-fits-algorithm", Refusal("ModelArts.2814");
    DATA_FITS_ALGORITHM = "data-fits-algorithm", Refusal("ModelArts.2834");
    PARAMETER_REQUIRED = "parameter-required", Refusal("ModelArts.2766");
    PARAMETER_TYPED = "parameter-typed", Refusal("ModelArts.2768");
    PARAMETER_CHOSEN = "parameter-chosen", Refusal("ModelArts.2765");
    PARAMETER_IN_RANGE = "parameter-in-range", Refusal("ModelArts.2769");
    FLAVOR_EXISTS = "flavor-exists", Refusal("ModelArts.2781");
    FLAVOR_FITS_ALGORITHM = "flavor-fits-algorithm", Refusal("ModelArts.2763");
    NODES_OF_FLAVOR = "nodes-of-flavor", Refusal("ModelArts.2793");
    CODE_DIR_FILES = "code-dir-files", Refusal("ModelArts.2759");
    CODE_DIR_DEPTH = "code-dir-depth", Refusal("ModelArts.2760");
    CODE_DIR_SIZE = "code-dir-size", Refusal("ModelArts.2761");
    BOOT_FILE_INSIDE = "boot-file-inside", Refusal("ModelArts.2792");
    BOOT_FILE_PYTHON = "boot-file-python", Must("ModelArts.2758");
    BOOT_FILE_EXISTS = "boot-file-exists", Refusal("ModelArts.2758");
}
