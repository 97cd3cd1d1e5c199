//! Jobs as arguments: by name, id, unique prefix of an id, `@last`, or `-` for ids on stdin.

mod last;
mod resolve;

pub(crate) use last::remember;
pub(crate) use resolve::{JobArgument, JobArguments, Prefixes, project};
