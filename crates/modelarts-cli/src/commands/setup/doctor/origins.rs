//! `Origins`: the names of settings in messages.

use crate::{failure::Failure, session::Session};

/// Names of settings in messages.
pub(super) struct Origins {
    /// Variables that the context sets.
    variables: Vec<&'static str>,
    context: String,
    pub(super) is_emulator: bool,
}

impl Origins {
    pub(super) fn new(session: &Session) -> Result<Self, Failure> {
        let context = session.selection.context()?;
        Ok(Self {
            variables: context.variables().into_keys().collect(),
            context: session.selection.name()?.unwrap_or_default().to_owned(),
            is_emulator: context.data_dir.is_some(),
        })
    }

    /// Returns the context instead of the variable that it sets.
    pub(super) fn place(&self, origin: &str) -> String {
        match self.is_emulator || self.variables.contains(&origin) {
            true => format!("the context {}", self.context),
            false => origin.to_owned(),
        }
    }
}
