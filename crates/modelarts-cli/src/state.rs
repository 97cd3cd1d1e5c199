//! Files that the program keeps between runs.

use std::{
    env, fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;
use tempfile::NamedTempFile;

const STATE_VARIABLE: &str = "MODELARTS_STATE_DIR";

/// Returns the state directory: `MODELARTS_STATE_DIR`, otherwise that of the user, such as
/// `~/.local/state/modelarts`. It may not exist. Returns `None` if the home directory is not known.
pub(crate) fn state_directory() -> Option<PathBuf> {
    let directory = env::var_os(STATE_VARIABLE).filter(|path| !path.is_empty());
    directory.map(PathBuf::from).or_else(|| {
        let base = etcetera::choose_base_strategy().ok()?;
        let state = base.state_dir().unwrap_or_else(|| base.data_dir());
        Some(state.join("modelarts"))
    })
}

/// Writes a file with the mode 0600. Readers see either the complete old or the complete new file.
pub(crate) fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(contents)?;
    file.persist(path)?;
    Ok(())
}

/// Maximum number of recorded files, the newest ones.
const MAX_WRITTEN: usize = 500;

fn written_path() -> Option<PathBuf> {
    Some(state_directory()?.join("written.json"))
}

/// Returns the files that the program recorded as its results, which are no part of code.
pub(crate) fn written() -> Vec<PathBuf> {
    let text = written_path().and_then(|path| fs::read(path).ok());
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// Records files that the program writes, and those to which its stdout and stderr are redirected.
/// Errors are only logged.
pub(crate) fn record_written(files: impl IntoIterator<Item = PathBuf>) {
    let redirected = ["/proc/self/fd/1", "/proc/self/fd/2"].into_iter();
    let redirected = redirected.filter_map(|file| fs::read_link(file).ok());
    let redirected = redirected.filter(|path| path.is_file());
    let files = files.into_iter().filter_map(|file| std::path::absolute(file).ok());
    let mut all = written();
    for file in files.chain(redirected) {
        all.retain(|known| *known != file);
        all.push(file);
    }
    all.drain(..all.len().saturating_sub(MAX_WRITTEN));
    let path = written_path().filter(|path| !all.is_empty() || path.exists());
    let saved = path.map_or(Ok(()), |path| {
        serde_json::to_vec(&all).map_err(io::Error::other).and_then(|text| replace(&path, &text))
    });
    if let Err(error) = saved {
        tracing::debug!(%error, "the written files are not recorded");
    }
}
