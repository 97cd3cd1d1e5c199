//! Checks of a job before it is submitted.

pub(crate) mod algorithm_spec;
pub(crate) mod draft;
pub(crate) mod flavor_spec;
pub(crate) mod json_path;
pub(crate) mod limits;
pub(crate) mod obs_path;
pub(crate) mod recommendations;
pub(crate) mod response_only;
pub(crate) mod rules;
