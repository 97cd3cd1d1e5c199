//! Paths of OBS and of containers, and access to files that cannot leave a directory.

pub(crate) mod confined_dir;
pub(crate) mod container_path;
pub(crate) mod obs_path;
