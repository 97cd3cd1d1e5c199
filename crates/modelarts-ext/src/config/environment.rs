//! Environment of a program: variables, and the directories of configuration files.

use std::{fmt, path::PathBuf, sync::Arc};

type Variable = dyn Fn(&str) -> Option<String> + Send + Sync;

/// The environment of a program: its variables and the directories of configuration files.
///
/// [`Environment::of_process`] returns the environment of the process. Tests, and programs that
/// serve several users, can compose others.
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
    /// Returns the environment of the process: its variables, home directory, current directory,
    /// and `/etc`.
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

    /// Creates an environment with these variables, in which only files named by variables are
    /// read.
    pub fn new(variable: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self { variable: Arc::new(variable), home: None, directory: None, system: None }
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

    /// Sets the directory that replaces `/etc`, in which the client searches for
    /// `openstack/clouds.yaml`.
    pub fn system(mut self, path: impl Into<PathBuf>) -> Self {
        self.system = Some(path.into());
        self
    }

    /// Returns the value of a variable, if it is set and not empty.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    /// Returns the name and the value of the first of these variables that is set.
    pub(crate) fn first(&self, names: &[&'static str]) -> Option<(&'static str, String)> {
        names.iter().find_map(|name| Some((*name, self.variable(name)?)))
    }

    /// Returns the value of the first of these variables that is set.
    pub(crate) fn value(&self, names: &[&'static str]) -> Option<String> {
        self.first(names).map(|(_, value)| value)
    }
}

impl Default for Environment {
    fn default() -> Self {
        Self::of_process()
    }
}

impl fmt::Debug for Environment {
    // Variables hold secrets and are not printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("home", &self.home)
            .field("directory", &self.directory)
            .field("system", &self.system)
            .finish_non_exhaustive()
    }
}
