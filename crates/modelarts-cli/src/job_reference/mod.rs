//! References to jobs in arguments: name, id, unique prefix, `@last`, or `-` for ids on stdin.

mod last;
mod resolve;

pub(crate) use last::remember;
pub(crate) use resolve::{JobArgument, JobArguments, Prefixes, project};
