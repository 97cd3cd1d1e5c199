//! `Document`: a result that is not a list.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    failure::Failure,
    output::{Format, Output, Stdout},
};

/// A result that is not a list, such as a job with its details.
pub(crate) trait Document: Serialize + JsonSchema {
    /// Returns the text for people, without a line break at its end. `width` is that of the
    /// terminal.
    fn text(&self, wide: bool, width: Option<u16>) -> String;

    /// Returns the id; `None` for documents without one.
    fn id(&self) -> Option<&str> {
        None
    }
}

impl Output {
    /// Prints a document.
    pub(crate) fn document(&self, document: &impl Document) -> Result<(), Failure> {
        let mut stdout = Stdout::lock();
        match self.format {
            Format::Table | Format::Wide => {
                let wide = self.format == Format::Wide;
                stdout.line(&document.text(wide, self.terminal.width()))?;
            }
            Format::Id => match document.id() {
                Some(id) => stdout.line(id)?,
                None => return Err(no_id()),
            },
            Format::Json | Format::Ndjson | Format::Yaml => {
                self.print_json(&mut stdout, document)?;
            }
        }
        stdout.flush()
    }

    /// Prints a document on one line, for a program that waits for it: JSON is not indented, and
    /// there is no text for people.
    pub(crate) fn document_line(&self, document: &impl Document) -> Result<(), Failure> {
        let mut stdout = Stdout::lock();
        match self.format {
            Format::Table | Format::Wide => {}
            Format::Json if self.filter.is_none() => {
                stdout.line(&crate::output::to_line(document)?)?;
            }
            Format::Id => return Err(no_id()),
            _ => self.print_json(&mut stdout, document)?,
        }
        stdout.flush()
    }

    /// Prints ids for the format `id`. Fails at the first row without one.
    pub(crate) fn ids<'a>(
        &self,
        mut ids: impl Iterator<Item = Option<&'a str>>,
    ) -> Result<(), Failure> {
        let mut stdout = Stdout::lock();
        ids.try_for_each(|id| stdout.line(id.ok_or_else(no_id)?))?;
        stdout.flush()
    }
}

/// Returns the error of `-o id` for results without ids.
pub(super) fn no_id() -> Failure {
    Failure::usage("--output id: the result has no id; the format must be another")
}
