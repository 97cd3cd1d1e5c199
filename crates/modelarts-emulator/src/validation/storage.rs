//! Validation rules for OBS paths, the code directory and inputs.

use std::{io, path::PathBuf};

use walkdir::WalkDir;

use crate::{
    api::error::ApiError,
    files::obs_path::ObsPath,
    validation::{
        creation::Creation,
        rule::{Rule, must, refusal, refused_if},
        volumes::obs_sources,
    },
};

const CODE_DIR: &str = "/algorithm/code_dir";
const MAX_FILES: usize = 1000;
const MAX_LEVELS: usize = 32;
const MAX_GIGABYTES: u64 = 5;

pub(super) const RULES: &[Rule] = &[
    must("bucket-not-encrypted", |job| {
        let encrypted = |text: &&str| {
            ObsPath::parse(text).is_ok_and(|path| job.offer.encrypted.contains(path.bucket()))
        };
        let text = all_paths(job).into_iter().find(encrypted)?;
        Some(ApiError::obs_path(text, "the bucket is encrypted"))
    }),
    refusal("code-dir-exists", |job| match find(job, job.text(CODE_DIR)?)? {
        Ok(path) if path.is_dir() => None,
        _ if job.is_algorithm => Some(ApiError::of(2773, &[])),
        _ => Some(ApiError::of(2802, &[job.text(CODE_DIR)?])),
    }),
    refusal("code-dir-files", |job| {
        let files = WalkDir::new(code_dir(job)?).into_iter().flatten();
        let files = files.filter(|entry| !entry.file_type().is_dir());
        let more = files.take(MAX_FILES + 1).count() > MAX_FILES;
        more.then(|| ApiError::of(2759, &[&MAX_FILES.to_string()]))
    }),
    refusal("code-dir-depth", |job| {
        let entries =
            WalkDir::new(code_dir(job)?).min_depth(MAX_LEVELS + 1).max_depth(MAX_LEVELS + 1);
        let mut entries = entries.into_iter().flatten();
        let deeper = entries.any(|entry| entry.file_type().is_dir());
        deeper.then(|| ApiError::of(2760, &[&MAX_LEVELS.to_string()]))
    }),
    refusal("code-dir-size", |job| {
        let files = WalkDir::new(code_dir(job)?).into_iter().flatten();
        let files = files.filter(|entry| entry.file_type().is_file());
        let sizes = files.filter_map(|entry| Some(entry.metadata().ok()?.len()));
        let larger = sizes.sum::<u64>() > MAX_GIGABYTES << 30;
        larger.then(|| ApiError::of(2761, &[&MAX_GIGABYTES.to_string()]))
    }),
    refusal("boot-file-exists", |job| {
        let file = find(job, job.text("/algorithm/boot_file")?)?;
        refused_if(!file.is_ok_and(|path| path.is_file()), 2758)
    }),
    // An input must be an existing directory, not a file.
    refusal("input-exists", |job| {
        let mut paths = obs_urls(job, "inputs").filter_map(|text| ObsPath::parse(text).ok());
        let path = paths.find(|path| {
            let found = job.offer.obs.resolve(&path.relative());
            !found.is_ok_and(|found| found.is_dir())
        })?;
        Some(ApiError::obs_path(&path.to_string(), "not a directory"))
    }),
];

/// Returns the OBS URLs of channels, including empty ones, because a channel must have a location.
fn obs_urls<'a>(job: &Creation<'a>, list: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    let channels = job.list(&format!("/algorithm/{list}")).iter();
    channels.filter_map(|channel| channel.pointer("/remote/obs/obs_url")?.as_str())
}

/// Returns all OBS paths except that of the search file, which may be in a missing bucket.
fn all_paths<'a>(job: &Creation<'a>) -> Vec<&'a str> {
    let fields = [
        CODE_DIR,
        "/algorithm/boot_file",
        "/spec/log_export_path/obs_url",
        "/algorithm/summary/log_dir/pfs/pfs_path",
    ];
    let fields = fields.into_iter().filter_map(|pointer| job.text(pointer));
    let channels = ["inputs", "outputs"].into_iter().flat_map(|list| obs_urls(job, list));
    let paths = fields.chain(channels).chain(obs_sources(job));
    paths.filter(|path| !path.starts_with("file://")).collect()
}

/// Returns the error of the first OBS path that is invalid or leads out of the OBS root.
pub(super) fn invalid_path(job: &Creation<'_>) -> Option<ApiError> {
    all_paths(job).into_iter().find_map(|text| {
        let path = match ObsPath::parse(text) {
            Ok(path) => path,
            Err(reason) => return Some(ApiError::obs_path(text, reason)),
        };
        // An output need not exist yet. Its path is validated again before writing.
        let error = job.offer.obs.resolve(&path.relative()).err()?;
        (error.kind() == io::ErrorKind::Other).then(|| ApiError::obs_path(&path.to_string(), error))
    })
}

fn find(job: &Creation<'_>, path: &str) -> Option<io::Result<PathBuf>> {
    let path = ObsPath::parse(path).ok()?;
    Some(job.offer.obs.resolve(&path.relative()))
}

fn code_dir(job: &Creation<'_>) -> Option<PathBuf> {
    find(job, job.text(CODE_DIR)?)?.ok()
}
