//! Configuration files: reading, permissions, YAML.

use std::{fs, io, path::Path};

use crate::error::Error;

/// The text of a file; `None` if there is no such file.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, Error> {
    match fs::read(path) {
        Ok(bytes) => match String::from_utf8(bytes) {
            // Some editors on Windows write a byte order mark.
            Ok(text) => Ok(Some(text.trim_start_matches('\u{feff}').to_owned())),
            Err(_) => Err(Error::config(format!("{}: not UTF-8", path.display()))),
        },
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(Error::config(format!("{}: {error}", path.display())).with_source(error)),
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

/// Does nothing: only permissions of Unix are checked.
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
        // The message repeats the location.
        let message = message.split(" at line ").next().unwrap_or_default();
        let message = message
            .split(", set DuplicateKeyPolicy")
            .next()
            .unwrap_or_default();
        // Values are in quotes, if the message shows them.
        let message = if message.contains(['"', '`', '\'']) {
            "a value of another kind is expected"
        } else {
            message
        };
        Error::config(format!("{}{place}: {message}", path.display()))
    })
}
