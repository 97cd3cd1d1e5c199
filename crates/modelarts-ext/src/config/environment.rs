//! The environment of a program: variables, and the directories of configuration files.

use std::{fmt, path::PathBuf, sync::Arc};

type Variable = dyn Fn(&str) -> Option<String> + Send + Sync;

/// The surroundings of a program: its variables and the directories in which
/// settings are looked for.
///
/// [`Environment::of_process`] is the real one. Another is put together for tests,
/// or for a program that serves several users.
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
    /// The variables, the home directory and the current directory of the process,
    /// and `/etc`.
    pub fn of_process() -> Self {
        let variable = |name: &str| {
            // A value that is no text counts as set, and is rejected later.
            std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
        };
        Self {
            variable: Arc::new(variable),
            home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
            directory: std::env::current_dir().ok(),
            system: Some(PathBuf::from("/etc")),
        }
    }

    /// An environment with these variables, in which no file is looked for unless a
    /// variable names it.
    pub fn new(variable: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self {
            variable: Arc::new(variable),
            home: None,
            directory: None,
            system: None,
        }
    }

    /// The home directory: `.huaweicloud/credentials`, `.huaweicloud/regions.yaml` and
    /// `.config/openstack/clouds.yaml` are looked for in it.
    pub fn home(mut self, path: impl Into<PathBuf>) -> Self {
        self.home = Some(path.into());
        self
    }

    /// The current directory: `clouds.yaml` is looked for in it.
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.directory = Some(path.into());
        self
    }

    /// The directory that replaces `/etc`: `openstack/clouds.yaml` is looked for in it.
    pub fn system(mut self, path: impl Into<PathBuf>) -> Self {
        self.system = Some(path.into());
        self
    }

    /// The value of a variable that is set and not empty.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        self.get(name)
    }

    pub(crate) fn get(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    /// The first of these variables that is set, and its name.
    pub(crate) fn first(&self, names: &[&'static str]) -> Option<(&'static str, String)> {
        names.iter().find_map(|name| Some((*name, self.get(name)?)))
    }

    /// The value of the first of these variables that is set.
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
    // Variables hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("home", &self.home)
            .field("directory", &self.directory)
            .field("system", &self.system)
            .finish_non_exhaustive()
    }
}
