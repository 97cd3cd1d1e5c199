//! Directory of files that the program keeps between two runs.

use std::{env, path::PathBuf};

use etcetera::BaseStrategy;

/// Variable with the directory.
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
