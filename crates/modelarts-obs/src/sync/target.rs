//! Local files to which objects are downloaded.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use modelarts_ext::Error;

use crate::{address::invalid, error};

/// Returns the path of the file with this name, and creates its parent directories. The name has
/// slashes as separators, and `root` is canonical. Blocks.
pub(crate) fn file(root: &Path, name: &str) -> Result<PathBuf, Error> {
    let (parent, last) = name.rsplit_once('/').unwrap_or(("", name));
    check_name(root, name)?;
    let path = directory(root, parent)?.join(last);
    if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
        return Err(invalid(format!(
            "the object {name} cannot be written, because {} is a directory",
            path.display()
        ))
        .with_advice(Some("remove it, or choose another directory".to_owned())));
    }
    Ok(path)
}

/// Creates the directory with this name and its parents. Returns an error for a link that leads out
/// of the root. Blocks.
pub(crate) fn directory(root: &Path, name: &str) -> Result<PathBuf, Error> {
    check_name(root, name)?;
    let mut path = root.to_owned();
    for step in name.split('/').filter(|step| !step.is_empty()) {
        path.push(step);
        let failed = |failure: &io::Error| error::local("writing", &path, failure);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(metadata) if metadata.is_symlink() => {
                let real = fs::canonicalize(&path).map_err(|failure| failed(&failure))?;
                if !real.starts_with(root) {
                    return Err(invalid(format!(
                        "the link {} leads to {}, outside of {}, so nothing is written through it",
                        path.display(),
                        real.display(),
                        root.display()
                    ))
                    .with_advice(Some("remove the link, or choose another directory".to_owned())));
                }
                if !real.is_dir() {
                    return Err(in_the_way(&path, name));
                }
            }
            Ok(_) => return Err(in_the_way(&path, name)),
            Err(failure) if failure.kind() == io::ErrorKind::NotFound => {
                match fs::create_dir(&path) {
                    Err(failure) if failure.kind() != io::ErrorKind::AlreadyExists => {
                        return Err(failed(&failure));
                    }
                    _ => {}
                }
            }
            Err(failure) => return Err(failed(&failure)),
        }
    }
    Ok(path)
}

/// Identity of a file, which is the same for all paths to the file.
#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(not(unix))]
type Identity = PathBuf;

/// Returns the identity of a file, or `None` if its metadata cannot be read. Blocks.
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let metadata = fs::symlink_metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    fs::canonicalize(path).ok()
}

fn in_the_way(path: &Path, name: &str) -> Error {
    let path = path.display();
    invalid(format!("the directory {name} needs {path}, which is a file"))
        .with_advice(Some("remove it, or choose another directory".to_owned()))
}

/// Returns an error if a segment of a name is not a valid file name on this system.
pub(crate) fn check_name(root: &Path, name: &str) -> Result<(), Error> {
    let steps = name.split('/').filter(|step| !step.is_empty());
    let is_name = |step: &str| {
        let mut components = Path::new(step).components();
        let first = matches!(components.next(), Some(Component::Normal(name)) if name == step);
        let is_special = cfg!(windows) && step.contains(['<', '>', ':', '"', '\\', '|', '?', '*']);
        first && components.next().is_none() && !is_special && !step.contains('\0')
    };
    match steps.into_iter().find(|step| !is_name(step)) {
        None => Ok(()),
        Some(step) => Err(invalid(format!(
            "the object {name} cannot be a file in {}: {step:?} must be the name of a file",
            root.display()
        ))
        .with_advice(Some("rename the object".to_owned()))),
    }
}

/// Deletes a file, and its parent directories below the root that are empty afterwards. Blocks.
pub(crate) fn delete_file(root: &Path, name: &str) -> Result<(), Error> {
    let path = root.join(name);
    match fs::remove_file(&path) {
        Err(failure) if failure.kind() != io::ErrorKind::NotFound => {
            return Err(error::local("deleting", &path, &failure));
        }
        _ => {}
    }
    for directory in path.ancestors().skip(1).take_while(|path| *path != root) {
        if fs::remove_dir(directory).is_err() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_out_are_refused() {
        let root = Path::new("/data");
        for name in ["..", "a/../b", "../a", "."] {
            let error = check_name(root, name).unwrap_err().to_string();
            assert!(error.contains("must be the name of a file"), "{error}");
        }
        assert!(check_name(root, "a b+ü%2F/.hidden/c#1").is_ok());
        // On Unix, backslashes and colons are valid characters of a name; on Windows, they are
        // separators.
        assert_eq!(check_name(root, "C:\\a").is_ok(), !cfg!(windows));
        assert_eq!(check_name(root, "C:").is_ok(), !cfg!(windows));
    }
}
