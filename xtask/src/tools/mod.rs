//! Programs from npm and PyPI that checks run. They are installed from lock files.

pub mod node;
pub mod redocly;
pub mod venv;
