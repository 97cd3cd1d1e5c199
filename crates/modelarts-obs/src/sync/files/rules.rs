//! Files and directories that are always left out because of their names or of files in them.

use std::path::Path;

use crate::sync::progress::SkipReason;

/// Suffix of the name of an incomplete download.
pub(crate) const PART_SUFFIX: &str = ".modelarts-part";
/// Name of the object that is written and deleted before a large upload, to test the permission.
pub(crate) const WRITE_TEST: &str = ".modelarts-write-test";

/// Names of files and directories with credentials, in lower case.
const CREDENTIALS: [&str; 18] = [
    ".aws",
    ".huaweicloud",
    ".netrc",
    ".obsutilconfig",
    ".s3cfg",
    ".ssh",
    "clouds.yaml",
    "clouds.yml",
    // Files with the keys of an emulator.
    "connection.json",
    "emulator.env",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "id_rsa",
    "secure.yaml",
    "secure.yml",
];
/// Suffixes of the names of files with private keys, in lower case.
const KEY_SUFFIXES: [&str; 4] = [".p12", ".pem", ".pfx", ".ppk"];

/// Files with the state of an emulator, which identify its data directory. By default, the data
/// directory is `data` in `modelarts-emulator-data`, beside the objects of OBS. The last one is in
/// the storage of `modelarts run --local`.
const EMULATOR_STATES: [&str; 3] = ["state.sqlite3", "data/state.sqlite3", ".modelarts-storage"];

/// Returns the reason why a file or a directory is always left out, or `None` if it is not.
pub(super) fn always_left_out(path: &Path, is_dir: bool) -> Option<SkipReason> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    let name = name.as_str();
    if name == ".git" {
        return Some(SkipReason::Repository);
    }
    let is_key = KEY_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) && !is_dir;
    if is_key || name.starts_with(".env") || CREDENTIALS.contains(&name) {
        return Some(SkipReason::Credentials);
    }
    if !is_dir {
        let is_part = name.starts_with('.') && name.ends_with(PART_SUFFIX);
        return is_part.then_some(SkipReason::UnfinishedDownload);
    }
    match name {
        "__pycache__" => Some(SkipReason::PythonCache),
        "node_modules" => Some(SkipReason::NodeModules),
        _ if path.join("pyvenv.cfg").is_file() => Some(SkipReason::VirtualEnvironment),
        _ if EMULATOR_STATES.iter().any(|state| path.join(state).is_file()) => {
            Some(SkipReason::Emulator)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_credentials_and_caches_are_left_out() {
        let reason = |name: &str, is_dir| always_left_out(&Path::new("src").join(name), is_dir);
        for name in
            [".env", ".env.local", ".envrc", "server.PEM", "id_rsa", "clouds.yaml", "key.p12"]
        {
            assert_eq!(reason(name, false), Some(SkipReason::Credentials), "{name}");
        }
        assert_eq!(reason(".huaweicloud", true), Some(SkipReason::Credentials));
        assert_eq!(reason(".git", true), Some(SkipReason::Repository));
        assert_eq!(reason(".git", false), Some(SkipReason::Repository));
        assert_eq!(reason("__pycache__", true), Some(SkipReason::PythonCache));
        assert_eq!(reason("node_modules", true), Some(SkipReason::NodeModules));
        assert_eq!(reason(".model.pt.modelarts-part", false), Some(SkipReason::UnfinishedDownload));
        for name in
            ["train.py", "id_rsa.pub", ".gitignore", ".hidden", "environment.yml", "node_modules"]
        {
            assert_eq!(reason(name, false), None, "{name}");
        }
    }
}
