//! Installation of the npm and PyPI programs that checks run.

pub mod redocly;
pub mod venv;
