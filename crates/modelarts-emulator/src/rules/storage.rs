//! Rules on volumes, OBS paths and the code directory.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use serde_json::Value;
use walkdir::WalkDir;

use super::Draft;
use super::draft::text_of;
use crate::error::ApiError;
use crate::obs::ObsPath;

const KINDS: [(&str, &str); 3] = [
    ("nfs", "nfs_server_path"),
    ("pfs", "pfs_path"),
    ("obs", "obs_path"),
];
const MOST_NFS: usize = 8;
const MOST_FILES: usize = 1000;
const MOST_LEVELS: usize = 32;
const MOST_GIGABYTES: u64 = 5;

fn given(volume: &Value, kind: &str) -> bool {
    volume.get(kind).is_some_and(|value| !value.is_null())
}

/// Kind, source and mount point of each volume.
fn volumes<'a>(
    draft: &Draft<'a>,
) -> impl Iterator<Item = (&'static str, &'a str, &'a str)> + use<'a> {
    draft.list("/spec/volumes").iter().filter_map(|volume| {
        let (kind, source) = KINDS.into_iter().find(|(kind, _)| given(volume, kind))?;
        Some((
            kind,
            text_of(volume, &format!("/{kind}/{source}"))?,
            text_of(volume, &format!("/{kind}/local_path"))?,
        ))
    })
}

pub(super) fn one_kind(draft: &Draft<'_>) -> Result<(), ApiError> {
    for (at, volume) in draft.list("/spec/volumes").iter().enumerate() {
        if KINDS.iter().filter(|(kind, _)| given(volume, kind)).count() != 1 {
            return Err(ApiError::invalid_parameter(format!(
                "spec.volumes[{at}] must have one of nfs, pfs and obs"
            )));
        }
    }
    Ok(())
}

pub(super) fn nfs_needs_pool(draft: &Draft<'_>) -> Result<(), ApiError> {
    if volumes(draft).any(|(kind, ..)| kind == "nfs") && !draft.has("/spec/resource/pool_id") {
        return Err(ApiError::invalid_parameter(
            "spec.volumes: nfs must run in a dedicated pool, spec.resource.pool_id is required",
        ));
    }
    Ok(())
}

pub(super) fn few_nfs(draft: &Draft<'_>) -> Result<(), ApiError> {
    if volumes(draft).filter(|(kind, ..)| *kind == "nfs").count() > MOST_NFS {
        return Err(ApiError::invalid_parameter(
            "spec.volumes must have at most 8 nfs mounts",
        ));
    }
    Ok(())
}

pub(super) fn once(draft: &Draft<'_>) -> Result<(), ApiError> {
    let mut seen = BTreeSet::new();
    for (kind, source, _) in volumes(draft) {
        if kind == "nfs" && !seen.insert(source.trim_end_matches('/')) {
            return Err(ApiError::invalid_parameter(format!(
                "spec.volumes must mount {source} once"
            )));
        }
    }
    Ok(())
}

pub(super) fn different_places(draft: &Draft<'_>) -> Result<(), ApiError> {
    let mut seen = BTreeSet::new();
    for (_, _, place) in volumes(draft) {
        if !seen.insert(place.trim_end_matches('/')) {
            return Err(ApiError::invalid_parameter(format!(
                "spec.volumes must mount one volume at {place}"
            )));
        }
    }
    Ok(())
}

/// Not a rule of the service: without servers, the code would find an empty directory.
pub(super) fn servers(draft: &Draft<'_>) -> Result<(), ApiError> {
    if !draft.terms.nfs && volumes(draft).any(|(kind, ..)| kind == "nfs") {
        return Err(ApiError::not_modelled(
            "NFS servers unless it is started with a directory for them (--nfs-root)",
        ));
    }
    Ok(())
}

/// `/`, `/cache`, `/home/ma-user/modelarts` are named; "other default mounts" are the directories
/// of code, inputs, outputs and logs below the last.
pub(super) fn free_places(draft: &Draft<'_>) -> Result<(), ApiError> {
    for (_, _, place) in volumes(draft) {
        let plain = place.trim_end_matches('/');
        let steps = plain.split('/').any(|step| matches!(step, "." | ".."));
        let kept = [
            "",
            "/cache",
            "/home",
            "/home/ma-user",
            "/home/ma-user/modelarts",
            "/home/ma-user/modelarts/user-job-dir",
            "/home/ma-user/modelarts/inputs",
            "/home/ma-user/modelarts/outputs",
            "/home/ma-user/modelarts/log",
        ]
        .contains(&plain);
        if !place.starts_with('/') || steps || kept || plain.chars().any(char::is_control) {
            return Err(ApiError::invalid_parameter(format!(
                "spec.volumes must not be mounted at {place}"
            )));
        }
    }
    Ok(())
}

// ---- OBS ----

/// Every OBS path of the request.
fn all_paths<'a>(draft: &Draft<'a>) -> Vec<&'a str> {
    let mut paths: Vec<&str> = [
        "/algorithm/code_dir",
        "/algorithm/boot_file",
        "/algorithm/autosearch_config_path",
        "/algorithm/autosearch_framework_path",
        "/spec/log_export_path/obs_url",
        "/algorithm/summary/log_dir/pfs/pfs_path",
    ]
    .iter()
    .filter_map(|pointer| draft.text(pointer))
    .collect();
    for list in ["/algorithm/inputs", "/algorithm/outputs"] {
        // Empty is not absent here: a channel without a place is a broken path.
        paths.extend(draft.list(list).iter().filter_map(|channel| {
            channel
                .pointer("/remote/obs/obs_url")
                .and_then(Value::as_str)
        }));
    }
    paths.extend(
        volumes(draft)
            .filter(|(kind, ..)| *kind != "nfs")
            .map(|(_, source, _)| source),
    );
    paths.retain(|path| !path.starts_with("file://"));
    paths
}

pub(super) fn paths(draft: &Draft<'_>) -> Result<(), ApiError> {
    for text in all_paths(draft) {
        let path = ObsPath::parse(text).map_err(|reason| ApiError::obs_path(text, reason))?;
        // What does not exist yet is looked at again when it is read or written.
        if let Err(error) = draft.terms.obs.existing(&path.relative())
            && error.kind() == io::ErrorKind::Other
        {
            return Err(ApiError::obs_path(&path.to_string(), error));
        }
    }
    Ok(())
}

pub(super) fn not_encrypted(draft: &Draft<'_>) -> Result<(), ApiError> {
    for text in all_paths(draft) {
        let Ok(path) = ObsPath::parse(text) else {
            continue;
        };
        if draft.terms.encrypted.contains(path.bucket()) {
            return Err(ApiError::obs_path(text, "the bucket is encrypted"));
        }
    }
    Ok(())
}

/// Where an OBS path of the request lies.
fn find(draft: &Draft<'_>, pointer: &str) -> Option<io::Result<std::path::PathBuf>> {
    let path = ObsPath::parse(draft.text(pointer)?).ok()?;
    Some(draft.terms.obs.existing(&path.relative()))
}

pub(super) fn code_dir_exists(draft: &Draft<'_>) -> Result<(), ApiError> {
    match find(draft, "/algorithm/code_dir") {
        Some(Ok(path)) if path.is_dir() => Ok(()),
        None => Ok(()),
        Some(_) => Err(ApiError::code_dir()),
    }
}

pub(super) fn boot_file_exists(draft: &Draft<'_>) -> Result<(), ApiError> {
    match find(draft, "/algorithm/boot_file") {
        Some(Ok(path)) if path.is_file() => Ok(()),
        None => Ok(()),
        Some(_) => Err(ApiError::boot_file()),
    }
}

fn code_dir<T>(
    draft: &Draft<'_>,
    look: impl FnOnce(&Path) -> Result<T, ApiError>,
) -> Result<(), ApiError> {
    match find(draft, "/algorithm/code_dir") {
        Some(Ok(path)) => look(&path).map(|_| ()),
        _ => Ok(()),
    }
}

pub(super) fn code_dir_few_files(draft: &Draft<'_>) -> Result<(), ApiError> {
    code_dir(draft, |path| {
        let count = WalkDir::new(path).min_depth(1).into_iter();
        if count.take(MOST_FILES + 1).count() > MOST_FILES {
            return Err(ApiError::of(2759, &[&MOST_FILES.to_string()]));
        }
        Ok(())
    })
}

pub(super) fn code_dir_not_deep(draft: &Draft<'_>) -> Result<(), ApiError> {
    code_dir(draft, |path| {
        let deeper = WalkDir::new(path)
            .min_depth(MOST_LEVELS + 1)
            .max_depth(MOST_LEVELS + 1)
            .into_iter()
            .flatten()
            .any(|entry| entry.file_type().is_dir());
        if deeper {
            return Err(ApiError::of(2760, &[&MOST_LEVELS.to_string()]));
        }
        Ok(())
    })
}

pub(super) fn code_dir_small(draft: &Draft<'_>) -> Result<(), ApiError> {
    code_dir(draft, |path| {
        let bytes: u64 = WalkDir::new(path)
            .into_iter()
            .flatten()
            .filter(|entry| entry.file_type().is_file())
            .filter_map(|entry| entry.metadata().ok())
            .map(|metadata| metadata.len())
            .sum();
        if bytes > MOST_GIGABYTES << 30 {
            return Err(ApiError::of(2761, &[&MOST_GIGABYTES.to_string()]));
        }
        Ok(())
    })
}
