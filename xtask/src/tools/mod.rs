//! Programs from npm and PyPI that checks start, installed by lock files.

pub mod node;
pub mod redocly;
pub mod venv;
