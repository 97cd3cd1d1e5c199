//! Root directory of a view: the entries of this machine's root, and the mounts. Bubblewrap would
//! create missing mount points on this machine, so new directories replace their parents.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

#[derive(Clone, Debug)]
pub(super) struct Mount {
    source: PathBuf,
    pub(super) at: PathBuf,
    is_read_only: bool,
}

impl Mount {
    pub(super) fn new(source: &Path, at: impl AsRef<Path>) -> Self {
        Self { source: source.to_owned(), at: at.as_ref().to_owned(), is_read_only: false }
    }

    pub(super) fn read_only(mut self) -> Self {
        self.is_read_only = true;
        self
    }
}

/// Directories that a view replaces as a whole, with arguments of their own.
const SPECIAL: [&str; 2] = ["/dev", "/proc"];

pub(super) fn root_arguments(mounts: &[Mount]) -> Vec<OsString> {
    let mut mounts = mounts.to_vec();
    // Mounts are sorted, so that a mount within another mount follows it.
    mounts.sort_by(|one, other| one.at.cmp(&other.at));
    let mut arguments = Vec::new();
    show_entries(Path::new("/"), &mounts, &mut arguments);
    for Mount { source, at, is_read_only } in mounts {
        let option = if is_read_only { "--ro-bind" } else { "--bind" };
        arguments.extend([option.into(), source.into(), at.into()]);
    }
    arguments
}

/// Shows the entries of a directory of this machine, except those that mounts replace.
fn show_entries(directory: &Path, mounts: &[Mount], arguments: &mut Vec<OsString>) {
    // A directory that this user cannot read has no entries that the code could use.
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries {
        let path = entry.path();
        let is_replaced = mounts.iter().any(|mount| mount.at == path);
        if is_replaced || SPECIAL.iter().any(|special| path == Path::new(special)) {
            continue;
        }
        let is_missing = |mount: &Mount| mount.at.starts_with(&path) && !mount.at.exists();
        if mounts.iter().any(is_missing) && path.is_dir() {
            arguments.extend(["--dir".into(), path.clone().into()]);
            show_entries(&path, mounts, arguments);
            continue;
        }
        match fs::read_link(&path) {
            Ok(target) => arguments.extend(["--symlink".into(), target.into(), path.into()]),
            // The entry may be removed in the meantime.
            Err(_) => {
                arguments.extend(["--bind-try".into(), path.clone().into(), path.into()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the option that shows `at`, and its source.
    fn shown(arguments: &[OsString], at: &Path) -> Option<[OsString; 2]> {
        let is_option = |word: &OsString| word.to_string_lossy().starts_with("--");
        let mut options = arguments.windows(3).filter(|words| is_option(&words[0]));
        let words = options.find(|words| words[2] == *at.as_os_str())?;
        Some([words[0].clone(), words[1].clone()])
    }

    #[test]
    fn a_missing_mount_point_is_not_created_in_a_directory_of_this_machine() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        fs::create_dir_all(root.join("data/old")).unwrap();
        fs::create_dir_all(root.join("other/there")).unwrap();
        std::os::unix::fs::symlink("data", root.join("link")).unwrap();
        let source = Path::new("/source");
        let mounts = [
            Mount::new(source, root.join("data/new/deep")),
            Mount::new(source, root.join("other/there")).read_only(),
        ];
        let mut arguments = Vec::new();
        show_entries(root, &mounts, &mut arguments);
        let bind = |path: PathBuf| Some(["--bind-try".into(), path.into_os_string()]);
        // `data` is a new directory with the entries of `data` on this machine.
        let dir = arguments.windows(2).find(|words| words[0] == "--dir");
        assert_eq!(dir.unwrap()[1], root.join("data"));
        assert_eq!(shown(&arguments, &root.join("data/old")), bind(root.join("data/old")));
        // The mount point in `other` exists.
        assert_eq!(shown(&arguments, &root.join("other")), bind(root.join("other")));
        assert_eq!(
            shown(&arguments, &root.join("link")),
            Some(["--symlink".into(), "data".into()])
        );
        let arguments = root_arguments(&mounts);
        let option = |at: &str| shown(&arguments, &root.join(at)).unwrap()[0].clone();
        assert_eq!(option("data/new/deep"), "--bind");
        assert_eq!(option("other/there"), "--ro-bind");
    }
}
