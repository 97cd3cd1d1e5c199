//! File with the settings of a client, which a shell reads with `. FILE`.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

/// File with lines `export NAME='value'`. Only the current user can read the file.
#[derive(Debug)]
pub(crate) struct EnvFile {
    path: PathBuf,
    /// New content, which replaces the file when it is complete. Its mode is 0600.
    file: NamedTempFile,
}

impl EnvFile {
    /// Checks `path` by creating a temporary file beside it. An existing file is unchanged.
    pub(crate) fn create(path: PathBuf) -> Result<Self, String> {
        let failed = |error: &io::Error| failure(&path, error);
        if path.file_name().is_none() || path.exists() && !path.is_file() {
            let error = io::Error::other("it must name a file, and is a directory or a device");
            return Err(failed(&error));
        }
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let file =
            tempfile::Builder::new().prefix(".env-").tempfile_in(directory).map_err(|error| {
                match error.kind() {
                    // The message of the library names the temporary file.
                    io::ErrorKind::NotFound => {
                        failed(&io::Error::other("its directory must exist"))
                    }
                    kind => failed(&kind.into()),
                }
            })?;
        Ok(Self { path, file })
    }

    /// Writes the variables. Readers see either the whole old file or the whole new one.
    pub(crate) fn write(mut self, variables: &[(&str, String)]) -> Result<(), String> {
        let lines = variables
            .iter()
            .map(|(name, value)| format!("export {name}='{}'\n", value.replace('\'', r"'\''")));
        let written = self.file.write_all(lines.collect::<String>().as_bytes());
        written.map_err(|error| failure(&self.path, &error))?;
        let replaced = self.file.persist(&self.path);
        replaced.map_err(|error| failure(&self.path, &error.error))?;
        Ok(())
    }
}

fn failure(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    format!("cannot write the variables of --env-file to {path}: {error}")
}
