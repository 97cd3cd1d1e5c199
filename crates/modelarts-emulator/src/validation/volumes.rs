//! Rules on volumes.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    api::error::ApiError,
    files::container_path,
    validation::creation::{Creation, text_of},
};

const KINDS: [(&str, &str); 3] = [
    ("nfs", "nfs_server_path"),
    ("pfs", "pfs_path"),
    ("obs", "obs_path"),
];
/// Maximum number of volumes of a job: the user guide calls them disks (SOURCES F3).
const MAX_VOLUMES: usize = 8;

fn rule_broken(what: impl std::fmt::Display) -> Result<(), ApiError> {
    Err(ApiError::invalid_parameter(format!("spec.volumes{what}")))
}

fn given(volume: &Value, kind: &str) -> bool {
    volume.get(kind).is_some_and(|value| !value.is_null())
}

/// A mount of a volume.
struct Mount<'a> {
    kind: &'static str,
    /// The path to mount, if given.
    source: Option<&'a str>,
    /// The mount point, without trailing slashes.
    local_path: Option<&'a str>,
}

fn mounts<'a>(creation: &Creation<'a>) -> impl Iterator<Item = Mount<'a>> + use<'a> {
    let volumes = creation.list("/spec/volumes").iter();
    volumes.flat_map(|volume| {
        let kinds = KINDS.into_iter().filter(|(kind, _)| given(volume, kind));
        kinds.map(|(kind, source)| Mount {
            kind,
            source: text_of(volume, &format!("/{kind}/{source}")),
            local_path: text_of(volume, &format!("/{kind}/local_path")).map(|local_path| {
                match local_path.trim_end_matches('/') {
                    "" => "/",
                    local_path => local_path,
                }
            }),
        })
    })
}

fn local_paths<'a>(creation: &Creation<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    mounts(creation).filter_map(|mount| mount.local_path)
}

/// The OBS paths of volumes.
pub(super) fn obs_sources<'a>(creation: &Creation<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    let mounts = mounts(creation).filter(|mount| mount.kind != "nfs");
    mounts.filter_map(|mount| mount.source)
}

pub(super) fn volume_one_kind(creation: &Creation<'_>) -> Result<(), ApiError> {
    for (at, volume) in creation.list("/spec/volumes").iter().enumerate() {
        if KINDS.iter().filter(|(kind, _)| given(volume, kind)).count() != 1 {
            return rule_broken(format_args!("[{at}] must have one of nfs, pfs and obs"));
        }
    }
    Ok(())
}

/// A volume has a path, except an NFS volume (SOURCES D-130).
pub(super) fn volume_path(creation: &Creation<'_>) -> Result<(), ApiError> {
    let lacks = |mount: &Mount<'_>| {
        mount.kind != "nfs" && mount.source.is_none() && mount.local_path.is_none()
    };
    match mounts(creation).find(lacks) {
        Some(Mount { kind, .. }) => {
            rule_broken(format_args!(": {kind} must have a path or local_path"))
        }
        None => Ok(()),
    }
}

fn has_nfs(creation: &Creation<'_>) -> bool {
    mounts(creation).any(|mount| mount.kind == "nfs")
}

pub(super) fn nfs_needs_pool(creation: &Creation<'_>) -> Result<(), ApiError> {
    if has_nfs(creation) && !creation.has_tasks() && !creation.has_pool() {
        return rule_broken(": nfs must be mounted in a dedicated pool: set spec.resource.pool_id");
    }
    Ok(())
}

pub(super) fn volumes_at_most_8(creation: &Creation<'_>) -> Result<(), ApiError> {
    if creation.list("/spec/volumes").len() > MAX_VOLUMES {
        return rule_broken(format_args!(" must have at most {MAX_VOLUMES} elements"));
    }
    Ok(())
}

/// A file system is mounted once. Does not apply to buckets.
pub(super) fn volume_once(creation: &Creation<'_>) -> Result<(), ApiError> {
    let mut earlier = BTreeSet::new();
    for mount in mounts(creation).filter(|mount| mount.kind != "obs") {
        if let Some(source) = mount.source
            && !earlier.insert((mount.kind, source.trim_end_matches('/')))
        {
            return rule_broken(format_args!(" must mount {source} once"));
        }
    }
    Ok(())
}

pub(super) fn volume_places_different(creation: &Creation<'_>) -> Result<(), ApiError> {
    let mut earlier = BTreeSet::new();
    match local_paths(creation).find(|local_path| !earlier.insert(*local_path)) {
        Some(local_path) => rule_broken(format_args!(" must mount one volume at {local_path}")),
        None => Ok(()),
    }
}

/// The default mounts that the user guide names (SOURCES F3).
const DEFAULT_MOUNTS: [&str; 3] = ["/", "/cache", container_path::MA_MOUNT_PATH];
/// The parents of the default mounts, and the directories of code, inputs, outputs and logs.
const PLATFORM: [&str; 6] = [
    "/home",
    container_path::MA_HOME,
    "/home/ma-user/modelarts/user-job-dir",
    "/home/ma-user/modelarts/inputs",
    "/home/ma-user/modelarts/outputs",
    "/home/ma-user/modelarts/log",
];

fn none_at(creation: &Creation<'_>, taken: impl Fn(&str) -> bool) -> Result<(), ApiError> {
    match local_paths(creation).find(|local_path| taken(local_path)) {
        Some(local_path) => rule_broken(format_args!(" must not be mounted at {local_path}")),
        None => Ok(()),
    }
}

pub(super) fn volume_default_mount(creation: &Creation<'_>) -> Result<(), ApiError> {
    none_at(creation, |local_path| DEFAULT_MOUNTS.contains(&local_path))
}

pub(super) fn volume_path_plain(creation: &Creation<'_>) -> Result<(), ApiError> {
    none_at(creation, |local_path| {
        container_path::check_plain(local_path).is_err()
    })
}

/// True for a mount point that would hide directories of the platform.
pub(crate) fn hides_platform(local_path: &str) -> bool {
    PLATFORM.contains(&local_path.trim_end_matches('/'))
}

pub(super) fn volume_over_home(creation: &Creation<'_>) -> Result<(), ApiError> {
    none_at(creation, hides_platform)
}

pub(super) fn volume_over_channel(creation: &Creation<'_>) -> Result<(), ApiError> {
    let channels = ["/algorithm/inputs", "/algorithm/outputs"];
    let channels = channels.into_iter().flat_map(|list| creation.list(list));
    let directories = channels.filter_map(|channel| text_of(channel, "/local_dir"));
    let directories: Vec<&str> = directories.map(|text| text.trim_end_matches('/')).collect();
    none_at(creation, |local_path| directories.contains(&local_path))
}
