//! Fields of request bodies. The OpenAPI description contains types, required fields and limits.
//! FIELDS.md contains the handling by the emulator, and the checks that differ from the
//! description. A violation results in the error `ModelArts.2788`.

pub(crate) mod field;
pub(crate) mod ignored;
#[cfg(test)]
pub(super) mod tests;
pub(crate) mod visible;

use std::sync::LazyLock;

use modelarts_api::Rule;

use crate::validation::fields::field::{Check, Field, Format, Handling};

pub(crate) static CREATION: LazyLock<Field> =
    LazyLock::new(|| table("CreateTrainingJob\n", "CreateTrainingJobRequest"));

pub(crate) static CHANGE: LazyLock<Field> = LazyLock::new(|| {
    table("ChangeTrainingJobDescription\n", "ChangeTrainingJobDescriptionRequest")
});

/// Fields of an algorithm. The rules for jobs check the fields of `job_config`.
pub(crate) static ALGORITHM: LazyLock<Field> =
    LazyLock::new(|| table("CreateAlgorithm and ChangeAlgorithm\n", "AlgorithmRequest"));

const PAGE: &str = include_str!("../../../FIELDS.md");

#[derive(Debug)]
struct Row {
    path: &'static str,
    handling: Handling,
    checks: Vec<Check>,
}

/// Builds the fields of a body from its schema and the rows of a section.
fn table(section: &str, schema: &'static str) -> Field {
    let mut body = Field::body(schema);
    for row in rows(section) {
        let steps = row.path.split('.').flat_map(|step| match step.strip_suffix("[]") {
            Some(name) => vec![name, "[]"],
            None => vec![step],
        });
        body.add(&steps.collect::<Vec<_>>(), row.handling, &row.checks);
    }
    body
}

/// Returns the rows of a section. A test checks that all rows can be read.
fn rows(section: &str) -> impl Iterator<Item = Row> {
    let text = PAGE.split("\n## ").find(|text| text.starts_with(section));
    let lines = text.unwrap_or_default().lines();
    lines.filter_map(|line| {
        let cells = line.strip_prefix("| `")?.strip_suffix('|')?;
        let (path, cells) = cells.split_once("` | ")?;
        let (handling, checks) = cells.split_once(" | ")?;
        let checks = checks.split("; ").map(str::trim);
        Some(Row {
            path,
            handling: read_handling(handling)?,
            checks: checks.filter(|text| !text.is_empty()).map(check).collect::<Option<_>>()?,
        })
    })
}

fn read_handling(text: &str) -> Option<Handling> {
    Some(match text {
        "acted on" => Handling::Acted,
        "record" => Handling::Echoed,
        "stored" => Handling::Stored,
        "stored, not shown" => Handling::Unshown,
        "record, not shown" => Handling::Silent,
        "read-only" => Handling::ReadOnly,
        "refused" => Handling::Refused,
        _ => return None,
    })
}

fn check(text: &'static str) -> Option<Check> {
    let values =
        |list: &'static str| list.split(", ").map(|value| value.trim_matches('`')).collect();
    Some(match text {
        "required" => Check::Required(true),
        "optional" => Check::Required(false),
        "any value" => Check::AnyValue,
        "a string" => Check::Text,
        "a name" => Check::Format(Format::Name),
        "only known values" => Check::KnownValues,
        _ => {
            if let Some(list) = text.strip_prefix("effect of ") {
                Check::Format(Format::Effective(values(list)))
            } else if let Some(list) = text.strip_prefix("refused except ") {
                Check::Format(Format::Supported(values(list)))
            } else if let Some(rest) = text.strip_prefix("keys of at most ") {
                Check::KeyLength(rest.strip_suffix(" characters")?.parse().ok()?)
            } else if let Some(least) = text.strip_suffix(" or more") {
                Check::Limits(vec![Rule::Minimum(least.parse().ok()?)])
            } else {
                let (least, most) = text.split_once(" to ")?;
                let (least, most) = (least.parse().ok()?, most.parse().ok()?);
                Check::Limits(vec![Rule::Minimum(least), Rule::Maximum(most)])
            }
        }
    })
}
