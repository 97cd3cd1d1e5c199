//! Places of code, data and outputs: addresses in OBS, and paths of this machine.

use std::{fs, path::Path};

use modelarts_ext::spelling::nearest;

use crate::failure::Failure;

/// Returns `true` if the text is an address in OBS.
pub(crate) fn is_address(text: &str) -> bool {
    text.starts_with("obs://")
}

pub(super) fn below(directory: &str, file: &str) -> String {
    match is_address(file) {
        true => file.to_owned(),
        false => format!("{}/{file}", directory.trim_end_matches('/')),
    }
}

/// Returns the relative path of a file, with slashes; `None` if `directory` does not contain it.
pub(crate) fn path_below(file: &Path, directory: &Path) -> Option<String> {
    let file = fs::canonicalize(file).ok()?;
    let directory = fs::canonicalize(directory).ok()?;
    let below = file.strip_prefix(directory).ok()?;
    let steps: Option<Vec<&str>> = below.iter().map(|step| step.to_str()).collect();
    Some(steps?.join("/"))
}

pub(super) fn require_directory(path: &Path, flag: &str) -> Result<(), Failure> {
    if path.is_dir() {
        return Ok(());
    }
    match path.exists() {
        true => Err(Failure::usage(format_args!(
            "{flag} {}: it must be a directory, and is a file",
            path.display()
        ))),
        false => Err(no_such_file(flag, path, Path::is_dir)),
    }
}

/// Returns the failure for a missing file, with the most similar name in its directory.
pub(crate) fn no_such_file(subject: &str, path: &Path, fits: impl Fn(&Path) -> bool) -> Failure {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let names = entries.filter(|entry| fits(&entry.path()));
    let names: Vec<String> = names.filter_map(|it| it.file_name().into_string().ok()).collect();
    let wanted = path.file_name().unwrap_or_default().to_string_lossy();
    let advice = match nearest(&wanted, names.iter().map(String::as_str)) {
        None => "check the path".to_owned(),
        Some(near) => format!("did you mean {}?", path.with_file_name(near).display()),
    };
    Failure::usage(format_args!("{subject} {} does not exist; {advice}", path.display()))
}
