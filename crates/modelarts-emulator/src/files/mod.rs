//! Paths of OBS and of containers, and file access that is confined to a directory.

pub(crate) mod confined_dir;
pub(crate) mod container_path;
pub(crate) mod obs_path;
