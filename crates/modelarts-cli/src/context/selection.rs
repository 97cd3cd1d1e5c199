//! `Selection`: the context that a command uses, and the environment of its client.

use std::{cell::OnceCell, collections::BTreeMap, env, fs, path::PathBuf};

use modelarts_ext::config::Environment;

use crate::{
    context::file::{ConfigFile, Context},
    failure::Failure,
};

/// File in the data directory of an emulator with the variables of its client; mode 0600.
pub(crate) const CONNECTION_FILE: &str = "connection.json";
/// Variable with the name of the context.
pub(crate) const CONTEXT_VARIABLE: &str = "MODELARTS_CONTEXT";

/// The context that a command uses: that of `--context`, else of `MODELARTS_CONTEXT`, else the
/// current one of the file.
pub(crate) struct Selection {
    /// Value of `--context` or of its variable.
    requested: Option<String>,
    found: OnceCell<(Option<String>, Context)>,
}

impl Selection {
    pub(crate) fn new(requested: Option<String>) -> Self {
        Self {
            requested,
            found: OnceCell::new(),
        }
    }

    /// Returns the name of the context; `None` if none is selected.
    pub(crate) fn name(&self) -> Result<Option<&str>, Failure> {
        Ok(self.find()?.0.as_deref())
    }

    /// Returns the context; an empty one if none is selected.
    pub(crate) fn context(&self) -> Result<&Context, Failure> {
        Ok(&self.find()?.1)
    }

    fn find(&self) -> Result<&(Option<String>, Context), Failure> {
        if let Some(found) = self.found.get() {
            return Ok(found);
        }
        let path = ConfigFile::path()?;
        let file = ConfigFile::read(&path)?;
        let name = self.requested.clone().or(file.current);
        let context = match &name {
            None => Context::default(),
            Some(name) => file.contexts.get(name).cloned().ok_or_else(|| {
                let known: Vec<&str> = file.contexts.keys().map(String::as_str).collect();
                Failure::usage(format_args!(
                    "no context is named {name:?} in {}; it must be one of: {}",
                    path.display(),
                    known.join(", ")
                ))
            })?,
        };
        Ok(self.found.get_or_init(|| (name, context)))
    }

    /// Returns the environment of the client: the variables that the context sets, then those of
    /// the process. The context of an emulator has all variables, so that keys of a cloud are never
    /// sent to it.
    pub(crate) fn environment(&self) -> Result<Environment, Failure> {
        let context = self.context()?;
        let Some(directory) = &context.data_dir else {
            let set = context.variables();
            let process = Environment::of_process();
            let variable = move |name: &str| match set.get(name) {
                Some(value) => Some(value.clone()),
                None => process.variable(name),
            };
            let mut environment = Environment::new(variable).system("/etc");
            if let Some(home) = env::home_dir().filter(|home| !home.as_os_str().is_empty()) {
                environment = environment.home(home);
            }
            if let Ok(directory) = env::current_dir() {
                environment = environment.directory(directory);
            }
            return Ok(environment);
        };
        let mut variables = self.connection(&directory.join(CONNECTION_FILE))?;
        let set = context.variables();
        variables.extend(
            set.into_iter()
                .map(|(name, value)| (name.to_owned(), value)),
        );
        let cache = env::var("MODELARTS_CACHE_DIR").ok();
        variables.extend(cache.map(|value| ("MODELARTS_CACHE_DIR".to_owned(), value)));
        Ok(Environment::new(move |name| variables.get(name).cloned()))
    }

    /// Reads the variables of the client of an emulator.
    fn connection(&self, path: &PathBuf) -> Result<BTreeMap<String, String>, Failure> {
        let place = path.display();
        let name = self.name()?.unwrap_or_default();
        let text = fs::read_to_string(path).map_err(|error| {
            Failure::usage(format_args!(
                "the emulator of the context {name} has never run: {place}: {error}; start it with \
                 `modelarts dev`"
            ))
        })?;
        serde_json::from_str(&text)
            .map_err(|error| Failure::usage(format_args!("{place}: {error}; delete the file")))
    }
}
