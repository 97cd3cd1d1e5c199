//! Rules on what is mounted into a job.

use crate::{
    draft::Draft,
    place::{Place, repeated_paths},
    rules_on_code::is_plain,
};

/// The kinds of volumes, and what each calls its source.
const KINDS: [(&str, &str); 3] = [
    ("nfs", "nfs_server_path"),
    ("pfs", "pfs_path"),
    ("obs", "obs_path"),
];
/// The most SFS Turbo file systems of one job.
const MOST_NFS: usize = 8;
/// What the platform mounts. The user guide names `/`, `/cache` and
/// `/home/ma-user/modelarts` "such as"; the others are where it puts code, data and
/// logs, and what these lie in.
const TAKEN: [&str; 9] = [
    "/",
    "/cache",
    "/home",
    "/home/ma-user",
    "/home/ma-user/modelarts",
    "/home/ma-user/modelarts/inputs",
    "/home/ma-user/modelarts/outputs",
    "/home/ma-user/modelarts/user-job-dir",
    "/home/ma-user/modelarts/log",
];

fn volumes<'a>(draft: &Draft<'a>) -> Vec<Place<'a>> {
    draft.at("spec.volumes").items()
}

/// What is given of each volume: its kind, and what the kind calls its source.
fn mounts<'a>(draft: &Draft<'a>) -> Vec<(Place<'a>, &'static str)> {
    let volumes = volumes(draft).into_iter();
    volumes
        .flat_map(|volume| KINDS.map(|(kind, source)| (volume.at(kind), source)))
        .filter(|(mount, _)| mount.value().is_some())
        .collect()
}

fn nfs<'a>(draft: &Draft<'a>) -> Vec<Place<'a>> {
    let volumes = volumes(draft).into_iter().map(|volume| volume.at("nfs"));
    volumes.filter(|nfs| nfs.value().is_some()).collect()
}

pub(crate) fn one_kind<'a>(draft: &Draft<'a>) -> Vec<Place<'a>> {
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

pub(crate) fn source<'a>(draft: &Draft<'a>) -> Vec<Place<'a>> {
    let mounts = mounts(draft).into_iter();
    mounts
        .map(|(mount, source)| mount.at(source))
        .filter(|source| !source.is_given())
        .collect()
}

pub(crate) fn target<'a>(draft: &Draft<'a>) -> Vec<Place<'a>> {
    let mounts = mounts(draft).into_iter();
    mounts
        .map(|(mount, _)| mount.at("local_path"))
        .filter(|path| !path.is_given())
        .collect()
}

pub(crate) fn nfs_needs_pool<'a>(draft: &Draft<'a>) -> Vec<Place<'a>> {
    match draft.has("spec.resource.pool_id") {
        true => Vec::new(),
        false => nfs(draft),
    }
}

pub(crate) fn few_nfs<'a>(draft: &Draft<'a>) -> Vec<Place<'a>> {
    // The ninth is one too many, and so is each after it.
    nfs(draft).into_iter().skip(MOST_NFS).collect()
}

/// `10.0.0.5:/share` and `10.0.0.5:/share/` are one.
pub(crate) fn once<'a>(draft: &Draft<'a>) -> Vec<Place<'a>> {
    let sources = nfs(draft).into_iter().map(|nfs| nfs.at("nfs_server_path"));
    repeated_paths(sources)
}

pub(crate) fn different_places<'a>(draft: &Draft<'a>) -> Vec<Place<'a>> {
    let mounts = mounts(draft).into_iter();
    repeated_paths(mounts.map(|(mount, _)| mount.at("local_path")))
}

pub(crate) fn free_places<'a>(draft: &Draft<'a>) -> Vec<Place<'a>> {
    let paths = mounts(draft)
        .into_iter()
        .map(|(mount, _)| mount.at("local_path"));
    paths
        .filter(|place| {
            place.text().is_some_and(|path| {
                let plain = path.trim_end_matches('/');
                let plain = if plain.is_empty() { "/" } else { plain };
                !is_plain(path) || TAKEN.contains(&plain)
            })
        })
        .collect()
}
