//! References to jobs in arguments: name, id, unique prefix, `@last`, or `-` for ids on stdin.

mod last;
mod resolve;

pub(crate) use last::remember;
#[cfg(unix)]
pub(crate) use resolve::remember_here;
pub(crate) use resolve::{JobArgument, JobArguments, Prefixes, project};
