//! Configuration files: reading, permissions, YAML.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{config::environment::Environment, error::Error};

/// Reads the file that `variable` names, which must exist, else the first of the usual files that
/// exists. Returns its path and its text.
pub(crate) fn find(
    environment: &Environment,
    variable: &str,
    usual: &[PathBuf],
) -> Result<Option<(PathBuf, String)>, Error> {
    if let Some(path) = environment.variable(variable).map(PathBuf::from) {
        let missing = || {
            let path = path.display();
            Error::config(format!("{variable} names {path}, which does not exist"))
        };
        let text = read_text(&path)?.ok_or_else(missing)?;
        return Ok(Some((path, text)));
    }
    for path in usual {
        if let Some(text) = read_text(path)? {
            return Ok(Some((path.clone(), text)));
        }
    }
    Ok(None)
}

/// Returns the text of a file, or `None` if the file does not exist.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, Error> {
    let place = path.display();
    match fs::read_to_string(path) {
        // Some editors on Windows write a byte order mark.
        Ok(text) => Ok(Some(text.trim_start_matches('\u{feff}').to_owned())),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
            io::ErrorKind::InvalidData => Err(Error::config(format!("{place}: not UTF-8"))),
            _ => Err(Error::config(format!("{place}: {error}")).with_source(error)),
        },
    }
}

/// Logs a warning if other users can read a file that holds secrets.
#[cfg(unix)]
pub(crate) fn warn_if_open(path: &Path) {
    use std::os::unix::fs::PermissionsExt;

    let Ok(metadata) = fs::metadata(path) else {
        return;
    };
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let path = path.display();
        tracing::warn!(
            "{path} holds secrets and others can use it (mode {mode:03o}); run: chmod 600 {path}"
        );
    }
}

/// Does nothing, because only Unix permissions are checked.
#[cfg(not(unix))]
pub(crate) fn warn_if_open(_: &Path) {}

/// Parses YAML. Errors do not show values, which may be secrets.
pub(crate) fn parse_yaml<T: serde::de::DeserializeOwned>(
    path: &Path,
    text: &str,
) -> Result<T, Error> {
    serde_saphyr::from_str(text).map_err(|error| {
        let place = error.location().map_or_else(String::new, |place| {
            format!(", line {}, column {}", place.line(), place.column())
        });
        let message = error.without_snippet().to_string();
        // The message of the parser repeats the location.
        let message = message.split(" at line ").next().unwrap_or_default();
        let end = message.find(", set DuplicateKeyPolicy");
        let message = &message[..end.unwrap_or(message.len())];
        // The parser quotes the values that its message shows.
        let message = if message.contains(['"', '`', '\'']) {
            "a value of another kind is expected"
        } else {
            message
        };
        Error::config(format!("{}{place}: {message}", path.display()))
    })
}
