//! The table in `openapi/README.md` of the description and the options that serve each generator.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result};

use super::{
    generators::{GENERATORS, NO_OPTIONS, Variant},
    languages::LANGUAGES,
    table,
};

const BEGIN: &str = "<!-- made by `cargo xtask clients --all --write`: begin -->\n";
const END: &str = "<!-- end -->";
const HEAD: &str = "| generator | version | variant | options | result |\n|---|---|---|---|---|\n";

/// The last cell of each row, by the name of the generator.
pub type Results = BTreeMap<&'static str, String>;

/// Compares the table with the results of a run, or with `write` brings it up to date.
pub fn bring(file: &Path, results: &Results, write: bool) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let renewed = renew(&text, results).with_context(|| file.display().to_string())?;
    table::settle(file, &text, &renewed, write, "clients --all --write")
}

fn renew(text: &str, results: &Results) -> Result<String> {
    let (before, rest) = text
        .split_once(BEGIN)
        .context("has no place for the table of generators")?;
    let (_, after) = rest
        .split_once(END)
        .context("the table of generators has no end")?;
    let mut table = String::from(HEAD);
    let mut row = |name: &str, version: &str, variant: Variant, options: &str| {
        let result = results.get(name).map_or("not run", String::as_str);
        let variant = variant.name();
        table += &format!("| {name} | {version} | {variant} | {options} | {result} |\n");
    };
    for language in LANGUAGES {
        let options = "as above";
        row(
            language.generator,
            &language.version()?,
            Variant::Main,
            options,
        );
    }
    for generator in GENERATORS {
        let options = match generator.options {
            NO_OPTIONS => "none".to_owned(),
            options => format!("`{options}`"),
        };
        row(
            generator.name,
            generator.version,
            generator.variant,
            &options,
        );
    }
    Ok(format!("{before}{BEGIN}{table}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_row_for_each_generator() {
        let results = BTreeMap::from([
            ("OpenAPI Generator: rust", "compiles".to_owned()),
            ("orval", "does not compile".to_owned()),
        ]);
        let empty = format!("# Before\n\n{BEGIN}{END}\nAfter.\n");
        let table = renew(&empty, &results).unwrap();
        assert_eq!(renew(&table, &results).unwrap(), table);
        for row in [
            "| openapi-typescript | 7.13.0 | main | as above | not run |\n",
            "| orval | 7.13.2 | main | `--client fetch` | does not compile |\n",
            "| OpenAPI Generator: rust | 7.26.0 | plain | \
             `--additional-properties library=reqwest,packageName=modelarts` | compiles |\n",
            "| OpenAPI Generator: kotlin | 7.26.0 | plain | none | not run |\n",
        ] {
            assert!(table.contains(row), "{table}");
        }
        assert_eq!(
            table.lines().filter(|line| line.starts_with("| ")).count(),
            1 + LANGUAGES.len() + GENERATORS.len()
        );
    }

    #[test]
    fn every_generator_of_one_release_has_its_version() {
        let openapi_generator: Vec<_> = LANGUAGES
            .iter()
            .filter(|it| it.generator.starts_with("OpenAPI Generator"))
            .map(|it| it.version().unwrap())
            .chain(
                GENERATORS
                    .iter()
                    .filter(|it| it.name.starts_with("OpenAPI Generator"))
                    .map(|it| it.version.to_owned()),
            )
            .collect();
        assert_eq!(openapi_generator, ["7.26.0"; 7]);
    }
}
