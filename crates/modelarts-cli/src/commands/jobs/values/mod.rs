//! Values of jobs: columns of `ls`, `metrics` and `trials`.

pub(crate) mod columns;
pub(crate) mod metrics;
pub(crate) mod trials;
