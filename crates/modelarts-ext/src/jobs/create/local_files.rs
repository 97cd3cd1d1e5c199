//! Validation of local files before an upload: code directories and inputs.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    path::{MAIN_SEPARATOR, Path, PathBuf},
};

use modelarts_api::request_path::create_training_job::algorithm::{BOOT_FILE, CODE_DIR, INPUTS};
use serde_json::json;
use walkdir::WalkDir;

use crate::{
    config::cloud::Cloud,
    error::{
        Error,
        violation::{Actual, Violation},
    },
    jobs::create::CreateJob,
    validation::{
        draft::Draft,
        obs_path::ObsPath,
        recommendations::nearest,
        report::{Report, Warning},
        rules::external_facts::{
            BOOT_FILE_EXISTS, BOOT_FILE_INSIDE, BOOT_FILE_PYTHON, CODE_DIR_DEPTH, CODE_DIR_FILES,
            CODE_DIR_SIZE, WordedFact,
        },
    },
};

pub(super) const MAX_BYTES: u64 = 5 << 30;
/// Maximum number of files in a code directory, not counting directories.
pub(super) const MAX_FILES: u64 = 1000;
pub(super) const MAX_LEVELS: usize = 32;
/// Recommended maximum size of a code directory, in bytes. The service accepts larger code
/// directories, but each task then needs more time to download the code.
pub(super) const RECOMMENDED_BYTES: u64 = 50 << 20;

/// A local code directory: its size, and the number and depth of its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeDir {
    content: Content,
    bytes: u64,
    files: u64,
    directories: u64,
    levels: usize,
}

/// The files in which a boot file is searched.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    /// Those on the disk below this directory.
    Directory(PathBuf),
    /// These paths, relative to the code directory.
    Files(BTreeSet<String>),
}

impl CodeDir {
    /// Scans a directory. Symbolic links are followed, as in an upload.
    ///
    /// # Errors
    /// Returned if a file or directory does not exist or cannot be read.
    pub fn scan(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let unreadable = |error: walkdir::Error| {
            Error::invalid(format!("the code directory cannot be read: {error}")).with_source(error)
        };
        if path.is_file() {
            return Err(Error::invalid(format!(
                "the code directory {} is a file",
                path.display()
            )));
        }
        let mut code = Self {
            content: Content::Directory(path.to_owned()),
            bytes: 0,
            files: 0,
            directories: 0,
            levels: 0,
        };
        for entry in WalkDir::new(path).min_depth(1).follow_links(true) {
            let entry = entry.map_err(unreadable)?;
            if entry.file_type().is_dir() {
                code.directories += 1;
                code.levels = code.levels.max(entry.depth());
            } else {
                code.files += 1;
                code.bytes += entry.metadata().map_err(unreadable)?.len();
            }
        }
        Ok(code)
    }

    /// Takes the files that an upload sends, without those that it leaves out: their paths relative
    /// to the directory, with slashes, and their sizes in bytes.
    ///
    /// ```
    /// use modelarts_ext::jobs::create::CodeDir;
    ///
    /// let code = CodeDir::from_files([("train.py", 900), ("model/layers.py", 4_000)]);
    /// assert_eq!((code.files(), code.directories(), code.bytes()), (2, 1, 4_900));
    /// assert!(code.check(Some("train.py")).is_ok());
    /// assert!(!code.check(Some("main.py")).is_ok());
    /// ```
    pub fn from_files(files: impl IntoIterator<Item = (impl Into<String>, u64)>) -> Self {
        let mut paths = BTreeSet::new();
        let mut bytes = 0;
        for (path, size) in files {
            paths.insert(path.into());
            bytes += size;
        }
        let directories: BTreeSet<&str> = paths
            .iter()
            .flat_map(|path| path.match_indices('/').map(|(end, _)| &path[..end]))
            .collect();
        let levels = directories.iter().map(|path| path.split('/').count());
        Self {
            bytes,
            files: paths.len() as u64,
            levels: levels.max().unwrap_or_default(),
            directories: directories.len() as u64,
            content: Content::Files(paths),
        }
    }

    /// Returns the size of all files, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of files.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.files
    }

    /// Returns the number of directories, not counting the code directory itself.
    #[must_use]
    pub fn directories(&self) -> u64 {
        self.directories
    }

    /// Returns the number of nested directory levels: 0 if the code directory contains no
    /// directory.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.levels
    }

    /// Checks the directory against the limits of the service: 5 GB, 1,000 files, 32 levels.
    /// `boot_file` is a path relative to the directory, such as `src/train.py`.
    pub fn check(&self, boot_file: Option<&str>) -> Report {
        let mut report = Report::default();
        let mut add = |fact: WordedFact, value, text| {
            fact.report(&mut report, CODE_DIR, Actual::Measured(value, text));
        };
        if self.bytes > MAX_BYTES {
            add(
                CODE_DIR_SIZE,
                json!({"bytes": self.bytes}),
                size(self.bytes),
            );
        }
        if self.files > MAX_FILES {
            let text = format!("{} files", self.files);
            add(CODE_DIR_FILES, json!({"files": self.files}), text);
        }
        if self.levels > MAX_LEVELS {
            let text = format!("{} levels", self.levels);
            add(CODE_DIR_DEPTH, json!({"levels": self.levels}), text);
        }
        if let Some(boot_file) = boot_file {
            self.check_boot_file(boot_file, &mut report);
        }
        if self.bytes > RECOMMENDED_BYTES && self.bytes <= MAX_BYTES {
            report.warnings.push(Warning::new(
                CODE_DIR,
                Actual::Measured(json!({"bytes": self.bytes}), size(self.bytes)),
                "should have at most 50 MB, because every task downloads it",
            ));
        }
        report
    }

    fn check_boot_file(&self, boot_file: &str, report: &mut Report) {
        let mut add = |fact: WordedFact, advice: Option<String>| {
            let advice = advice.map_or(fact.advice.into(), Cow::from);
            let actual = Actual::Value(boot_file.into());
            report.add_value(fact.fact.basis, BOOT_FILE, actual, fact.requirement, advice);
        };
        if Path::new(boot_file).is_absolute() || boot_file.split('/').any(|step| step == "..") {
            add(BOOT_FILE_INSIDE, None);
        } else if !self.has_file(boot_file) {
            let advice = self.near_file(boot_file).map(|near| {
                let otherwise = BOOT_FILE_EXISTS.advice;
                format!("did you mean {near}? Otherwise {otherwise}")
            });
            add(BOOT_FILE_EXISTS, advice);
        }
        if !boot_file.ends_with(".py") {
            add(BOOT_FILE_PYTHON, None);
        }
    }

    fn has_file(&self, path: &str) -> bool {
        match &self.content {
            Content::Directory(directory) => directory.join(path).is_file(),
            Content::Files(files) => files.contains(path),
        }
    }

    /// Returns the file of the directory whose path is most similar to this one. A file of the same
    /// name in another directory takes precedence.
    fn near_file(&self, boot_file: &str) -> Option<String> {
        let listed;
        let files = match &self.content {
            Content::Directory(directory) => {
                listed = relative_files(directory);
                &listed
            }
            Content::Files(files) => files,
        };
        let file_name = |path: &str| path.rsplit('/').next().map(str::to_lowercase);
        let wanted = file_name(boot_file);
        let same_name = files.iter().find(|file| file_name(file) == wanted);
        let near = || nearest(boot_file, files.iter().map(String::as_str));
        same_name
            .map(String::as_str)
            .or_else(near)
            .map(str::to_owned)
    }
}

/// Returns the paths of the files of a directory, relative to it. Unreadable entries are omitted.
fn relative_files(directory: &Path) -> BTreeSet<String> {
    let entries = WalkDir::new(directory).follow_links(true).into_iter();
    let entries = entries.filter_map(Result::ok);
    let files = entries.filter(|entry| entry.file_type().is_file());
    let paths = files.filter_map(|entry| {
        let below = entry.path().strip_prefix(directory).ok()?;
        Some(below.to_str()?.replace(MAIN_SEPARATOR, "/"))
    });
    paths.collect()
}

impl CreateJob {
    /// Checks a local directory before it is uploaded as the code directory of the job. The
    /// directory must comply with the limits of the service, and contain the boot file of the job.
    ///
    /// # Errors
    /// Returned if a file or directory does not exist or cannot be read.
    pub fn check_code_dir(&self, path: impl AsRef<Path>) -> Result<Report, Error> {
        let body = self.body();
        let draft = Draft::new(&body, Cloud::default());
        let obs_path = |path| draft.at(path).text().and_then(ObsPath::parse);
        let boot_file = obs_path(BOOT_FILE).zip(obs_path(CODE_DIR));
        let boot_file = boot_file.and_then(|(file, directory)| file.path_below(&directory));
        Ok(CodeDir::scan(path)?.check(boot_file.as_deref()))
    }
}

/// Checks that a local file or directory fits on the disk of a flavor
/// ([`FlavorSpec::disk_gb`](crate::validation::FlavorSpec::disk_gb)), to which the service
/// downloads inputs.
///
/// # Errors
/// Returned if a file cannot be read.
pub fn check_input_size(path: impl AsRef<Path>, disk_gb: u64) -> Result<Report, Error> {
    let sizes = WalkDir::new(path).follow_links(true).into_iter();
    let sizes = sizes.map(|entry| {
        let metadata = entry?.metadata()?;
        Ok(if metadata.is_file() {
            metadata.len()
        } else {
            0
        })
    });
    let bytes: Result<u64, walkdir::Error> = sizes.sum();
    let bytes = bytes.map_err(|error| {
        Error::invalid(format!("the input cannot be read: {error}")).with_source(error)
    })?;
    Ok(compare_with_disk(bytes, disk_gb))
}

/// Returns a size for messages. It has the number of bytes, because a size just above a limit is
/// rounded to the limit.
fn size(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;
    let (unit, name) = match bytes {
        GIB.. => (GIB, "GiB"),
        _ => (MIB, "MiB"),
    };
    let (whole, tenths) = (bytes / unit, bytes % unit * 10 / unit);
    format!("{whole}.{tenths} {name} ({bytes} bytes)")
}

fn compare_with_disk(bytes: u64, disk_gb: u64) -> Report {
    let disk = disk_gb << 30;
    let value = || {
        let text = format!("{} for a disk of {disk_gb} GB", size(bytes));
        Actual::Measured(json!({"bytes": bytes, "disk_gb": disk_gb}), text)
    };
    let mut report = Report::default();
    if bytes > disk {
        report.violations.push(Violation::new(
            INPUTS,
            value(),
            "must fit the disk of the flavor",
            // The service detects this error only during the download, and defines no error code
            // for it.
            None,
            "choose a flavor with a larger disk, or mount the data as a volume",
        ));
    } else if bytes > disk / 10 * 9 {
        report.warnings.push(Warning::new(
            INPUTS,
            value(),
            "should fill at most nine tenths of the disk, because the script may write to it, too",
        ));
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_fits_the_disk_or_not() {
        let disk = 50 << 30;
        assert_eq!(compare_with_disk(disk / 10 * 9, 50), Report::default());
        let tight = compare_with_disk(disk, 50);
        assert!(tight.is_ok());
        assert_eq!(
            tight.to_string(),
            "warning: algorithm.inputs = 50.0 GiB (53687091200 bytes) for a disk of 50 GB: should \
             fill at most nine tenths of the disk, because the script may write to it, too\n"
        );
        assert_eq!(
            compare_with_disk(disk + 1, 50).to_string(),
            "error: algorithm.inputs = 50.0 GiB (53687091201 bytes) for a disk of 50 GB: must \
             fit the disk of the flavor; choose a flavor with a larger disk, or mount the data as a volume\n"
        );
    }
}
