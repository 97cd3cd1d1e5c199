//! Table in `openapi/README.md` with the values that generated clients read from unusual responses.

use std::{array, collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, ensure};

use super::{
    awkward::{Case, cases},
    languages::LANGUAGES,
};
use crate::markdown;

const BEGIN: &str = "<!-- made by `cargo xtask clients --write`: begin -->\n";
const END: &str = "<!-- end -->\n";
/// Number of columns: the name of a case, and one column for each language.
const COLUMNS: usize = 1 + LANGUAGES.len();

/// Cells by language and by case.
pub type Columns = BTreeMap<&'static str, BTreeMap<&'static str, String>>;

/// Compares the table with the cells of a run, or updates it with `write`. Columns of languages
/// that were not run are kept.
pub fn compare_or_write(file: &Path, columns: &Columns, write: bool) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let current = with_cells(&text, columns).with_context(|| file.display().to_string())?;
    replace(file, &text, &current, write, "clients --write")
}

/// Fails if the text of a file is outdated. With `write`, updates the file instead.
pub fn replace(file: &Path, text: &str, current: &str, write: bool, command: &str) -> Result<()> {
    if current != text {
        ensure!(
            write,
            "the table in {} differs from the results of this run; write them with `cargo xtask \
             {command}`",
            file.display()
        );
        fs::write(file, current)?;
    }
    Ok(())
}

/// Returns the document with its table updated by the cells of a run.
fn with_cells(text: &str, columns: &Columns) -> Result<String> {
    let old = text.split_once(BEGIN).map_or("", |(_, old)| old);
    let cell = |case: &Case, index: usize| {
        let cells = columns.get(LANGUAGES[index].name);
        match cells.and_then(|cells| cells.get(case.name.as_str())) {
            Some(cell) => cell,
            None => old_cell(old, &case.about, index),
        }
    };
    let heads = array::from_fn(|column| match column.checked_sub(1) {
        Some(index) => LANGUAGES[index].name,
        None => "response",
    });
    let row = |case: &Case| {
        array::from_fn(|column| match column.checked_sub(1) {
            Some(index) => cell(case, index).to_owned(),
            None => case.about.clone(),
        })
    };
    let rows: Vec<[String; COLUMNS]> = cases()?.map(row).collect();
    let table = markdown::table(heads, &rows);
    markdown::between(text, BEGIN, END, &table).context("has no marks around a table")
}

fn old_cell<'a>(table: &'a str, about: &str, column: usize) -> &'a str {
    table
        .lines()
        .map(|line| line.split('|').map(str::trim))
        .find_map(|mut cells| (cells.nth(1)? == about).then(|| cells.nth(column))?)
        .unwrap_or("not run")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(language: &'static str, cell: &str) -> Columns {
        let cells = cases()
            .unwrap()
            .map(|case| (case.name.as_str(), cell.to_owned()));
        BTreeMap::from([(language, cells.collect())])
    }

    #[test]
    fn only_what_was_run_changes() {
        let empty = format!("# Before\n\n{BEGIN}{END}After.\n");
        let one = with_cells(&empty, &column("go", "`1`")).unwrap();
        let row = "| no `phase` | not run | not run | `1` | not run |\n";
        assert!(one.contains(row), "{one}");
        let two = with_cells(&one, &column("java", "`2`")).unwrap();
        let row = "| no `phase` | not run | not run | `1` | `2` |\n";
        assert!(two.contains(row), "{two}");
        assert!(two.starts_with("# Before\n\n") && two.ends_with(&format!("{END}After.\n")));
        assert_eq!(with_cells(&two, &column("java", "`2`")).unwrap(), two);
    }

    #[test]
    fn a_table_that_is_not_current_is_an_error_unless_it_is_to_be_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), format!("{BEGIN}{END}")).unwrap();
        let columns = column("go", "`1`");
        let error = compare_or_write(file.path(), &columns, false).unwrap_err();
        assert!(
            error.to_string().contains("differs from the results"),
            "{error}"
        );
        compare_or_write(file.path(), &columns, true).unwrap();
        compare_or_write(file.path(), &columns, false).unwrap();
    }
}
