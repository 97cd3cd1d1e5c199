//! `OutputArguments`: the arguments that select format and columns.

use clap::{Args, ValueEnum};

/// Format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people.
    Table,
    /// Text with more columns.
    Wide,
    /// One JSON document.
    Json,
    /// One JSON document for each row or item, on a line of its own.
    Ndjson,
    /// One YAML document.
    Yaml,
    /// Ids only, one on each line.
    Id,
}

/// Arguments of the output.
#[derive(Clone, Debug, Args)]
pub(crate) struct OutputArguments {
    /// Format of the output.
    #[arg(
        short,
        long,
        global = true,
        value_enum,
        env = "MODELARTS_OUTPUT",
        value_name = "FORMAT",
        help_heading = "Output"
    )]
    output: Option<Format>,
    /// Columns of a table, in this order: name,phase,age.
    #[arg(
        long,
        global = true,
        value_delimiter = ',',
        value_name = "NAMES",
        help_heading = "Output"
    )]
    pub(crate) columns: Option<Vec<String>>,
    /// Expression of jq that is applied to the JSON; selects the format json unless ndjson is given.
    #[arg(
        long,
        global = true,
        value_name = "EXPRESSION",
        help_heading = "Output"
    )]
    pub(crate) jq: Option<String>,
}

impl OutputArguments {
    /// Returns the format. An expression of jq needs JSON or YAML.
    pub(crate) fn format(&self) -> Format {
        match (self.output, &self.jq) {
            (Some(format @ (Format::Json | Format::Ndjson | Format::Yaml)), _) => format,
            (_, Some(_)) => Format::Json,
            (format, None) => format.unwrap_or(Format::Table),
        }
    }

    /// Returns `true` if errors are printed as JSON too.
    pub(crate) fn is_json(&self) -> bool {
        matches!(self.format(), Format::Json | Format::Ndjson)
    }
}
