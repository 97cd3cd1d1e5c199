//! An input on this machine, before it is uploaded.

use std::path::Path;

use serde_json::json;
use walkdir::WalkDir;

use crate::{
    error::{
        Error,
        violation::{Actual, Violation},
    },
    validation::report::{Report, Warning},
};

const FIELD: &str = "algorithm.inputs";

/// Compares a file or a directory on this machine with the disk of a flavor
/// ([`FlavorSpec::disk_gb`](crate::validation::flavor_spec::FlavorSpec::disk_gb)), which inputs are
/// downloaded to.
///
/// # Errors
/// What cannot be read.
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
    Ok(compare(bytes, disk_gb))
}

fn compare(bytes: u64, disk_gb: u64) -> Report {
    let disk = disk_gb << 30;
    let value = || Actual::Value(json!({"bytes": bytes, "disk_gb": disk_gb}));
    let mut report = Report::default();
    if bytes > disk {
        report.violations.push(Violation::new(
            FIELD,
            value(),
            "an input fits the disk of the flavor",
            // The service finds out while it downloads, and has no code for it.
            None,
            "choose a flavor with a larger disk, or mount the data as a volume",
        ));
    } else if bytes > disk / 10 * 9 {
        report.warnings.push(Warning::new(
            FIELD,
            value(),
            "it fills nine tenths of the disk; what the script writes needs room, too",
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
        assert_eq!(compare(disk / 10 * 9, 50), Report::default());
        let tight = compare(disk, 50);
        assert!(tight.is_ok());
        assert_eq!(
            tight.to_string(),
            "warning: algorithm.inputs = {\"bytes\":53687091200,\"disk_gb\":50}: it fills nine tenths \
             of the disk; what the script writes needs room, too\n"
        );
        assert_eq!(
            compare(disk + 1, 50).to_string(),
            "error: algorithm.inputs = {\"bytes\":53687091201,\"disk_gb\":50}: an input fits the \
             disk of the flavor; choose a flavor with a larger disk, or mount the data as a volume\n"
        );
    }
}
