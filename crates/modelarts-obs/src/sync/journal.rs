//! Journal of a transfer in parts or ranges, from which the next call resumes an interrupted
//! transfer.
//!
//! A journal is a file with a line of JSON that describes the transfer, and for an upload, a line
//! for each complete part. An incomplete last line is ignored.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use parking_lot::Mutex;
use serde::{Serialize, de::DeserializeOwned};

/// Journal of a transfer. Without a cache directory, nothing is recorded.
pub(crate) struct Journal {
    path: Option<PathBuf>,
    file: Mutex<Option<File>>,
}

impl Journal {
    /// Reads the description of a transfer, and the entity tags of its complete parts by part
    /// number. Returns `None` if there is no valid journal.
    pub(crate) fn read<H: DeserializeOwned>(
        path: Option<&Path>,
    ) -> Option<(H, BTreeMap<usize, String>)> {
        let text = fs::read_to_string(path?).ok()?;
        let (header, lines) = text.split_once('\n')?;
        let header = serde_json::from_str(header).ok()?;
        // The last element is empty or an incomplete line.
        let mut lines: Vec<_> = lines.split('\n').collect();
        lines.pop();
        let part = |line: &str| {
            let (number, tag) = line.split_once(' ')?;
            Some((number.parse().ok()?, tag.to_owned()))
        };
        Some((header, lines.into_iter().filter_map(part).collect()))
    }

    /// Opens an existing journal. An incomplete last line is removed, so that it does not become
    /// part of the next line.
    pub(crate) fn resume(path: Option<PathBuf>) -> Self {
        let open = |path: &PathBuf| {
            let text = fs::read(path).ok()?;
            let lines = text.iter().rposition(|byte| *byte == b'\n');
            let length = lines.map_or(0, |end| end + 1);
            if length < text.len() {
                let file = OpenOptions::new().write(true).open(path).ok()?;
                file.set_len(length as u64).ok()?;
            }
            append(path)
        };
        let file = path.as_ref().and_then(open);
        Self { path, file: Mutex::new(file) }
    }

    /// Creates a journal. If the file cannot be written, nothing is recorded.
    pub(crate) fn begin(path: Option<PathBuf>, header: &impl Serialize) -> Self {
        let create = |path: &PathBuf| {
            fs::create_dir_all(path.parent()?).ok()?;
            let mut header = serde_json::to_vec(header).ok()?;
            header.push(b'\n');
            fs::write(path, &header).ok()?;
            append(path)
        };
        let file = path.as_ref().and_then(create);
        Self { path, file: Mutex::new(file) }
    }

    /// Records a complete part with its entity tag.
    pub(crate) fn record(&self, number: usize, tag: &str) {
        let line = format!("{number} {tag}\n");
        let mut file = self.file.lock();
        if let Some(open) = &mut *file
            && open.write_all(line.as_bytes()).is_err()
        {
            *file = None;
        }
    }

    /// Returns `true` if the parts are recorded in a file, which the next call can read.
    pub(crate) fn is_kept(&self) -> bool {
        self.file.lock().is_some()
    }

    /// Deletes the journal of a transfer that is complete or was aborted.
    pub(crate) fn remove(self) {
        drop(self.file);
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

/// Opens a journal for appending, so that two processes that write the same journal add whole
/// lines.
fn append(path: &Path) -> Option<File> {
    OpenOptions::new().append(true).open(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_line_is_removed_before_the_next_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("1");
        let begun = Journal::begin(Some(path.clone()), &"upload");
        begun.record(0, "a");
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"1 cu").unwrap();
        let resumed = Journal::resume(Some(path.clone()));
        resumed.record(1, "b");
        // `begun` stands for another process, which continues to append.
        begun.record(2, "c");
        let parts = BTreeMap::from([(0, "a".to_owned()), (1, "b".to_owned()), (2, "c".to_owned())]);
        let read = Journal::read::<String>(Some(&path));
        assert_eq!(read, Some(("upload".to_owned(), parts)));
    }

    #[test]
    fn parts_are_read_again_without_a_cut_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("uploads/1");
        let journal = Journal::begin(Some(path.clone()), &"upload");
        journal.record(0, "\"a\"");
        drop(journal);
        let journal = Journal::resume(Some(path.clone()));
        journal.record(2, "\"c d\"");
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"3 \"d").unwrap();
        let parts = BTreeMap::from([(0, "\"a\"".to_owned()), (2, "\"c d\"".to_owned())]);
        let read = || Journal::read::<String>(Some(&path));
        assert_eq!(read(), Some(("upload".to_owned(), parts)));
        journal.remove();
        assert_eq!(read(), None);
        fs::write(&path, "{\"a\n0 x\n").unwrap();
        assert_eq!(read(), None);
        assert_eq!(Journal::read::<String>(None), None);
    }
}
