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
