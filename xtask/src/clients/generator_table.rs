//! Table in `openapi/README.md` with the variant of the description, the options and the result of
//! each generator.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result};

use super::{
    generators::{GENERATORS, Generator, NO_OPTIONS, Variant},
    languages::LANGUAGES,
    table,
};
use crate::markdown;

const BEGIN: &str = "<!-- made by `cargo xtask clients --all --write`: begin -->\n";
const END: &str = "<!-- end -->\n";
const HEADS: [&str; 5] = ["generator", "version", "variant", "options", "result"];

/// Contents of the result column, by the name of the generator.
pub type Results = BTreeMap<&'static str, String>;

/// Compares the table with the results of a run, or updates it with `write`.
pub fn compare_or_write(file: &Path, results: &Results, write: bool) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let current = with_results(&text, results).with_context(|| file.display().to_string())?;
    table::replace(file, &text, &current, write, "clients --all --write")
}

/// Returns the document with its table updated by the results of a run.
fn with_results(text: &str, results: &Results) -> Result<String> {
    let row = |name: &str, version: &str, variant: Variant, options: &str| {
        let result = results.get(name).map_or("not run", String::as_str);
        [name, version, variant.name(), options, result].map(str::to_owned)
    };
    let mut rows = Vec::new();
    for language in LANGUAGES {
        let version = language.version()?;
        rows.push(row(language.generator, &version, Variant::Main, "as above"));
    }
    for generator in GENERATORS {
        let options = match generator.options {
            NO_OPTIONS => "none".to_owned(),
            options => markdown::code(options),
        };
        let Generator {
            name,
            version,
            variant,
            ..
        } = generator;
        rows.push(row(name, version, *variant, &options));
    }
    markdown::between(text, BEGIN, END, &markdown::table(HEADS, &rows))
        .context("has no marks around the table of generators")
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
        let empty = format!("# Before\n\n{BEGIN}{END}After.\n");
        let table = with_results(&empty, &results).unwrap();
        assert_eq!(with_results(&table, &results).unwrap(), table);
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
            2 + LANGUAGES.len() + GENERATORS.len()
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
