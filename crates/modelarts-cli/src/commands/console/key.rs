//! Key of the sessions of the page.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use ring::rand::{SystemRandom, generate};
use tempfile::NamedTempFile;

use crate::state_directory::state_directory;

/// File with the key in the state directory. Only this user can read it.
const FILE: &str = "console.key";
/// Length of the key, in bytes.
const LENGTH: usize = 32;

/// Returns the key of this user, which the first call creates, so that browsers stay logged in when
/// the page starts again. `None` if it cannot be stored: sessions end with the page then.
pub(super) fn stored() -> Option<Vec<u8>> {
    let path = state_directory()?.join(FILE);
    let key = read(&path).map_or_else(|| create(&path), Ok);
    key.inspect_err(|error| tracing::debug!(%error, "sessions end with the page")).ok()
}

/// Returns the key in a file. `None` if it has none, or if other users could have read it.
fn read(path: &Path) -> Option<Vec<u8>> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;

        let mode = fs::metadata(path).ok()?.permissions().mode();
        if mode & 0o077 != 0 {
            return None;
        }
    }
    fs::read(path).ok().filter(|key| key.len() == LENGTH)
}

/// Creates the file. It has the mode 0600 from its creation on.
fn create(path: &Path) -> io::Result<Vec<u8>> {
    let key: [u8; LENGTH] = generate(&SystemRandom::new())
        .map_err(|_| io::Error::other("the system has no random numbers"))?
        .expose();
    let directory = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    fs::create_dir_all(&directory)?;
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(&key)?;
    file.persist(path)?;
    Ok(key.to_vec())
}
