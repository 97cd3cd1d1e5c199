//! Commands that create jobs.

pub(crate) mod check;
pub(crate) mod run;
pub(crate) mod submit;
