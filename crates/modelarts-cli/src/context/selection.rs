//! `Selection`: the context that a command uses, and the environment of its client.

use std::{cell::OnceCell, collections::BTreeMap, env, fs, io, path::Path};

use modelarts_ext::config::Environment;

use crate::{
    context::file::{ConfigFile, Context},
    failure::Failure,
};

/// File in an emulator's data directory with the environment variables of a client; mode 0600.
pub(crate) const CONNECTION_FILE: &str = "connection.json";
pub(crate) const CONTEXT_VARIABLE: &str = "MODELARTS_CONTEXT";
/// Variables with endpoints, region and project, which must all come from the same source.
const ADDRESSES: &[&str] = &[
    "MODELARTS_ENDPOINT",
    "MODELARTS_REGION",
    "MODELARTS_OBS_ENDPOINT",
    "HUAWEICLOUD_SDK_IAM_ENDPOINT",
    "HUAWEICLOUD_SDK_PROJECT_ID",
    "HW_PROJECT_ID",
    "OS_PROJECT_ID",
];

/// The context that a command uses: the context of `--context`, otherwise of `MODELARTS_CONTEXT`,
/// otherwise the current context of the file.
pub(crate) struct Selection {
    requested: Option<String>,
    found: OnceCell<(Option<String>, Context)>,
}

impl Selection {
    pub(crate) fn new(requested: Option<String>) -> Self {
        Self { requested: requested.filter(|name| !name.is_empty()), found: OnceCell::new() }
    }

    /// Returns the name in `--context` or in its variable. The context may not exist.
    pub(crate) fn requested(&self) -> Option<&str> {
        self.requested.as_deref()
    }

    /// Returns the name of the selected context; `None` if no context is selected.
    pub(crate) fn name(&self) -> Result<Option<&str>, Failure> {
        Ok(self.find()?.0.as_deref())
    }

    /// Returns the selected context; an empty context if none is selected.
    pub(crate) fn context(&self) -> Result<&Context, Failure> {
        Ok(&self.find()?.1)
    }

    fn find(&self) -> Result<&(Option<String>, Context), Failure> {
        if let Some(found) = self.found.get() {
            return Ok(found);
        }
        let path = ConfigFile::path()?;
        let file = ConfigFile::read(&path)?;
        let name = self.requested.clone().or(file.current.clone());
        let context = match &name {
            None => Context::default(),
            Some(name) => file.context(&path, name)?.clone(),
        };
        Ok(self.found.get_or_init(|| (name, context)))
    }

    /// Returns the environment of the client: the variables of the context take precedence over
    /// those of the process. For an emulator, the process adds only its cache directory, so that no
    /// keys of a cloud are used. If the endpoints differ, [`ADDRESSES`] of the process are hidden.
    pub(crate) fn environment(&self) -> Result<Environment, Failure> {
        let is_elsewhere = self.difference()?.is_some_and(|found| found.is_of_endpoint());
        self.environment_without(if is_elsewhere { ADDRESSES } else { &[] })
    }

    /// Returns the environment of the client without the [`ADDRESSES`] of the process.
    pub(super) fn own(&self) -> Result<Environment, Failure> {
        self.environment_without(ADDRESSES)
    }

    fn environment_without(&self, hidden: &'static [&str]) -> Result<Environment, Failure> {
        let context = self.context()?;
        let Some(directory) = &context.data_dir else {
            let set = context.variables();
            let process = Environment::of_process();
            let variable = move |name: &str| match set.get(name) {
                Some(value) => Some(value.clone()),
                None if hidden.contains(&name) => None,
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
        let mut variables = self.connection(directory)?;
        let set = context.variables();
        variables.extend(set.into_iter().map(|(name, value)| (name.to_owned(), value)));
        let cache = env::var("MODELARTS_CACHE_DIR").ok();
        variables.extend(cache.map(|value| ("MODELARTS_CACHE_DIR".to_owned(), value)));
        Ok(Environment::new(move |name| variables.get(name).cloned()))
    }

    fn connection(&self, directory: &Path) -> Result<BTreeMap<String, String>, Failure> {
        let name = self.name()?.unwrap_or_default();
        connection(directory)?.ok_or_else(|| {
            Failure::usage(format_args!(
                "the emulator of the context {name} is not running; {}",
                start(name, directory)
            ))
        })
    }

    /// Returns advice for a failed connection; `None` unless the context is that of an emulator.
    pub(crate) fn emulator_advice(&self) -> Option<String> {
        let (name, context) = self.find().ok()?;
        let name = name.as_deref().unwrap_or_default();
        let start = start(name, context.data_dir.as_deref()?);
        Some(format!("the emulator of the context {name} does not respond; {start}"))
    }
}

/// Returns a clause with the command that starts the emulator of a context.
fn start(name: &str, directory: &Path) -> String {
    let directory = directory.display();
    format!("start it with `modelarts dev --name {name} --data-dir {directory}`")
}

/// Reads the environment variables of a client of the emulator in a data directory. Returns `None`
/// if the file does not exist, because the emulator is not running.
pub(crate) fn connection(directory: &Path) -> Result<Option<BTreeMap<String, String>>, Failure> {
    let path = directory.join(CONNECTION_FILE);
    let place = path.display();
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::usage(format_args!("cannot read {place}: {error}"))),
    };
    // The message of the parser could quote a key, so only the line is reported.
    let parsed = serde_json::from_str(&text);
    parsed.map(Some).map_err(|error| {
        let line = error.line();
        Failure::usage(format_args!(
            "{place}, line {line}: it must be a JSON object with texts; delete the file, and start \
             `modelarts dev` again"
        ))
    })
}
