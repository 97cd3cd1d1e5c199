//! Validation of local files before an upload: code directories and inputs.

use std::{
    collections::BTreeSet,
    path::{MAIN_SEPARATOR, Path},
};

use modelarts_api::request_path::create_training_job::algorithm::{BOOT_FILE, CODE_DIR, INPUTS};
use serde_json::json;
use walkdir::WalkDir;

use crate::{
    error::{
        Error,
        violation::{Actual, Violation},
    },
    spelling::nearest,
    validation::{
        report::{Report, Warning},
        rules::rule,
    },
};

pub(super) const MAX_BYTES: u64 = 5 << 30;
pub(super) const MAX_FILES: u64 = 1000;
pub(super) const MAX_LEVELS: usize = 32;
/// Recommended maximum size of a code directory in bytes, because every task downloads it.
pub(super) const RECOMMENDED_BYTES: u64 = 50 << 20;

/// Local code directory: its files, and the size and depth of its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeDir {
    paths: BTreeSet<String>,
    bytes: u64,
    files: u64,
    directories: u64,
    levels: usize,
}

impl CodeDir {
    /// Reads the paths and sizes of the files in a directory. Symbolic links are followed.
    ///
    /// # Errors
    /// Returns an error if `path` is not a directory, or if a file or directory cannot be read.
    pub fn scan(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let unreadable = |error: walkdir::Error| {
            Error::invalid(format!("the code directory cannot be read: {error}")).with_source(error)
        };
        if path.is_file() {
            let message = format!("the code directory {} is a file", path.display());
            return Err(Error::invalid(message));
        }
        let mut code = Self::default();
        for entry in WalkDir::new(path).min_depth(1).follow_links(true) {
            let entry = entry.map_err(unreadable)?;
            if entry.file_type().is_dir() {
                code.directories += 1;
                code.levels = code.levels.max(entry.depth());
            } else {
                code.files += 1;
                code.bytes += entry.metadata().map_err(unreadable)?.len();
                let below = entry.path().strip_prefix(path).ok();
                let below = below.and_then(Path::to_str);
                code.paths.extend(below.map(|path| path.replace(MAIN_SEPARATOR, "/")));
            }
        }
        Ok(code)
    }

    /// Creates a code directory from the files of an upload: relative paths, and sizes in bytes.
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
            paths,
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

    /// Returns the maximum depth of nested directories, or 0 if there are no directories.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.levels
    }

    /// Checks the limits (5 GB, 1,000 files, 32 levels) and the boot file, a relative path.
    pub fn check(&self, boot_file: Option<&str>) -> Report {
        let mut report = Report::default();
        let bytes = || Actual::Measured(json!({"bytes": self.bytes}), size(self.bytes));
        if self.bytes > MAX_BYTES {
            report.add_in_words_of(rule("code-dir-size"), CODE_DIR, bytes());
        }
        if self.files > MAX_FILES {
            let count = json!({"files": self.files});
            let actual = Actual::Measured(count, format!("{} files", self.files));
            report.add_in_words_of(rule("code-dir-files"), CODE_DIR, actual);
        }
        if self.levels > MAX_LEVELS {
            let count = json!({"levels": self.levels});
            let actual = Actual::Measured(count, format!("{} levels", self.levels));
            report.add_in_words_of(rule("code-dir-depth"), CODE_DIR, actual);
        }
        if let Some(boot_file) = boot_file {
            self.check_boot_file(boot_file, &mut report);
        }
        if self.bytes > RECOMMENDED_BYTES && self.bytes <= MAX_BYTES {
            let advice = "should have at most 50 MB, because every task downloads it";
            report.warnings.push(Warning::new(CODE_DIR, bytes(), advice));
        }
        report
    }

    fn check_boot_file(&self, boot_file: &str, report: &mut Report) {
        let actual = || Actual::Value(boot_file.into());
        if Path::new(boot_file).is_absolute() || boot_file.split('/').any(|step| step == "..") {
            report.add_in_words_of(rule("boot-file-in-directory"), BOOT_FILE, actual());
        } else if !self.paths.contains(boot_file) {
            let rule = rule("boot-file-exists");
            let advice = match self.near_file(boot_file) {
                Some(near) => format!("did you mean {near}? Otherwise {}", rule.advice),
                None => rule.advice.clone(),
            };
            report.add_value(rule, BOOT_FILE, actual(), &*rule.requirement, advice);
        }
        if !boot_file.ends_with(".py") {
            report.add_in_words_of(rule("boot-file-python"), BOOT_FILE, actual());
        }
    }

    /// Returns the path of a file with the same name, ignoring case, or else the most similar path.
    fn near_file(&self, boot_file: &str) -> Option<&str> {
        let file_name = |path: &str| path.rsplit('/').next().map(str::to_lowercase);
        let wanted = file_name(boot_file);
        let mut paths = self.paths.iter().map(String::as_str);
        let same_name = paths.clone().find(|path| file_name(path) == wanted);
        same_name.or_else(|| nearest(boot_file, paths.by_ref()))
    }
}

/// Formats a size with the exact bytes, because a size just above a limit is rounded to the limit.
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

/// Checks that inputs of this size fit on the [disk](crate::validation::FlavorSpec::disk_gb) of a
/// flavor, to which the service downloads inputs.
pub fn check_input_size(bytes: u64, disk_gb: u64) -> Report {
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
            // The service detects the error only during the download, and has no error code for it.
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
        assert_eq!(check_input_size(disk / 10 * 9, 50), Report::default());
        let tight = check_input_size(disk, 50);
        assert!(tight.is_ok());
        assert_eq!(
            tight.to_string(),
            "warning: algorithm.inputs = 50.0 GiB (53687091200 bytes) for a disk of 50 GB: should \
             fill at most nine tenths of the disk, because the script may write to it, too\n"
        );
        assert_eq!(
            check_input_size(disk + 1, 50).to_string(),
            "error: algorithm.inputs = 50.0 GiB (53687091201 bytes) for a disk of 50 GB: must \
             fit the disk of the flavor; choose a flavor with a larger disk, or mount the data as \
             a volume\n"
        );
    }
}
