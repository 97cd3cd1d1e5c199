//! The native half of the Python package `modelarts_tools`: classes over the blocking form of
//! modelarts-ext and modelarts-obs, and the emulator in the process of Python.
//!
//! `python/modelarts_tools` is the other half: records, exceptions and the fixture of pytest. Its
//! file `_native.pyi` has the types and the documentation of the classes here.

mod client;
mod convert;
#[cfg(unix)]
mod emulator;
mod errors;
mod job;
mod options;
mod records;
mod request;
mod runtime;
mod settings;
mod stream;

use pyo3::pymodule;

/// Classes of the package `modelarts_tools`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::client::PyClient;
    #[cfg(unix)]
    #[pymodule_export]
    use crate::emulator::{Server, emulator_log};
    #[pymodule_export]
    use crate::job::PyJob;
    #[pymodule_export]
    use crate::request::JobRequest;
    #[pymodule_export]
    use crate::stream::Stream;

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
