//! Commands on existing jobs.

mod ls;
