//! Creations that are refused, accepted, or have fields without an effect.

mod accepted_jobs;
mod ignored_fields;
mod refused_jobs;
