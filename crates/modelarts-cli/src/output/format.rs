//! `OutputArguments`: the arguments that select the output format and the columns.

use std::{env, ffi::OsString};

use clap::{Args, ValueEnum};

pub(crate) const OUTPUT_VARIABLE: &str = "MODELARTS_OUTPUT";

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
    /// Rows of a list with a header, separated by commas.
    Csv,
    /// A file that `submit -f` takes, which only `show` prints.
    Job,
}

/// Arguments of the output.
#[derive(Clone, Debug, Args)]
pub(crate) struct OutputArguments {
    /// Format of the output. Default: table.
    #[arg(
        short,
        long,
        global = true,
        value_enum,
        env = OUTPUT_VARIABLE,
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
    /// Expression of jq that is applied to the JSON; selects the format json unless ndjson or yaml
    /// is given.
    #[arg(long, global = true, value_name = "EXPRESSION", help_heading = "Output")]
    pub(crate) jq: Option<String>,
}

impl OutputArguments {
    /// Returns the format. A jq expression selects JSON unless `ndjson` or `yaml` is given.
    pub(crate) fn format(&self) -> Format {
        match (self.output, &self.jq) {
            (Some(format @ (Format::Json | Format::Ndjson | Format::Yaml)), _) => format,
            (_, Some(_)) => Format::Json,
            (format, None) => format.unwrap_or(Format::Table),
        }
    }

    /// Returns `true` if errors are printed as JSON: if the user or the variable selects a JSON
    /// format. A jq expression alone does not count, because it produces text for a shell.
    pub(crate) fn has_json_errors(&self) -> bool {
        matches!(self.output, Some(Format::Json | Format::Ndjson))
    }
}

/// Returns `true` if these arguments, which may be invalid, or the environment variable request
/// `json` or `ndjson`.
pub(crate) fn is_json_requested(arguments: impl Iterator<Item = OsString>) -> bool {
    let mut requested = env::var(OUTPUT_VARIABLE).ok();
    let mut is_value = false;
    for argument in arguments.map(|argument| argument.to_string_lossy().into_owned()) {
        if is_value {
            requested = Some(argument);
            is_value = false;
            continue;
        }
        let attached = argument.strip_prefix("--output=").or_else(|| {
            let value = argument.strip_prefix("-o")?;
            Some(value.strip_prefix('=').unwrap_or(value))
        });
        match attached {
            Some("") => is_value = true,
            Some(value) => requested = Some(value.to_owned()),
            None if argument == "--output" => is_value = true,
            // The arguments after `--` belong to a script.
            None if argument == "--" => break,
            None => {}
        }
    }
    requested.is_some_and(|format| matches!(format.as_str(), "json" | "ndjson"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_request_for_json_is_found_in_wrong_arguments() {
        for (arguments, expected) in [
            ("ls --wrong -o json", true),
            ("ls -ojson", true),
            ("ls -o=ndjson", true),
            ("ls --output json", true),
            ("ls --output=json", true),
            ("ls --output=json -o table", false),
            ("run train.py -- -o json", false),
            ("ls --outputs json", false),
            ("ls -o", false),
        ] {
            let arguments = arguments.split(' ').map(OsString::from);
            assert_eq!(is_json_requested(arguments.clone()), expected, "{arguments:?}");
        }
    }
}
