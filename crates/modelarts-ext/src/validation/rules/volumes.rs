//! Rules on the volumes of a job.

use crate::validation::{
    draft::Draft,
    json_path::{Located, repeated_paths},
    rules::names::is_absolute_plain_path,
};

/// The kinds of volumes, each with the field of its source.
const KINDS: [(&str, &str); 3] = [
    ("nfs", "nfs_server_path"),
    ("pfs", "pfs_path"),
    ("obs", "obs_path"),
];
/// The limit on the volumes of a job. The user guide calls them disks (`openapi/SOURCES.md`, F3).
const MAX_VOLUMES: usize = 8;
/// The default mounts that the user guide names (`openapi/SOURCES.md`, F3).
const DEFAULT_MOUNTS: [&str; 3] = ["/", "/cache", "/home/ma-user/modelarts"];
/// The parents of a default mount, and the directories of code, data and logs.
const PLATFORM_DIRS: [&str; 6] = [
    "/home",
    "/home/ma-user",
    "/home/ma-user/modelarts/inputs",
    "/home/ma-user/modelarts/outputs",
    "/home/ma-user/modelarts/user-job-dir",
    "/home/ma-user/modelarts/log",
];

fn volumes<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    draft.at("spec.volumes").items()
}

/// The mounts of all volumes, each with the field of its source.
fn mounts<'a>(draft: &Draft<'a>) -> Vec<(Located<'a>, &'static str)> {
    let volumes = volumes(draft).into_iter();
    volumes
        .flat_map(|volume| KINDS.map(|(kind, source)| (volume.at(kind), source)))
        .filter(|(mount, _)| mount.value().is_some())
        .collect()
}

fn nfs<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let volumes = volumes(draft).into_iter().map(|volume| volume.at("nfs"));
    volumes.filter(|nfs| nfs.value().is_some()).collect()
}

pub(super) fn kinds<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let volumes = volumes(draft).into_iter();
    volumes
        .filter(|volume| {
            let given = KINDS
                .iter()
                .filter(|(kind, _)| volume.at(kind).value().is_some());
            given.count() != 1
        })
        .collect()
}

/// NFS volumes are exempt: no field of theirs is required (`openapi/SOURCES.md`, D-130).
pub(super) fn sources<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let mounts = mounts(draft).into_iter();
    mounts
        .filter(|(mount, source)| {
            let is_nfs = *source == "nfs_server_path";
            !is_nfs && !mount.at(source).is_given() && !mount.at("local_path").is_given()
        })
        .map(|(mount, source)| mount.at(source))
        .collect()
}

pub(super) fn nfs_needs_pool<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    match draft.has_pool() {
        true => Vec::new(),
        false => nfs(draft),
    }
}

pub(super) fn count<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    volumes(draft).into_iter().skip(MAX_VOLUMES).collect()
}

/// The file systems that are mounted more than once; `10.0.0.5:/share` and `10.0.0.5:/share/` are
/// the same. Buckets may repeat.
pub(super) fn repeated_file_systems<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let mounts = mounts(draft).into_iter();
    let file_systems = mounts.filter(|(_, source)| *source != "obs_path");
    repeated_paths(file_systems.map(|(mount, source)| mount.at(source)))
}

pub(super) fn repeated_mount_paths<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let mounts = mounts(draft).into_iter();
    repeated_paths(mounts.map(|(mount, _)| mount.at("local_path")))
}

/// The local paths, each also without its trailing slashes.
fn local_paths<'a>(draft: &Draft<'a>) -> Vec<(Located<'a>, &'a str)> {
    let paths = mounts(draft).into_iter();
    paths
        .map(|(mount, _)| mount.at("local_path"))
        .filter_map(|field| {
            let plain = field.text()?.trim_end_matches('/');
            Some((field, if plain.is_empty() { "/" } else { plain }))
        })
        .collect()
}

fn local_paths_where<'a>(draft: &Draft<'a>, is_taken: impl Fn(&str) -> bool) -> Vec<Located<'a>> {
    let paths = local_paths(draft).into_iter();
    paths
        .filter(|(_, path)| is_taken(path))
        .map(|(field, _)| field)
        .collect()
}

pub(super) fn default_mount<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    local_paths_where(draft, |path| DEFAULT_MOUNTS.contains(&path))
}

pub(super) fn plain_paths<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    local_paths_where(draft, |path| !is_absolute_plain_path(path))
}

pub(super) fn over_home<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    local_paths_where(draft, |path| PLATFORM_DIRS.contains(&path))
}

pub(super) fn over_channel<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let channels = draft.channels();
    let channels: Vec<_> = channels.iter().map(|one| one.at("local_dir")).collect();
    let directories = channels.iter().filter_map(Located::text);
    let directories: Vec<_> = directories.map(|text| text.trim_end_matches('/')).collect();
    local_paths_where(draft, |path| directories.contains(&path))
}
