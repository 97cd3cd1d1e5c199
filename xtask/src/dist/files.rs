//! Files that a release contains from the repository.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::{markdown, workspace};

/// The folder of the description. Its files have the same names in a release.
const DESCRIPTION: &str = "openapi";

/// Parts of the folder that only the repository uses.
const LEFT_OUT: [&str; 1] = ["lint"];

/// Files of a release that are outside the folder.
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Copies the files of the repository that are part of a release.
pub fn copy(root: &Path, release: &Path) -> Result<()> {
    for file in committed(root)? {
        copy_file(&root.join(DESCRIPTION).join(&file), &release.join(&file))?;
    }
    for licence in LICENCES {
        copy_file(&root.join(licence), &release.join(licence))?;
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.with_file_name(""))?;
    fs::copy(from, to).with_context(|| from.display().to_string())?;
    Ok(())
}

/// Returns the tracked files of the folder that are part of a release. Untracked files, such as
/// generated clients and packages of npm and pip, are not.
fn committed(root: &Path) -> Result<Vec<PathBuf>> {
    let names = workspace::files(&root.join(DESCRIPTION), &[])?;
    let names = names.into_iter().map(PathBuf::from);
    Ok(names.filter(|name| is_released(name)).collect())
}

fn is_released(name: &Path) -> bool {
    let first = name.iter().next().and_then(OsStr::to_str);
    !first.is_some_and(|first| LEFT_OUT.contains(&first))
}

/// Returns an error if a released document links to a file that the release does not contain.
pub fn links_hold(release: &Path) -> Result<()> {
    for document in all(release)? {
        if document.extension() != Some(OsStr::new("md")) {
            continue;
        }
        let text = fs::read_to_string(release.join(&document))?;
        let folder = release.join(&document).with_file_name("");
        for file in markdown::linked_files(&text) {
            if !folder.join(file).exists() {
                bail!("{} links to {file}, which the release lacks", document.display());
            }
        }
    }
    Ok(())
}

/// Returns the files of a folder at any depth, relative to it and in the order of their names.
pub fn all(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inner) = open.pop() {
        for entry in fs::read_dir(folder.join(&inner))? {
            let entry = entry?;
            let name = inner.join(entry.file_name());
            match entry.file_type()?.is_dir() {
                true => open.push(name),
                false => files.push(name),
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn a_release_has_the_committed_files_but_those_of_the_checks() {
        let files = committed(&workspace::root()).unwrap();
        for name in ["modelarts.yaml", "causes.yaml", "README.md", "clients/python/sign.py"] {
            assert!(files.contains(&PathBuf::from(name)), "{name}");
        }
        assert!(files.iter().all(|file| !file.starts_with("lint")));
        assert!(!is_released(Path::new("lint/package.json")));
        assert!(is_released(Path::new("clients/lint")));
    }

    #[test]
    fn a_link_to_what_is_not_there_is_refused() {
        let release = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let file = release.path().join(name);
            fs::create_dir_all(file.with_file_name("")).unwrap();
            fs::write(file, text).unwrap();
        };
        write("README.md", "[a](docs/a.md), [b](https://example.com/b)");
        write("docs/a.md", "[up](../README.md#top), [folder](../docs)");
        links_hold(release.path()).unwrap();
        write("docs/b.md", "[c](c.md)");
        assert_eq!(
            links_hold(release.path()).unwrap_err().to_string(),
            "docs/b.md links to c.md, which the release lacks"
        );
    }
}
