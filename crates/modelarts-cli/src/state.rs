//! Files that the program keeps between two runs.

use std::{
    env, fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;
use tempfile::NamedTempFile;

const STATE_VARIABLE: &str = "MODELARTS_STATE_DIR";

/// Returns the directory: `MODELARTS_STATE_DIR`, else that of the user for states, such as
/// `~/.local/state/modelarts`. `None` if the home directory is not known. It may not exist.
pub(crate) fn state_directory() -> Option<PathBuf> {
    let directory = env::var_os(STATE_VARIABLE).filter(|path| !path.is_empty());
    directory.map(PathBuf::from).or_else(|| {
        let base = etcetera::choose_base_strategy().ok()?;
        let state = base.state_dir().unwrap_or_else(|| base.data_dir());
        Some(state.join("modelarts"))
    })
}

/// Writes a file with the mode 0600. Readers see either the whole old file or the whole new one.
pub(crate) fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(contents)?;
    file.persist(path)?;
    Ok(())
}
