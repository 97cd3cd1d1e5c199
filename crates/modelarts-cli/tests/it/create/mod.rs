//! Commands that create jobs.

mod check;
mod exit_codes;
mod fixtures;
mod follow;
mod plan;
mod run;
mod submit;
