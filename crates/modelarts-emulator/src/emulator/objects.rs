//! Writing and reading of objects in the OBS of the emulator, for tests.

use std::{fs, io, path::Path};

use tokio_util::sync::CancellationToken;

use crate::{
    emulator::Emulator,
    files::{
        confined_dir::{ConfinedDir, OnEscape, copy},
        obs_path::ObsPath,
    },
};

impl Emulator {
    /// Writes an object into the emulator's OBS: `bucket/code/train.py`, or
    /// `obs://bucket/code/train.py`. Creates the bucket and replaces an existing object. The call
    /// blocks until the file below [`obs_root`](Self::obs_root) is written.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let emulator = modelarts_emulator::Emulator::start().await?;
    /// emulator.put("bucket/code/train.py", "print('hello')\n")?;
    /// assert_eq!(emulator.get("obs://bucket/code/train.py")?, b"print('hello')\n");
    /// # emulator.shutdown().await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns [`io::ErrorKind::InvalidInput`] if the path names no object: it must have a bucket
    /// and a key, without segments `.` and `..`, and not end with a slash. Returns another error if
    /// the path leads out of the OBS root by a link, or the file cannot be written.
    pub fn put(&self, path: &str, contents: impl AsRef<[u8]>) -> io::Result<()> {
        let failed = |error| context("put", path, error);
        let object = object(path).map_err(failed)?;
        let written = self.state.offer.obs.write(&object.relative(), contents.as_ref());
        written.map_err(failed)
    }

    /// Copies the contents of a local directory into the emulator's OBS, below a directory such as
    /// `bucket/code/`. Replaces existing objects and keeps all others. The call blocks until all
    /// files are copied.
    ///
    /// # Errors
    /// Returns [`io::ErrorKind::InvalidInput`] if the path has no bucket, or a segment `.` or `..`.
    /// Returns another error if `local` is not a directory, has a link that leads out of the
    /// directory, or a file cannot be copied. Files that were already copied remain.
    pub fn put_dir(&self, local: impl AsRef<Path>, path: &str) -> io::Result<()> {
        let local = local.as_ref();
        let target = location(path).map_err(|error| context("put", path, error))?;
        let put = || {
            copy(
                (&ConfinedDir::open(local)?, Path::new("")),
                (&self.state.offer.obs, &target.relative()),
                OnEscape::Refuse,
                &CancellationToken::new(),
            )
        };
        put().map(drop).map_err(|error| {
            let local = local.display();
            io::Error::new(error.kind(), format!("cannot put the directory {local}: {error}"))
        })
    }

    /// Reads an object of the emulator's OBS, such as an output of a job. The path is written as
    /// for [`put`](Self::put). The call blocks until the file is read.
    ///
    /// # Errors
    /// Returns [`io::ErrorKind::NotFound`] if the object does not exist, and otherwise the errors
    /// of [`put`](Self::put).
    pub fn get(&self, path: &str) -> io::Result<Vec<u8>> {
        let read = || fs::read(self.state.offer.obs.resolve(&object(path)?.relative())?);
        read().map_err(|error| context("get", path, error))
    }
}

/// Parses a location in OBS. The prefix `obs://` or `/` may be omitted.
fn location(path: &str) -> io::Result<ObsPath> {
    let complete = path.starts_with('/') || path.contains("://");
    let parsed = if complete { ObsPath::parse(path) } else { ObsPath::parse(&format!("/{path}")) };
    parsed.map_err(|rule| io::Error::new(io::ErrorKind::InvalidInput, rule))
}

fn object(path: &str) -> io::Result<ObsPath> {
    let location = location(path)?;
    if location.is_directory() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it must name an object, such as bucket/code/train.py",
        ));
    }
    Ok(location)
}

fn context(verb: &str, path: &str, error: io::Error) -> io::Error {
    let message = format!("cannot {verb} the object {path:?}: {error}");
    io::Error::new(error.kind(), message)
}
