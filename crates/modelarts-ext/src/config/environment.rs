//! Environment of a program: environment variables and configuration files.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::error::Error;

type Variable = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Environment of a program: environment variables, and directories with configuration files.
///
/// Tests, and programs that serve several users, can replace the environment of the process.
///
/// ```
/// use modelarts_ext::{Client, config::Environment};
///
/// let environment = Environment::new(|name| match name {
///     "HUAWEICLOUD_SDK_AK" => Some("access key".to_owned()),
///     _ => None,
/// });
/// let error = Client::builder().environment(environment).region("eu-de").build().unwrap_err();
/// assert_eq!(error.to_string(), "HUAWEICLOUD_SDK_AK is set but HUAWEICLOUD_SDK_SK is not");
/// ```
#[derive(Clone)]
#[must_use]
pub struct Environment {
    variable: Arc<Variable>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) system: Option<PathBuf>,
}

impl Environment {
    /// Returns the environment of the process: variables, home and current directories, and `/etc`.
    pub fn of_process() -> Self {
        let variable = |name: &str| {
            // A value that is not valid Unicode counts as set, and is rejected later.
            std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
        };
        Self {
            home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
            directory: std::env::current_dir().ok(),
            system: Some(PathBuf::from("/etc")),
            ..Self::new(variable)
        }
    }

    /// Creates an environment with these variables, and only the files that the variables name.
    pub fn new(variable: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self { variable: Arc::new(variable), home: None, directory: None, system: None }
    }

    /// Replaces the variables, and keeps the directories.
    #[cfg(feature = "contexts")]
    pub(crate) fn with_variables(
        self,
        variable: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self { variable: Arc::new(variable), ..self }
    }

    /// Sets the home directory, in which the client searches for `.huaweicloud/credentials`,
    /// `.huaweicloud/regions.yaml` and `.config/openstack/clouds.yaml`.
    pub fn home(mut self, path: impl Into<PathBuf>) -> Self {
        self.home = Some(path.into());
        self
    }

    /// Sets the current directory, in which the client searches for `clouds.yaml`.
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.directory = Some(path.into());
        self
    }

    /// Sets the directory that is searched for `openstack/clouds.yaml` instead of `/etc`.
    pub fn system(mut self, path: impl Into<PathBuf>) -> Self {
        self.system = Some(path.into());
        self
    }

    /// Returns the value of a variable. Returns `None` if the variable is not set, or is empty.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    pub(crate) fn first(&self, names: &[&'static str]) -> Option<(&'static str, String)> {
        names.iter().find_map(|name| Some((*name, self.variable(name)?)))
    }

    pub(crate) fn value(&self, names: &[&'static str]) -> Option<String> {
        self.first(names).map(|(_, value)| value)
    }

    /// Reads the file that `variable` names, which must exist, or the first existing of `usual`.
    pub(crate) fn find_file(
        &self,
        variable: &str,
        usual: &[PathBuf],
    ) -> Result<Option<(PathBuf, String)>, Error> {
        if let Some(path) = self.variable(variable).map(PathBuf::from) {
            let text = read_text(&path)?.ok_or_else(|| {
                let path = path.display();
                Error::config(format!("{variable} names {path}, which does not exist"))
            })?;
            return Ok(Some((path, text)));
        }
        for path in usual {
            if let Some(text) = read_text(path)? {
                return Ok(Some((path.clone(), text)));
            }
        }
        Ok(None)
    }
}

impl Default for Environment {
    fn default() -> Self {
        Self::of_process()
    }
}

impl fmt::Debug for Environment {
    // Variables are not printed, because they may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("home", &self.home)
            .field("directory", &self.directory)
            .field("system", &self.system)
            .finish_non_exhaustive()
    }
}

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

#[cfg(not(unix))]
pub(crate) fn warn_if_open(_: &Path) {}

/// Parses YAML. Error messages do not contain values, because values may be secrets.
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
        // A message with quotation marks contains a value.
        let message = if message.contains(['"', '`', '\'']) {
            "a value of another kind is expected"
        } else {
            message
        };
        Error::config(format!("{}{place}: {message}", path.display()))
    })
}
