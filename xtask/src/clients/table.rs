//! The table in `openapi/README.md` of what generated clients make of awkward answers.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, ensure};

use super::{awkward::cases, languages::LANGUAGES};

const BEGIN: &str = "<!-- made by `cargo xtask clients --write`: begin -->\n";
const END: &str = "<!-- end -->";

/// For each language the cells of its column, by case.
pub type Seen = BTreeMap<&'static str, BTreeMap<&'static str, String>>;

/// Compares the table with what was seen, or with `write` brings it up to date. Columns of
/// languages that were not run stay as they are.
pub fn bring(file: &Path, seen: &Seen, write: bool) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let renewed = renew(&text, seen).with_context(|| file.display().to_string())?;
    settle(file, &text, &renewed, write, "clients --write")
}

/// Fails where a file is not as renewed, or with `write` renews it.
pub fn settle(file: &Path, text: &str, renewed: &str, write: bool, command: &str) -> Result<()> {
    if renewed != text {
        ensure!(
            write,
            "the table in {} is not what was seen just now; run `cargo xtask {command}`",
            file.display()
        );
        fs::write(file, renewed)?;
    }
    Ok(())
}

fn renew(text: &str, seen: &Seen) -> Result<String> {
    let (before, rest) = text.split_once(BEGIN).context("has no place for a table")?;
    let (old, after) = rest.split_once(END).context("the table has no end")?;
    let mut table = String::from("| what comes |");
    for language in LANGUAGES {
        table += &format!(" {} |", language.name);
    }
    table += &format!("\n|---{}|\n", "|---".repeat(LANGUAGES.len()));
    for case in cases()? {
        table += &format!("| {} |", case.about);
        for (column, language) in LANGUAGES.iter().enumerate() {
            let cell = match seen
                .get(language.name)
                .and_then(|cells| cells.get(case.name.as_str()))
            {
                Some(cell) => cell,
                None => old_cell(old, &case.about, column),
            };
            table += &format!(" {cell} |");
        }
        table += "\n";
    }
    Ok(format!("{before}{BEGIN}{table}{END}{after}"))
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

    fn seen(language: &'static str, cell: &str) -> Seen {
        let cells = cases()
            .unwrap()
            .map(|case| (case.name.as_str(), cell.to_owned()));
        BTreeMap::from([(language, cells.collect())])
    }

    #[test]
    fn only_what_was_run_changes() {
        let empty = format!("# Before\n\n{BEGIN}{END}\nAfter.\n");
        let one = renew(&empty, &seen("go", "`1`")).unwrap();
        let row = "| no `phase` | not run | not run | `1` | not run |\n";
        assert!(one.contains(row), "{one}");
        let two = renew(&one, &seen("java", "`2`")).unwrap();
        let row = "| no `phase` | not run | not run | `1` | `2` |\n";
        assert!(two.contains(row), "{two}");
        assert!(two.starts_with("# Before\n\n") && two.ends_with(&format!("{END}\nAfter.\n")));
        assert_eq!(renew(&two, &seen("java", "`2`")).unwrap(), two);
    }

    #[test]
    fn a_table_that_is_not_current_is_an_error_unless_it_is_to_be_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), format!("{BEGIN}{END}\n")).unwrap();
        let seen = seen("go", "`1`");
        let error = bring(file.path(), &seen, false).unwrap_err();
        assert!(error.to_string().contains("not what was seen"), "{error}");
        bring(file.path(), &seen, true).unwrap();
        bring(file.path(), &seen, false).unwrap();
    }
}
