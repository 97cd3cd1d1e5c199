//! Rules on OBS paths, the code directory and inputs.

use std::io;
use std::path::Path;

use serde_json::Value;
use walkdir::WalkDir;

use crate::{
    api::error::ApiError,
    files::obs_path::ObsPath,
    validation::{creation::Creation, volumes::obs_sources},
};

const MOST_FILES: usize = 1000;
const MOST_LEVELS: usize = 32;
const MOST_GIGABYTES: u64 = 5;

/// Every OBS path of the request. Those of a search by files are none: the service takes
/// `/config/search.yaml` where there is no such bucket.
fn all_paths<'a>(draft: &Creation<'a>) -> Vec<&'a str> {
    let mut paths: Vec<&str> = [
        "/algorithm/code_dir",
        "/algorithm/boot_file",
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
    paths.extend(obs_sources(draft));
    paths.retain(|path| !path.starts_with("file://"));
    paths
}

pub(crate) fn paths(draft: &Creation<'_>) -> Result<(), ApiError> {
    for text in all_paths(draft) {
        let path = ObsPath::parse(text).map_err(|reason| ApiError::obs_path(text, reason))?;
        // An output need not exist yet: its path is checked again when it is written.
        if let Err(error) = draft.terms.obs.existing(&path.relative())
            && error.kind() == io::ErrorKind::Other
        {
            return Err(ApiError::obs_path(&path.to_string(), error));
        }
    }
    Ok(())
}

pub(crate) fn not_encrypted(draft: &Creation<'_>) -> Result<(), ApiError> {
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
fn find(draft: &Creation<'_>, pointer: &str) -> Option<io::Result<std::path::PathBuf>> {
    let path = ObsPath::parse(draft.text(pointer)?).ok()?;
    Some(draft.terms.obs.existing(&path.relative()))
}

pub(crate) fn code_dir_exists(draft: &Creation<'_>) -> Result<(), ApiError> {
    match find(draft, "/algorithm/code_dir") {
        Some(Ok(path)) if path.is_dir() => Ok(()),
        None => Ok(()),
        Some(_) if draft.is_algorithm => Err(ApiError::of(2773, &[])),
        Some(_) => Err(ApiError::of(2802, &[])),
    }
}

pub(crate) fn boot_file_exists(draft: &Creation<'_>) -> Result<(), ApiError> {
    match find(draft, "/algorithm/boot_file") {
        Some(Ok(path)) if path.is_file() => Ok(()),
        None => Ok(()),
        Some(_) => Err(ApiError::boot_file()),
    }
}

fn code_dir<T>(
    draft: &Creation<'_>,
    look: impl FnOnce(&Path) -> Result<T, ApiError>,
) -> Result<(), ApiError> {
    match find(draft, "/algorithm/code_dir") {
        Some(Ok(path)) => look(&path).map(|_| ()),
        _ => Ok(()),
    }
}

pub(crate) fn code_dir_few_files(draft: &Creation<'_>) -> Result<(), ApiError> {
    code_dir(draft, |path| {
        let files = WalkDir::new(path).into_iter().flatten();
        let files = files.filter(|entry| !entry.file_type().is_dir());
        if files.take(MOST_FILES + 1).count() > MOST_FILES {
            return Err(ApiError::of(2759, &[&MOST_FILES.to_string()]));
        }
        Ok(())
    })
}

pub(crate) fn code_dir_not_deep(draft: &Creation<'_>) -> Result<(), ApiError> {
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

pub(crate) fn code_dir_small(draft: &Creation<'_>) -> Result<(), ApiError> {
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

/// An input is a directory that is there, not a single file.
pub(crate) fn inputs_exist(draft: &Creation<'_>) -> Result<(), ApiError> {
    for input in draft.list("/algorithm/inputs") {
        let text = input.pointer("/remote/obs/obs_url").and_then(Value::as_str);
        let Some(path) = text.and_then(|text| ObsPath::parse(text).ok()) else {
            continue;
        };
        let found = draft.terms.obs.existing(&path.relative());
        if !found.is_ok_and(|found| found.is_dir()) {
            return Err(ApiError::obs_path(&path.to_string(), "not a directory"));
        }
    }
    Ok(())
}
