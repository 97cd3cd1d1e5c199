//! Output of the commands: tables and text for people, JSON and YAML with a schema for programs.
//!
//! A command prints a list of rows ([`Row`]) or one document ([`Document`]). Their JSON is an
//! object with the field `schema_version`; within a version, fields are only added. The schemas are
//! in the folder `schemas/` of the package; `schemas` in `commands` lists the types.

mod csv;
mod format;
mod jq;
mod layout;
mod list;
mod stdout;
mod text;

pub(crate) use format::{Format, OUTPUT_VARIABLE, OutputArguments, is_json_requested};
pub(crate) use list::{Column, Row, as_object, until_error};
pub(crate) use modelarts_console::display::{bytes, duration, hardware, obs_address};
pub(crate) use stdout::{Repetitions, Stdout, TaskLines};
pub(crate) use text::{
    age, event_emphasis, local_time, non_empty, one_line, or_dash, phase, wrapped,
};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    failure::Failure,
    output::jq::Filter,
    terminal::{Terminal, folded},
};

/// Version of the JSON documents of all commands.
pub const SCHEMA_VERSION: u32 = 1;

/// Result of a command that is not a list, such as a job with its details.
pub(crate) trait Document: Serialize + JsonSchema {
    /// Returns the text for people, without a line break at the end. `width` is the width of the
    /// terminal.
    fn text(&self, wide: bool, width: Option<u16>) -> String;

    /// Returns `true` if the lines of the text may be folded on a terminal: people read them, and no
    /// shell or program does.
    fn folds(&self) -> bool {
        true
    }

    /// Returns the id of the document; `None` if it has no id.
    fn id(&self) -> Option<&str> {
        None
    }
}

/// Output settings of a command.
pub(crate) struct Output {
    pub(crate) format: Format,
    /// Names of the columns in order; `None` selects the columns of the format.
    columns: Option<Vec<String>>,
    filter: Option<Filter>,
    terminal: Terminal,
}

impl Output {
    pub(crate) fn new(arguments: OutputArguments, terminal: Terminal) -> Result<Self, Failure> {
        let filter = arguments.jq.as_deref().map(Filter::compile).transpose()?;
        Ok(Self { format: arguments.format(), columns: arguments.columns, filter, terminal })
    }

    pub(crate) fn is_text(&self) -> bool {
        matches!(self.format, Format::Table | Format::Wide)
    }

    /// Returns the names of the columns that the user has chosen.
    pub(crate) fn columns(&self) -> &[String] {
        self.columns.as_deref().unwrap_or_default()
    }

    /// Returns `true` if the output has the column with this name, in lower case.
    pub(crate) fn has_column(&self, name: &str) -> bool {
        let is_selected = |columns: &Vec<String>| columns.iter().any(|column| column == name);
        match self.format {
            Format::Id => false,
            Format::Table | Format::Wide => self.columns.as_ref().is_none_or(is_selected),
            _ => true,
        }
    }

    /// Returns the width of the terminal that the text is printed on.
    pub(crate) fn width(&self) -> Option<u16> {
        self.terminal.width()
    }

    /// Returns `true` if the output is text on a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_text() && self.terminal.stdout
    }

    pub(crate) fn document(&self, document: &impl Document) -> Result<(), Failure> {
        let mut stdout = Stdout::lock();
        match self.format {
            Format::Table | Format::Wide => {
                let wide = self.format == Format::Wide;
                let width = self.terminal.width();
                let text = document.text(wide, width);
                stdout.line(&match width.filter(|_| document.folds()) {
                    Some(width) => folded(&text, usize::from(width), "  ".len()),
                    None => text,
                })?;
            }
            Format::Id => match document.id() {
                Some(id) => stdout.line(id)?,
                None => return Err(no_id()),
            },
            Format::Csv => return Err(no_rows()),
            Format::Json | Format::Ndjson | Format::Yaml | Format::Job => {
                self.print_json(&mut stdout, document)?;
            }
        }
        stdout.flush()
    }

    /// Prints a document on one line, for a program that waits for the line. JSON is not indented,
    /// and the formats for people print nothing.
    pub(crate) fn document_line(&self, document: &impl Document) -> Result<(), Failure> {
        let mut stdout = Stdout::lock();
        match self.format {
            Format::Table | Format::Wide => {}
            Format::Json if self.filter.is_none() => {
                stdout.line(&to_line(document)?)?;
            }
            Format::Id => return Err(no_id()),
            Format::Csv => return Err(no_rows()),
            _ => self.print_json(&mut stdout, document)?,
        }
        stdout.flush()
    }

    /// Prints ids for the format `id`. Returns an error at the first row without an id.
    pub(crate) fn ids<'a>(
        &self,
        mut ids: impl Iterator<Item = Option<&'a str>>,
    ) -> Result<(), Failure> {
        let mut stdout = Stdout::lock();
        ids.try_for_each(|id| stdout.line(id.ok_or_else(no_id)?))?;
        stdout.flush()
    }

    /// Prints an item of a stream, such as an event, and flushes stdout. Must be called only in the
    /// format `ndjson`.
    pub(crate) fn item(&self, item: &(impl Serialize + JsonSchema)) -> Result<(), Failure> {
        let mut stdout = Stdout::lock();
        self.print_json(&mut stdout, item)?;
        stdout.flush()
    }

    /// Prints JSON that another party defines, such as the service, without `schema_version`.
    pub(crate) fn foreign(&self, value: Value) -> Result<(), Failure> {
        let mut stdout = Stdout::lock();
        self.print_filtered(&mut stdout, &value)?;
        stdout.flush()
    }

    /// Prints a request body without a version: YAML in the formats for people, otherwise JSON.
    pub(crate) fn body(&self, body: &Value) -> Result<(), Failure> {
        let mut stdout = Stdout::lock();
        match self.format {
            Format::Table | Format::Wide | Format::Job => {
                stdout.write(&yaml_serde::to_string(body).map_err(Failure::local)?)?;
            }
            _ => self.print_filtered(&mut stdout, body)?,
        }
        stdout.flush()
    }

    /// Prints a document with `schema_version`, as JSON or YAML.
    pub(crate) fn print_json(
        &self,
        stdout: &mut Stdout,
        document: &impl Serialize,
    ) -> Result<(), Failure> {
        self.print_filtered(stdout, &Versioned::new(document))
    }

    /// Prints a value, or the results of `--jq` for the value.
    fn print_filtered(&self, stdout: &mut Stdout, value: &impl Serialize) -> Result<(), Failure> {
        let Some(filter) = &self.filter else {
            return self.print_value(stdout, value);
        };
        for result in filter.apply(serde_json::to_value(value).map_err(Failure::local)?)? {
            match &result {
                // As `jq --raw-output` does, prints a text without quotes, for a shell.
                Value::String(text) if self.format != Format::Yaml => stdout.line(text)?,
                result => self.print_value(stdout, result)?,
            }
        }
        Ok(())
    }

    fn print_value(&self, stdout: &mut Stdout, value: &impl Serialize) -> Result<(), Failure> {
        match self.format {
            Format::Yaml => stdout.write(&yaml_serde::to_string(value).map_err(Failure::local)?),
            Format::Ndjson => stdout.line(&serde_json::to_string(value).map_err(Failure::local)?),
            _ => stdout.line(&serde_json::to_string_pretty(value).map_err(Failure::local)?),
        }
    }
}

fn no_rows() -> Failure {
    Failure::usage("--output csv: the result is no list; the format must be another")
}

fn no_id() -> Failure {
    Failure::usage("--output id: the result has no id; the format must be another")
}

#[derive(Serialize)]
struct Versioned<'a, T> {
    schema_version: u32,
    #[serde(flatten)]
    document: &'a T,
}

impl<'a, T: Serialize> Versioned<'a, T> {
    fn new(document: &'a T) -> Self {
        Self { schema_version: SCHEMA_VERSION, document }
    }
}

/// Returns a document with `schema_version` as JSON on one line.
pub(crate) fn to_line(document: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(&Versioned::new(document)).map_err(Failure::local)
}
