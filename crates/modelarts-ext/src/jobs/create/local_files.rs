//! Checks of local files before they are uploaded: code directories and inputs.

use std::path::{Path, PathBuf};

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
        report::{Report, Warning},
        rules::external_facts::{
            BOOT_FILE_EXISTS, BOOT_FILE_INSIDE, BOOT_FILE_PYTHON, CODE_DIR_DEPTH, CODE_DIR_FILES,
            CODE_DIR_SIZE, Fact,
        },
    },
};

const CODE_DIR: &str = "algorithm.code_dir";
const INPUTS: &str = "algorithm.inputs";
const MAX_BYTES: u64 = 5 << 30;
/// The maximum number of files, without directories.
const MAX_FILES: u64 = 1000;
const MAX_LEVELS: usize = 32;
/// The recommended size. Larger directories are admitted, but slow to download in each task.
const RECOMMENDED_BYTES: u64 = 50 << 20;

/// The limits of a code directory, for the table of parameters.
pub(super) fn limits_in_words() -> String {
    format!(
        "at most {} GB, {MAX_FILES} files, {MAX_LEVELS} levels; best {} MB",
        MAX_BYTES >> 30,
        RECOMMENDED_BYTES >> 20
    )
}

/// A local code directory: its size, and the number and depth of its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeDir {
    path: PathBuf,
    bytes: u64,
    files: u64,
    directories: u64,
    levels: usize,
}

impl CodeDir {
    /// Scans a directory. Links are followed, as in an upload.
    ///
    /// # Errors
    /// A file or directory that cannot be read, or does not exist.
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
            path: path.to_owned(),
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

    /// The size of all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of files.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.files
    }

    /// The number of directories, without the code directory itself.
    #[must_use]
    pub fn directories(&self) -> u64 {
        self.directories
    }

    /// The depth of nested directories: 0 if there are none.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.levels
    }

    /// Checks the limits of the service: 5 GB, 1,000 files, 32 levels. `boot_file` is a path in the
    /// directory, such as `src/train.py`.
    pub fn check(&self, boot_file: Option<&str>) -> Report {
        let mut report = Report::default();
        if self.bytes > MAX_BYTES {
            report.add(
                CODE_DIR_SIZE.basis,
                CODE_DIR,
                Actual::Value(json!({"bytes": self.bytes})),
                "must have at most 5 GB",
                "move data to an input",
            );
        }
        if self.files > MAX_FILES {
            report.add(
                CODE_DIR_FILES.basis,
                CODE_DIR,
                Actual::Value(json!({"files": self.files})),
                "must have at most 1,000 files",
                "leave out what the script does not need, or pack it",
            );
        }
        if self.levels > MAX_LEVELS {
            report.add(
                CODE_DIR_DEPTH.basis,
                CODE_DIR,
                Actual::Value(json!({"levels": self.levels})),
                "must be at most 32 directories deep",
                "make the tree flatter",
            );
        }
        if let Some(boot_file) = boot_file {
            self.check_boot_file(boot_file, &mut report);
        }
        if self.bytes > RECOMMENDED_BYTES && self.bytes <= MAX_BYTES {
            report.warnings.push(Warning::new(
                CODE_DIR,
                Actual::Value(json!({"bytes": self.bytes})),
                "should have at most 50 MB, because every task downloads it",
            ));
        }
        report
    }

    fn check_boot_file(&self, boot_file: &str, report: &mut Report) {
        let mut add = |fact: Fact, requirement: &'static str, advice: &'static str| {
            let value = Actual::Value(boot_file.into());
            report.add(
                fact.basis,
                "algorithm.boot_file",
                value,
                requirement,
                advice,
            );
        };
        let inside =
            !Path::new(boot_file).is_absolute() && !boot_file.split('/').any(|s| s == "..");
        if !inside {
            add(
                BOOT_FILE_INSIDE,
                "must lie in the code directory",
                "move the boot file into the directory",
            );
        } else if !self.path.join(boot_file).is_file() {
            add(
                BOOT_FILE_EXISTS,
                "must exist in the code directory",
                "correct its name, or put it into the directory",
            );
        }
        if !boot_file.ends_with(".py") {
            add(
                BOOT_FILE_PYTHON,
                "must end in .py",
                "start a Python file; other programs need an image and a command",
            );
        }
    }
}

impl CreateJob {
    /// Checks a local directory that is to be uploaded as the code directory of the job: the limits
    /// of the service, and that the boot file of the job is in it.
    ///
    /// # Errors
    /// A file or directory that cannot be read, or does not exist.
    pub fn check_code_dir(&self, path: impl AsRef<Path>) -> Result<Report, Error> {
        let body = self.body();
        let draft = Draft::new(&body, Cloud::default());
        let obs_path = |name: &str| {
            draft
                .at("algorithm")
                .at(name)
                .text()
                .and_then(ObsPath::parse)
        };
        let boot_file = obs_path("boot_file").zip(obs_path("code_dir"));
        let boot_file = boot_file.and_then(|(file, directory)| file.path_below(&directory));
        Ok(CodeDir::scan(path)?.check(boot_file.as_deref()))
    }
}

/// Checks that a local file or directory fits on the disk of a flavor
/// ([`FlavorSpec::disk_gb`](crate::validation::FlavorSpec::disk_gb)), which inputs are downloaded
/// to.
///
/// # Errors
/// A file that cannot be read.
pub fn check_input_size(path: impl AsRef<Path>, disk_gb: u64) -> Result<Report, Error> {
    let unreadable = |error: walkdir::Error| {
        Error::invalid(format!("the input cannot be read: {error}")).with_source(error)
    };
    let mut bytes = 0;
    for entry in WalkDir::new(path).follow_links(true) {
        let entry = entry.map_err(unreadable)?;
        if entry.file_type().is_file() {
            bytes += entry.metadata().map_err(unreadable)?.len();
        }
    }
    Ok(compare_with_disk(bytes, disk_gb))
}

fn compare_with_disk(bytes: u64, disk_gb: u64) -> Report {
    let disk = disk_gb << 30;
    let value = || Actual::Value(json!({"bytes": bytes, "disk_gb": disk_gb}));
    let mut report = Report::default();
    if bytes > disk {
        report.violations.push(Violation::new(
            INPUTS,
            value(),
            "must fit the disk of the flavor",
            // The service finds out while it downloads, and has no code for it.
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
            "warning: algorithm.inputs = {\"bytes\":53687091200,\"disk_gb\":50}: should fill at \
             most nine tenths of the disk, because the script may write to it, too\n"
        );
        assert_eq!(
            compare_with_disk(disk + 1, 50).to_string(),
            "error: algorithm.inputs = {\"bytes\":53687091201,\"disk_gb\":50}: must fit the disk \
             of the flavor; choose a flavor with a larger disk, or mount the data as a volume\n"
        );
    }
}
