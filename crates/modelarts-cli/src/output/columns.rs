//! `Column`: a column of a table, and the selection of columns by name.

use crate::failure::Failure;

/// A column of a table of rows of type `R`.
pub(crate) struct Column<R> {
    /// Heading, in upper case.
    pub(crate) name: &'static str,
    /// `true` if only the format `wide` has the column.
    pub(crate) wide: bool,
    /// `true` if the column is neither left out nor cut as long as another one can be.
    pub(crate) key: bool,
    /// Returns the text of a row, which may have a style.
    pub(crate) text: fn(&R) -> String,
}

impl<R> Column<R> {
    /// Creates a column of all tables.
    pub(crate) const fn new(name: &'static str, text: fn(&R) -> String) -> Self {
        Self { name, wide: false, key: false, text }
    }

    /// Creates a column of all tables with texts that are arguments of other commands, such as ids.
    /// On a narrow terminal, the other columns give way to it.
    pub(crate) const fn key(name: &'static str, text: fn(&R) -> String) -> Self {
        Self { name, wide: false, key: true, text }
    }

    /// Creates a column of the format `wide`.
    pub(crate) const fn wide(name: &'static str, text: fn(&R) -> String) -> Self {
        Self { name, wide: true, key: false, text }
    }
}

/// Returns the columns with these names, or those of the format if `names` is `None`.
pub(super) fn select<'a, R>(
    all: &'a [Column<R>],
    names: Option<&[String]>,
    wide: bool,
) -> Result<Vec<&'a Column<R>>, Failure> {
    let Some(names) = names else {
        return Ok(all.iter().filter(|column| wide || !column.wide).collect());
    };
    let find = |name: &String| {
        let found = all.iter().find(|column| column.name.eq_ignore_ascii_case(name.trim()));
        found.ok_or_else(|| {
            let known: Vec<String> = all.iter().map(|column| column.name.to_lowercase()).collect();
            Failure::usage(format_args!(
                "--columns {name:?}: no column has this name; it must be one of: {}",
                known.join(", ")
            ))
        })
    };
    names.iter().map(find).collect()
}
