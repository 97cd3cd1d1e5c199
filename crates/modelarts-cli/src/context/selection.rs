//! `Selection`: the context that a command uses, and the environment of its client.

use std::cell::OnceCell;

use modelarts_ext::{
    ErrorKind,
    client::contexts::{CONNECTION_FILE, Context, Contexts, start_advice},
    config::Environment,
};

use crate::failure::Failure;

pub(crate) const CONTEXT_VARIABLE: &str = "MODELARTS_CONTEXT";
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
        let path = Contexts::path().map_err(Failure::usage)?;
        let file = Contexts::read(&path).map_err(Failure::usage)?;
        let name = self.requested.clone().or(file.current.clone());
        let context = match &name {
            None => Context::default(),
            Some(name) => file.get(&path, name).map_err(Failure::usage)?.clone(),
        };
        Ok(self.found.get_or_init(|| (name, context)))
    }

    /// Returns the environment of the client: that of the process, unless a context is selected.
    pub(crate) fn environment(&self) -> Result<Environment, Failure> {
        let Some(name) = self.name()? else {
            return Ok(Environment::of_process());
        };
        self.context()?.environment(name).map_err(Failure::usage)
    }

    /// Returns the environment of the client without endpoints, region and project of the process.
    pub(super) fn own(&self) -> Result<Environment, Failure> {
        let name = self.name()?.unwrap_or_default();
        self.context()?.own_environment(name).map_err(Failure::usage)
    }

    /// Returns advice on emulators for a kind of error.
    pub(crate) fn advice(&self, kind: ErrorKind) -> Option<String> {
        match kind {
            ErrorKind::Connection => self.emulator_advice(),
            ErrorKind::Config => self.dev_advice(),
            _ => None,
        }
    }

    /// Returns advice for missing settings; `None` if a context is selected, or no emulator runs.
    fn dev_advice(&self) -> Option<String> {
        let path = Contexts::path().ok()?;
        let file = Contexts::read(&path).ok()?;
        let (None, None) = (&self.requested, &file.current) else {
            return None;
        };
        let runs = |context: &Context| {
            let directory = context.data_dir.as_deref();
            directory.is_some_and(|directory| directory.join(CONNECTION_FILE).is_file())
        };
        let (name, _) = file.contexts.iter().find(|(_, context)| runs(context))?;
        Some(format!(
            "the emulator of the context {name} runs; --context {name} selects it for one command, \
             and `modelarts context use {name}` for all"
        ))
    }

    /// Returns advice for a failed connection; `None` unless the context is that of an emulator.
    fn emulator_advice(&self) -> Option<String> {
        let (name, context) = self.find().ok()?;
        let name = name.as_deref().unwrap_or_default();
        let start = start_advice(name, context.data_dir.as_deref()?);
        Some(format!("the emulator of the context {name} does not respond; {start}"))
    }
}
