//! Validation rules for volumes.

use std::collections::BTreeSet;

use crate::{
    api::error::ApiError,
    files::container_path,
    validation::{
        creation::{Creation, text_of, value_at},
        rule::{Rule, advice, broken, broken_if, must},
    },
};

const VOLUMES: &str = "/spec/volumes";
/// Kinds of volumes, each with the member that contains the path to mount.
const KINDS: [(&str, &str); 3] =
    [("nfs", "nfs_server_path"), ("pfs", "pfs_path"), ("obs", "obs_path")];
/// Maximum number of volumes of a job. The user guide calls volumes disks (SOURCES F3).
const MAX_VOLUMES: usize = 8;
/// Default mount points according to the user guide (SOURCES F3).
const DEFAULT_MOUNTS: [&str; 3] = ["/", "/cache", container_path::MA_MOUNT_PATH];
/// Parents of the default mount points, and the directories of code, inputs, outputs and logs.
const PLATFORM: [&str; 6] = [
    "/home",
    container_path::MA_HOME,
    "/home/ma-user/modelarts/user-job-dir",
    "/home/ma-user/modelarts/inputs",
    "/home/ma-user/modelarts/outputs",
    "/home/ma-user/modelarts/log",
];

pub(super) const RULES: &[Rule] = &[
    advice("volume-one-kind", |job| {
        let at = job.list(VOLUMES).iter().position(|volume| {
            let is_set = |kind: &str| volume.get(kind).is_some_and(|value| !value.is_null());
            KINDS.iter().filter(|(kind, _)| is_set(kind)).count() != 1
        })?;
        broken(format_args!("spec.volumes[{at}] must have one of nfs, pfs and obs"))
    }),
    // This rule does not apply to NFS volumes (SOURCES D-130).
    must("volume-path", |job| {
        let Mount { kind, .. } = mounts(job).find(|mount| {
            mount.kind != "nfs" && mount.source.is_none() && mount.local_path.is_none()
        })?;
        broken(format_args!("spec.volumes: {kind} must have a path or local_path"))
    }),
    must("nfs-needs-pool", |job| {
        let nfs = mounts(job).any(|mount| mount.kind == "nfs");
        broken_if(
            nfs && !job.has_tasks() && !job.has_pool(),
            "spec.volumes: nfs must be mounted in a dedicated pool: set spec.resource.pool_id",
        )
    }),
    must("volumes-at-most-8", |job| {
        broken_if(
            job.list(VOLUMES).len() > MAX_VOLUMES,
            format_args!("spec.volumes must have at most {MAX_VOLUMES} elements"),
        )
    }),
    // A file system may be mounted only once. The rule does not apply to buckets.
    must("volume-once", |job| {
        let mut earlier = BTreeSet::new();
        let mut sources = mounts(job).filter_map(|mount| Some((mount.kind, mount.source?)));
        let (_, source) = sources.find(|(kind, source)| {
            *kind != "obs" && !earlier.insert((*kind, source.trim_end_matches('/')))
        })?;
        broken(format_args!("spec.volumes must mount {source} once"))
    }),
    must("volume-places-different", |job| {
        let mut earlier = BTreeSet::new();
        let local_path = local_paths(job).find(|local_path| !earlier.insert(*local_path))?;
        broken(format_args!("spec.volumes must mount one volume at {local_path}"))
    }),
    must("volume-default-mount", |job| {
        mounted_at(job, |local_path| DEFAULT_MOUNTS.contains(&local_path))
    }),
    advice("volume-path-plain", |job| {
        mounted_at(job, |local_path| container_path::check_plain(local_path).is_err())
    }),
    advice("volume-over-home", |job| mounted_at(job, hides_platform)),
    advice("volume-over-channel", |job| {
        let channels = ["/algorithm/inputs", "/algorithm/outputs"];
        let channels = channels.into_iter().flat_map(|list| job.list(list));
        let directories = channels.filter_map(|channel| text_of(channel, "/local_dir"));
        let directories: Vec<&str> = directories.map(|text| text.trim_end_matches('/')).collect();
        mounted_at(job, |local_path| directories.contains(&local_path))
    }),
];

struct Mount<'a> {
    kind: &'static str,
    source: Option<&'a str>,
    /// Mount point, without trailing slashes.
    local_path: Option<&'a str>,
}

fn mounts<'a>(job: &Creation<'a>) -> impl Iterator<Item = Mount<'a>> + use<'a> {
    job.list(VOLUMES).iter().flat_map(|volume| {
        KINDS.into_iter().filter_map(move |(kind, source)| {
            let mount = value_at(volume, &format!("/{kind}"))?;
            let local_path = text_of(mount, "/local_path");
            Some(Mount {
                kind,
                source: text_of(mount, &format!("/{source}")),
                local_path: local_path.map(|path| match path.trim_end_matches('/') {
                    "" => "/",
                    path => path,
                }),
            })
        })
    })
}

fn local_paths<'a>(job: &Creation<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    mounts(job).filter_map(|mount| mount.local_path)
}

pub(super) fn obs_sources<'a>(job: &Creation<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    let mounts = mounts(job).filter(|mount| mount.kind != "nfs");
    mounts.filter_map(|mount| mount.source)
}

/// Returns `true` for a mount point that would hide directories of the platform.
pub(crate) fn hides_platform(local_path: &str) -> bool {
    PLATFORM.contains(&local_path.trim_end_matches('/'))
}

fn mounted_at(job: &Creation<'_>, is_taken: impl Fn(&str) -> bool) -> Option<ApiError> {
    let local_path = local_paths(job).find(|local_path| is_taken(local_path))?;
    broken(format_args!("spec.volumes must not be mounted at {local_path}"))
}
