//! Rules on OBS paths, the code directory and inputs.

use std::{io, path::Path};

use serde_json::Value;
use walkdir::WalkDir;

use crate::{
    api::error::ApiError,
    files::obs_path::ObsPath,
    validation::{creation::Creation, volumes::obs_sources},
};

const MAX_FILES: usize = 1000;
const MAX_LEVELS: usize = 32;
const MAX_GIGABYTES: u64 = 5;

/// Every OBS path of the request. Those of a search by files are not checked: the service accepts
/// `/config/search.yaml` without such a bucket.
fn all_paths<'a>(creation: &Creation<'a>) -> Vec<&'a str> {
    let mut paths: Vec<&str> = [
        "/algorithm/code_dir",
        "/algorithm/boot_file",
        "/spec/log_export_path/obs_url",
        "/algorithm/summary/log_dir/pfs/pfs_path",
    ]
    .iter()
    .filter_map(|pointer| creation.text(pointer))
    .collect();
    for list in ["/algorithm/inputs", "/algorithm/outputs"] {
        // An empty path counts here: a channel without a location is an error.
        paths.extend(creation.list(list).iter().filter_map(|channel| {
            channel
                .pointer("/remote/obs/obs_url")
                .and_then(Value::as_str)
        }));
    }
    paths.extend(obs_sources(creation));
    paths.retain(|path| !path.starts_with("file://"));
    paths
}

pub(super) fn obs_paths(creation: &Creation<'_>) -> Result<(), ApiError> {
    for text in all_paths(creation) {
        let path = ObsPath::parse(text).map_err(|reason| ApiError::obs_path(text, reason))?;
        // An output need not exist yet: its path is checked again before writing.
        if let Err(error) = creation.offer.obs.resolve(&path.relative())
            && error.kind() == io::ErrorKind::Other
        {
            return Err(ApiError::obs_path(&path.to_string(), error));
        }
    }
    Ok(())
}

pub(super) fn bucket_not_encrypted(creation: &Creation<'_>) -> Result<(), ApiError> {
    for text in all_paths(creation) {
        let Ok(path) = ObsPath::parse(text) else {
            continue;
        };
        if creation.offer.encrypted.contains(path.bucket()) {
            return Err(ApiError::obs_path(text, "the bucket is encrypted"));
        }
    }
    Ok(())
}

/// The location of an OBS path of the request.
fn find(creation: &Creation<'_>, pointer: &str) -> Option<io::Result<std::path::PathBuf>> {
    let path = ObsPath::parse(creation.text(pointer)?).ok()?;
    Some(creation.offer.obs.resolve(&path.relative()))
}

pub(super) fn code_dir_exists(creation: &Creation<'_>) -> Result<(), ApiError> {
    match find(creation, "/algorithm/code_dir") {
        Some(Ok(path)) if path.is_dir() => Ok(()),
        None => Ok(()),
        Some(_) if creation.is_algorithm => Err(ApiError::of(2773, &[])),
        Some(_) => {
            let path = creation.text("/algorithm/code_dir").unwrap_or_default();
            Err(ApiError::of(2802, &[path]))
        }
    }
}

pub(super) fn boot_file_exists(creation: &Creation<'_>) -> Result<(), ApiError> {
    match find(creation, "/algorithm/boot_file") {
        Some(Ok(path)) if path.is_file() => Ok(()),
        None => Ok(()),
        Some(_) => Err(ApiError::boot_file()),
    }
}

fn code_dir<T>(
    creation: &Creation<'_>,
    look: impl FnOnce(&Path) -> Result<T, ApiError>,
) -> Result<(), ApiError> {
    match find(creation, "/algorithm/code_dir") {
        Some(Ok(path)) => look(&path).map(|_| ()),
        _ => Ok(()),
    }
}

pub(super) fn code_dir_files(creation: &Creation<'_>) -> Result<(), ApiError> {
    code_dir(creation, |path| {
        let files = WalkDir::new(path).into_iter().flatten();
        let files = files.filter(|entry| !entry.file_type().is_dir());
        if files.take(MAX_FILES + 1).count() > MAX_FILES {
            return Err(ApiError::of(2759, &[&MAX_FILES.to_string()]));
        }
        Ok(())
    })
}

pub(super) fn code_dir_depth(creation: &Creation<'_>) -> Result<(), ApiError> {
    code_dir(creation, |path| {
        let deeper = WalkDir::new(path)
            .min_depth(MAX_LEVELS + 1)
            .max_depth(MAX_LEVELS + 1)
            .into_iter()
            .flatten()
            .any(|entry| entry.file_type().is_dir());
        if deeper {
            return Err(ApiError::of(2760, &[&MAX_LEVELS.to_string()]));
        }
        Ok(())
    })
}

pub(super) fn code_dir_size(creation: &Creation<'_>) -> Result<(), ApiError> {
    code_dir(creation, |path| {
        let bytes: u64 = WalkDir::new(path)
            .into_iter()
            .flatten()
            .filter(|entry| entry.file_type().is_file())
            .filter_map(|entry| entry.metadata().ok())
            .map(|metadata| metadata.len())
            .sum();
        if bytes > MAX_GIGABYTES << 30 {
            return Err(ApiError::of(2761, &[&MAX_GIGABYTES.to_string()]));
        }
        Ok(())
    })
}

/// An input is an existing directory, not a file.
pub(super) fn input_exists(creation: &Creation<'_>) -> Result<(), ApiError> {
    for input in creation.list("/algorithm/inputs") {
        let text = input.pointer("/remote/obs/obs_url").and_then(Value::as_str);
        let Some(path) = text.and_then(|text| ObsPath::parse(text).ok()) else {
            continue;
        };
        let found = creation.offer.obs.resolve(&path.relative());
        if !found.is_ok_and(|found| found.is_dir()) {
            return Err(ApiError::obs_path(&path.to_string(), "not a directory"));
        }
    }
    Ok(())
}
