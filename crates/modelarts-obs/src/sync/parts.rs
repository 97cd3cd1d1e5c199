//! Sizes of the parts of a multipart upload, and the description of an upload in its journal.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::sync::digest::Stamp;

/// Minimum size of a file that is sent as a multipart upload, in bytes.
pub(super) const MULTIPART_FROM: u64 = 16 << 20;
/// Size of a part in bytes, unless the file would have too many parts.
pub(super) const PART: u64 = 8 << 20;
/// Maximum number of parts of an object.
pub(super) const MAX_PARTS: u64 = 10_000;

/// Description of an upload in its journal. An upload is continued if all fields are the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UploadHeader {
    pub(super) target: String,
    pub(super) source: Origin,
    pub(super) size: u64,
    pub(super) part_size: u64,
    pub(super) sha256: Option<String>,
}

/// File or object with the version of its contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Origin {
    File(PathBuf, Stamp),
    Object(String, Option<String>),
}

impl UploadHeader {
    pub(super) fn parts(&self) -> usize {
        usize::try_from(self.size.div_ceil(self.part_size)).unwrap_or(usize::MAX)
    }

    pub(super) fn length(&self, part: usize) -> u64 {
        let start = (part as u64).saturating_mul(self.part_size);
        self.size.saturating_sub(start).min(self.part_size)
    }
}

/// Returns the size of the parts of a file: 8 MiB, or a larger multiple of 1 MiB if the file would
/// have more than 10,000 parts.
pub(super) fn part_size(size: u64) -> u64 {
    const MIB: u64 = 1 << 20;
    size.div_ceil(MAX_PARTS).next_multiple_of(MIB).max(PART)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_8_mib_until_there_would_be_more_than_10_000() {
        const GIB: u64 = 1 << 30;
        assert_eq!(part_size(MULTIPART_FROM), PART);
        assert_eq!(part_size(PART * MAX_PARTS), PART);
        assert_eq!(part_size(PART * MAX_PARTS + 1), PART + (1 << 20));
        for size in [1, 100 * GIB, 1_000 * GIB, 48_000 * GIB] {
            assert!(size.div_ceil(part_size(size)) <= MAX_PARTS, "{size}");
        }
        let header = UploadHeader {
            target: String::new(),
            source: Origin::Object(String::new(), None),
            size: 2 * PART + 1,
            part_size: PART,
            sha256: None,
        };
        let lengths: Vec<_> = (0..header.parts()).map(|part| header.length(part)).collect();
        assert_eq!(lengths, [PART, PART, 1]);
    }
}
