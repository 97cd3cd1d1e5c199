//! Creating jobs.

mod builder;
mod copy;
mod creating_page;
mod local_files;
mod lost_create;
