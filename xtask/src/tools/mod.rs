//! Programs from npm and PyPI that checks run, installed from lock files.

pub mod node;
pub mod redocly;
pub mod venv;
