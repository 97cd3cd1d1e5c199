//! `cargo xtask readme`: generates the table of operations in openapi/README.md from the
//! description.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::ExitCode,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{codegen, markdown, workspace};

const BEGIN: &str = "<!-- cargo xtask readme: begin -->\n";
const END: &str = "<!-- cargo xtask readme: end -->\n";

/// Writes the table between its marks in the document. With `check`, fails if the table is
/// outdated.
pub fn run(check: bool) -> Result<ExitCode> {
    let file = workspace::root().join("openapi/README.md");
    let before = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let description = codegen::read(&workspace::description())?;
    let emulated = fs::read_to_string(workspace::emulated())?;
    let after = replaced(&before, &table(&description, &refused(&emulated)?)?)?;
    if before == after {
        println!("the table of operations in openapi/README.md matches the description");
        return Ok(ExitCode::SUCCESS);
    }
    if check {
        println!(
            "the table of operations in openapi/README.md is outdated; run `cargo xtask codegen`"
        );
        return Ok(ExitCode::FAILURE);
    }
    fs::write(&file, after)?;
    println!("openapi/README.md was rewritten");
    Ok(ExitCode::SUCCESS)
}

fn replaced(text: &str, table: &str) -> Result<String> {
    markdown::between(text, BEGIN, END, table)
        .with_context(|| format!("openapi/README.md lacks the marks {BEGIN}and {END}"))
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
    fn the_table_is_that_of_the_description() {
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
