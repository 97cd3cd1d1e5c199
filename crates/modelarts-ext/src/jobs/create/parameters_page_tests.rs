//! Tables of all parameters in PARAMETERS.md, generated from the fields and limits of the OpenAPI
//! description and the list of rules.

use std::{fmt::Write, path::Path};

use modelarts_api::Shape;
use serde::Deserialize;

use crate::{
    jobs::create::local_files::{MAX_BYTES, MAX_FILES, MAX_LEVELS, RECOMMENDED_BYTES},
    validation::{
        limits::{self, BODY},
        rules,
    },
};

/// Parameter in the console's form for new jobs.
#[derive(Deserialize)]
struct Parameter {
    name: String,
    /// Condition under which the parameter is required, or its default.
    needed: String,
    method: String,
    /// Paths of the request fields that contain the parameter, without list indexes.
    fields: Vec<String>,
}

/// Returns the parameters in the order of the console's form.
fn form() -> Vec<Parameter> {
    let form = include_str!("../../../tests/cases/creating_form.yaml");
    serde_saphyr::from_str(form).unwrap()
}

/// Field of the request body.
struct Leaf {
    /// Path of the field, such as `spec.volumes[].nfs.local_path`.
    path: String,
    /// Type of the field, in words.
    value_kind: String,
    required: bool,
    limits: String,
    is_choice: bool,
}

const BEGIN: &str = "<!-- The rest is written by `UPDATE=1 cargo test -p modelarts-ext --lib \
    parameters_page`. -->\n\n";

#[test]
fn the_page_has_the_tables_of_the_code() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("PARAMETERS.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let (text, tables) = page.split_once(BEGIN).unwrap();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(file, format!("{text}{BEGIN}{}", parameters_as_markdown())).unwrap();
        return;
    }
    assert!(
        tables == parameters_as_markdown(),
        "PARAMETERS.md is not what the tables say; run the tests with UPDATE=1"
    );
}

/// Returns the tables of PARAMETERS.md.
fn parameters_as_markdown() -> String {
    let leaves = leaves();
    let mut page = String::new();
    let _ = writeln!(page, "## Parameters in the form of the console\n");
    let _ = writeln!(page, "| # | parameter | needed | in code | field | limits |");
    let _ = writeln!(page, "|---|---|---|---|---|---|");
    for (number, parameter) in (1..).zip(&form()) {
        let fields: Vec<_> = parameter.fields.iter().map(|field| format!("`{field}`")).collect();
        let mut all_limits: Vec<String> = Vec::new();
        for field in &parameter.fields {
            let limits = leaves.iter().filter(|leaf| leaf.path == *field);
            all_limits.extend(limits.clone().map(|leaf| leaf.limits.clone()));
            let choices = limits.filter(|leaf| leaf.is_choice);
            all_limits.extend(choices.map(|leaf| leaf.value_kind.clone()));
            if field == "algorithm.code_dir" {
                all_limits.push(code_dir_limits());
            }
            let rules = rules::tests::of_body();
            let rules = rules.filter(|rule| rule.fields.iter().any(|on| on == field));
            all_limits.extend(rules.map(|rule| rule.requirement.clone()));
        }
        let mut unique_limits: Vec<String> = Vec::new();
        for limit in all_limits {
            if !limit.is_empty() && !unique_limits.contains(&limit) {
                unique_limits.push(limit);
            }
        }
        let _ = writeln!(
            page,
            "| {number} | {} | {} | {} | {} | {} |",
            parameter.name,
            parameter.needed,
            parameter.method,
            fields.join(", "),
            cell(&unique_limits.join("; ")),
        );
    }
    let _ = writeln!(page, "\n## All fields of the request\n");
    let _ = writeln!(page, "| field | holds | required | limit |");
    let _ = writeln!(page, "|---|---|---|---|");
    for leaf in &leaves {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} |",
            leaf.path,
            cell(&leaf.value_kind),
            if leaf.required { "yes" } else { "" },
            cell(&leaf.limits),
        );
    }
    page
}

fn code_dir_limits() -> String {
    format!(
        "at most {} GB, {MAX_FILES} files, {MAX_LEVELS} levels; recommended: at most {} MB",
        MAX_BYTES >> 30,
        RECOMMENDED_BYTES >> 20
    )
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn leaves() -> Vec<Leaf> {
    let mut leaves = Vec::new();
    walk(BODY, "", &mut leaves);
    leaves
}

fn walk(schema: &'static str, path: &str, leaves: &mut Vec<Leaf>) {
    for field in limits::fields(schema) {
        let path = match path {
            "" => field.name.to_owned(),
            path => format!("{path}.{}", field.name),
        };
        leaf(schema, field.name, path, field.shape, field.required, leaves);
    }
}

fn leaf(
    schema: &'static str,
    name: &str,
    path: String,
    shape: Shape,
    required: bool,
    leaves: &mut Vec<Leaf>,
) {
    let limits = match limits::CHECKED_BY_RULES.contains(&(schema, name)) {
        true => String::new(),
        false => limits::in_words(schema, name),
    };
    if let Shape::Object(inner) = shape {
        walk(inner, &path, leaves);
        return;
    }
    // A list of objects without limits has no row, because the rows of the objects' fields describe
    // it.
    let items_describe_it = matches!(shape, Shape::List(Shape::Object(_))) && limits.is_empty();
    if !items_describe_it {
        leaves.push(Leaf {
            path: path.clone(),
            value_kind: value_kind(shape),
            required,
            limits,
            is_choice: matches!(shape, Shape::OneOf(_)),
        });
    }
    match shape {
        Shape::List(inner) => {
            let name = format!("{name}[]");
            if matches!(inner, Shape::Object(_)) || !limits::in_words(schema, &name).is_empty() {
                leaf(schema, &name, format!("{path}[]"), *inner, false, leaves);
            }
        }
        Shape::Map(inner) => {
            let name = format!("{name}{{}}");
            if !limits::in_words(schema, &name).is_empty() {
                leaf(schema, &name, format!("{path}{{}}"), *inner, false, leaves);
            }
        }
        _ => {}
    }
}

fn value_kind(shape: Shape) -> String {
    match shape {
        Shape::Text => "text".into(),
        Shape::OneOf(values) => limits::one_of(values),
        Shape::Integer => "whole number".into(),
        Shape::Number => "number".into(),
        Shape::Boolean => "true or false".into(),
        Shape::List(inner) => match inner {
            Shape::Object(_) => "list".into(),
            inner => format!("list of: {}", value_kind(*inner)),
        },
        Shape::Map(inner) => format!("map of: {}", value_kind(*inner)),
        _ => "object".into(),
    }
}

/// Tests that each field of the form and of the rules exists, as a leaf or as the parent of a leaf.
#[test]
fn every_field_that_is_named_exists() {
    let leaves = leaves();
    let exists = |field: &str| {
        leaves.iter().any(|leaf| {
            let rest = leaf.path.strip_prefix(field);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[', '{']))
        }) || field.strip_suffix("{}").is_some_and(|map| leaves.iter().any(|leaf| leaf.path == map))
    };
    for parameter in &form() {
        for field in &parameter.fields {
            assert!(exists(field), "{}: {field}", parameter.name);
        }
    }
    for rule in rules::tests::of_body() {
        for field in &rule.fields {
            assert!(exists(field), "{}: {field}", rule.requirement);
        }
    }
}
