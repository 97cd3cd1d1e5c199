//! Download of a whole log into a file.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::Serialize;

use crate::{
    error::{Error, ErrorKind},
    jobs::logs::{Logs, whole::WholeLog},
};

/// Size of a downloaded log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DownloadedLog {
    /// Size of the file, in bytes.
    pub bytes: u64,
    /// Number of lines, including an incomplete last line.
    pub lines: u64,
}

impl Logs {
    /// Writes the whole log, as far as it exists now, to a file. Returns the size of the log.
    ///
    /// The log is read by its link in OBS. If OBS does not have the log or cannot be reached, the
    /// log is read by a preview, provided that the preview is the whole log. A log that cannot be
    /// read completely is an error.
    ///
    /// The log is not held in memory. It is written to a temporary file in the directory of `path`,
    /// which replaces the file at `path` when it is complete. After an error, or if the future is
    /// dropped, the temporary file is removed and `path` is unchanged. Lost connections and
    /// transient errors are retried as for other calls, and the download continues at its position.
    /// The time limit of a call applies to each wait for a part of the log, not to the whole
    /// download.
    ///
    /// Requests to OBS have neither credentials nor a signature of the client. Redirects are not
    /// followed. A link that begins with `http` is used with `https`, unless both the service and
    /// the link are on this machine.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # let job = hello(&emulator, &client, "download")?.submit().await?;
    /// # job.wait().await?.success()?;
    /// # let path = emulator.obs_root().join("worker-0.log");
    /// let log = job.logs("worker-0").download(&path).await?;
    /// println!("{}: {} bytes, {} lines", path.display(), log.bytes, log.lines);
    /// # assert_eq!(std::fs::read_to_string(&path)?, "hello\n");
    /// # assert_eq!((log.bytes, log.lines), (6, 1));
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// Returns an error with [`Error::is_not_ready`] if the log does not exist yet, and an error of
    /// kind [`ErrorKind::File`] if the file cannot be written. The directory of the file must
    /// exist, which is checked before any request.
    pub async fn download(&self, path: impl AsRef<Path>) -> Result<DownloadedLog, Error> {
        let mut file = PartialFile::create(path.as_ref())?;
        let mut log = WholeLog::new(self.clone());
        let mut size = DownloadedLog::default();
        let mut last = b'\n';
        while let Some(bytes) = log.next().await? {
            file.write(&bytes)?;
            size.bytes += bytes.len() as u64;
            size.lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
            last = bytes.last().copied().unwrap_or(last);
        }
        size.lines += u64::from(last != b'\n');
        file.complete()?;
        Ok(size)
    }
}

/// Temporary file in the directory of the target. If the value is dropped before the file is
/// complete, the file is removed.
struct PartialFile<'a> {
    file: File,
    path: PathBuf,
    target: &'a Path,
    is_complete: bool,
}

impl<'a> PartialFile<'a> {
    fn create(target: &'a Path) -> Result<Self, Error> {
        let name = target.file_name().filter(|_| !target.is_dir());
        let Some(name) = name else {
            let message = format!(
                "the log cannot be written to {}: it must be the path of a file, and is that of a \
                 directory",
                target.display()
            );
            return Err(Error::new(ErrorKind::File, message));
        };
        let mut partial = std::ffi::OsString::from(".");
        partial.push(name);
        partial.push(format!(".{:016x}.part", fastrand::u64(..)));
        let path = target.with_file_name(partial);
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = file.map_err(|error| {
            let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
            match parent {
                Some(parent) if error.kind() == io::ErrorKind::NotFound => {
                    let message = format!(
                        "the log cannot be written to {}: the directory {} must exist; create it \
                         first",
                        target.display(),
                        parent.display()
                    );
                    Error::new(ErrorKind::File, message).with_source(error)
                }
                _ => unwritable(target, error),
            }
        })?;
        Ok(Self { file, path, target, is_complete: false })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written = self.file.write_all(bytes);
        written.map_err(|error| unwritable(self.target, error))
    }

    /// Replaces the target with the temporary file.
    fn complete(mut self) -> Result<(), Error> {
        let renamed = fs::rename(&self.path, self.target);
        renamed.map_err(|error| unwritable(self.target, error))?;
        self.is_complete = true;
        Ok(())
    }
}

impl Drop for PartialFile<'_> {
    fn drop(&mut self) {
        if !self.is_complete
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "cannot remove a temporary file");
        }
    }
}

#[cold]
fn unwritable(path: &Path, error: io::Error) -> Error {
    let message = format!("the log cannot be written to {}: {error}", path.display());
    Error::new(ErrorKind::File, message).with_source(error)
}
