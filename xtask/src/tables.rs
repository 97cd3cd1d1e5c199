//! `cargo xtask tables`: generates the tables of operations, error codes and causes in pages of
//! `openapi` from the description.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::ExitCode,
};

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;

use yaml_serde::Value as Yaml;

use crate::{codegen, docs::reference, json, markdown, spec::Document, workspace};

const BEGIN: &str = "<!-- cargo xtask tables: begin -->\n";
const END: &str = "<!-- cargo xtask tables: end -->\n";

/// Writes the tables between their marks in the pages. With `check`, fails if a table is outdated.
pub fn run(check: bool) -> Result<ExitCode> {
    let description = codegen::read(&workspace::description())?;
    let emulated = fs::read_to_string(workspace::emulated())?;
    let mut code = ExitCode::SUCCESS;
    for (page, tables) in
        [("OPERATIONS.md", table(&description, &refused(&emulated)?)?), ("ERRORS.md", errors()?)]
    {
        let file = workspace::description().with_file_name(page);
        let before = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let after = replaced(&before, &tables).with_context(|| page.to_owned())?;
        if before == after {
            println!("the tables of openapi/{page} match the description");
        } else if check {
            println!("the tables of openapi/{page} are outdated; run `cargo xtask codegen`");
            code = ExitCode::FAILURE;
        } else {
            fs::write(&file, after)?;
            println!("openapi/{page} was rewritten");
        }
    }
    Ok(code)
}

fn replaced(text: &str, table: &str) -> Result<String> {
    markdown::between(text, BEGIN, END, table)
        .with_context(|| format!("the page lacks the marks {BEGIN}and {END}"))
}

/// Returns the tables of error codes and causes.
fn errors() -> Result<String> {
    let description = yaml_serde::from_value(json::bundle(&workspace::description())?)?;
    let document = Document::read(&description);
    let document = document.map_err(|offences| anyhow!(offences.join("\n")))?;
    let causes: Yaml = yaml_serde::from_str(&fs::read_to_string(workspace::causes())?)?;
    let causes = causes["causes"].as_sequence().context("causes.yaml has no causes")?;
    let text = |cause: &Yaml, key| cause[key].as_str().unwrap_or_default().to_owned();
    let rows: Vec<_> =
        causes.iter().map(|it| [markdown::code(&text(it, "name")), text(it, "meaning")]).collect();
    Ok(format!(
        "## Error codes\n\n{}\n## Causes\n\nCauses of a failure, a stop or a wait, which \
         [`causes.yaml`](README.md#causes) explains.\n\n{}",
        reference::listed(&document.extensions.x_error_table.iter().collect::<Vec<_>>()),
        markdown::table(["Cause", "Meaning"], &rows)
    ))
}

/// Returns the operations that the emulator refuses: the constant `NOT_MODELLED` of its source.
fn refused(source: &str) -> Result<BTreeSet<&str>> {
    let after = source.split_once("const NOT_MODELLED").map(|(_, after)| after);
    let list = after.and_then(|after| after.split(';').nth(1));
    let list = list.context("the source of the emulator lacks the array NOT_MODELLED")?;
    Ok(list.split('"').skip(1).step_by(2).collect())
}

fn table(description: &Value, refused: &BTreeSet<&str>) -> Result<String> {
    let mut rows = Vec::new();
    let mut known = BTreeSet::new();
    for (path, item) in description["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            let Some(id) = operation["operationId"].as_str() else {
                continue;
            };
            known.insert(id);
            rows.push(format!(
                "| {id} | `{} {}` | {} | {} | {} | {} |\n",
                method.to_uppercase(),
                path.strip_prefix("/v2/{project_id}").unwrap_or(path),
                operation["x-effect"].as_str().unwrap_or_default(),
                clouds(&operation["x-clouds"]),
                pages(&operation["x-pagination"]),
                if refused.contains(id) { "" } else { "yes" },
            ));
        }
    }
    let strange: Vec<_> = refused.difference(&known).collect();
    ensure!(
        strange.is_empty(),
        "the emulator refuses operations that the description lacks: {strange:?}"
    );
    Ok(format!(
        "{} operations; paths without a version are below `/v2/{{project_id}}`. The emulator \
         implements {}.\n\n\
         | operation | request | effect | clouds | pages | emulator |\n\
         |---|---|---|---|---|---|\n{}\n{}",
        rows.len(),
        rows.len() - refused.len(),
        rows.concat(),
        versions(description)
    ))
}

/// Patch number of the first version of the vendor's SDK that was compared.
const FIRST: u16 = 206;

/// Returns the table of the versions of the vendor's SDK, from `x-since` and `x-until`.
fn versions(description: &Value) -> String {
    let operations =
        description["paths"].as_object().into_iter().flatten().flat_map(|(_, item)| {
            let operations = item.as_object().into_iter().flatten();
            operations.filter_map(|(_, it)| Some((it["operationId"].as_str()?.to_owned(), it)))
        });
    let operations: Vec<_> = operations.collect();
    let schemas = description["components"]["schemas"].as_object().into_iter().flatten();
    let fields = schemas.flat_map(|(schema, it)| {
        let properties = it["properties"].as_object().into_iter().flatten();
        properties.map(move |(name, it)| (format!("{schema}.{name}"), it))
    });
    let patch = |it: &Value, key: &str| it[key].as_str()?.rsplit('.').next()?.parse::<u16>().ok();
    let mut changes = BTreeMap::<u16, Vec<String>>::from([(FIRST, Vec::new())]);
    for (name, it) in operations.iter().cloned().chain(fields) {
        if let Some(since) = patch(it, "x-since") {
            changes.entry(since).or_default().push(format!("`{name}`"));
        }
        if let Some(until) = patch(it, "x-until") {
            changes.entry(until.saturating_add(1)).or_default().push(format!("without `{name}`"));
        }
    }
    let mut table = "Versions of the vendor's SDK for Python:\n\n\
                     | from version | operations | changes |\n|---|---|---|\n"
        .to_owned();
    for (version, names) in changes {
        let has = |it: &Value| {
            patch(it, "x-since").is_none_or(|since| since <= version)
                && patch(it, "x-until").is_none_or(|until| until >= version)
        };
        let count = operations.iter().filter(|(_, it)| has(it)).count();
        table += &format!("| 3.1.{version} | {count} | {} |\n", names.join(", "));
    }
    table
}

fn clouds(clouds: &Value) -> &'static str {
    let on = |cloud: &str| clouds.as_array().is_some_and(|it| it.iter().any(|it| it == cloud));
    match (on("huawei"), on("otc")) {
        (true, true) => "both",
        (true, false) => "Huawei Cloud",
        (false, true) => "Open Telekom Cloud",
        (false, false) => "",
    }
}

/// Describes the paging of a list, for the table.
fn pages(pagination: &Value) -> String {
    let mut text = match pagination["offset"].as_str() {
        Some("page-index") => "by page",
        Some("record") => "by record",
        Some("line-cursor") => "by line",
        Some("single-page") => "not paged",
        _ => return String::new(),
    }
    .to_owned();
    if let Some(limit) = pagination["max-limit"].as_u64() {
        text = format!("{text}, at most {limit}");
    }
    if pagination["disputed"] == true {
        text.push_str(" (disputed)");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_tables_are_those_of_the_description() {
        let code = run(true).unwrap();
        assert_eq!(code, ExitCode::SUCCESS, "run `cargo xtask codegen`");
    }

    #[test]
    fn a_row_has_the_facts_of_the_description() {
        let description = json!({ "paths": { "/v2/{project_id}/jobs": {
            "parameters": [],
            "get": {
                "operationId": "ListJobs", "x-effect": "read", "x-clouds": ["huawei", "otc"],
                "x-pagination": { "offset": "record", "max-limit": 50, "disputed": true },
            },
            "post": {
                "operationId": "CreateJob", "x-effect": "create", "x-clouds": ["huawei"],
                "x-since": "3.1.208", "x-until": "3.1.209",
            },
        } }, "components": { "schemas": {
            "Job": { "properties": { "name": { "x-since": "3.1.208" } } },
        } } });
        let source = "/// No source.\nconst NOT_MODELLED: [&str; 1] =\n    [\"CreateJob\"];\n";
        let refused = refused(source).unwrap();
        assert_eq!(
            table(&description, &refused).unwrap(),
            "2 operations; paths without a version are below `/v2/{project_id}`. The emulator \
             implements 1.\n\n\
             | operation | request | effect | clouds | pages | emulator |\n\
             |---|---|---|---|---|---|\n\
             | ListJobs | `GET /jobs` | read | both | by record, at most 50 (disputed) | yes |\n\
             | CreateJob | `POST /jobs` | create | Huawei Cloud |  |  |\n\n\
             Versions of the vendor's SDK for Python:\n\n\
             | from version | operations | changes |\n|---|---|---|\n\
             | 3.1.206 | 1 |  |\n\
             | 3.1.208 | 2 | `CreateJob`, `Job.name` |\n\
             | 3.1.210 | 1 | without `CreateJob` |\n"
        );
        let error = table(&json!({}), &refused).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the emulator refuses operations that the description lacks: [\"CreateJob\"]"
        );
    }

    #[test]
    fn only_the_text_between_the_marks_is_replaced() {
        let text = format!("before\n{BEGIN}old\n{END}after\n");
        assert_eq!(
            replaced(&text, "new\n").unwrap(),
            format!("before\n{BEGIN}\nnew\n\n{END}after\n")
        );
        assert!(replaced("no marks", "new\n").is_err());
    }
}
