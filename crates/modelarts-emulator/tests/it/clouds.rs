//! The two clouds.
