//! Conversion of the extensions of the description to text, for the HTML page.
//!
//! Redoc hides extensions or shows them as raw data. The converted copy keeps the order of the
//! keys, because the page shows operations and fields in this order.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use yaml_serde::{Mapping, Value as Yaml};

use crate::{
    codegen::{
        description::{text, texts},
        extensions::{Cloud, Effect, ErrorRow, Offset, Pagination, Retries, Retry},
    },
    markdown::{self, code, collapsed, table},
    spec::{Document, Operation},
};

/// Returns the description with its extensions as text. The section about signing is the page
/// `signing`.
pub fn with_text(mut copy: Yaml, signing: &str) -> Result<String> {
    let description: Value = yaml_serde::from_value(copy.clone())?;
    let document = match Document::read(&description) {
        Ok(document) => document,
        Err(offences) => bail!(offences.join("\n")),
    };
    for operation in &document.operations {
        let inner = &operation.inner;
        let item = copy.get_mut("paths").and_then(|paths| paths.get_mut(inner.path));
        let map = item.and_then(|item| item.get_mut(inner.method)?.as_mapping_mut());
        let map = map.with_context(|| format!("{} is no map", operation.place))?;
        let before = text(inner.definition, "description").unwrap_or_default();
        let after = format!("{}\n\n{}", before.trim_end(), paragraphs(&document, operation));
        map.insert("description".into(), after.into());
        without_extensions(map);
    }
    let copy = copy.as_mapping_mut().context("the description is no map")?;
    without_extensions(copy);
    let (_, signing) = signing.split_once('\n').context("SIGNING.md is empty")?;
    let tags = copy.get_mut("tags").and_then(Yaml::as_sequence_mut);
    tags.context("the description has no tags")?.extend([
        section("Signing", &markdown::without_relative_links(signing.trim())),
        section("Errors of any operation", &errors(&document)),
        section("Events", &events(&document)),
        section("Waiters", &waiters(&document)),
    ]);
    Ok(yaml_serde::to_string(copy)?)
}

fn without_extensions(map: &mut Mapping) {
    map.retain(|key, _| !key.as_str().is_some_and(|key| key.starts_with("x-")));
}

/// Returns a tag without operations, which Redoc shows as a section of text.
fn section(name: &str, text: &str) -> Yaml {
    let mut tag = Mapping::new();
    tag.insert("name".into(), name.into());
    tag.insert("x-traitTag".into(), true.into());
    tag.insert("description".into(), text.into());
    tag.into()
}

/// Returns the paragraphs that are added to the description of an operation.
fn paragraphs(document: &Document, operation: &Operation) -> String {
    let extensions = &operation.extensions;
    let clouds = extensions.x_clouds.iter().map(|cloud| match cloud {
        Cloud::Huawei => "Huawei Cloud",
        Cloud::Otc => "Open Telekom Cloud",
    });
    let clouds = clouds.collect::<Vec<_>>().join(" and ");
    let effect = match extensions.x_effect {
        Effect::Read => "reads; sending it twice changes nothing.",
        Effect::Idempotent => "idempotent; sending it twice does the same as sending it once.",
        Effect::Create => {
            "creates; sending it twice creates two, unless the service refuses the second."
        }
    };
    let mut markdown = format!("**Clouds**: {clouds}. **Effect**: {effect}");
    if let Some(paging) = &extensions.x_pagination {
        markdown += &format!(" **Paging**: {}", pages(paging));
    }
    // Redoc shows `externalDocs` only for the whole description, not for operations.
    let page = &operation.inner.definition["externalDocs"];
    if let (Some(url), Some(label)) = (text(page, "url"), text(page, "description")) {
        markdown += &format!(" **See**: [{}]({url}).", label.trim_end_matches('.'));
    }
    let rows = document.extensions.x_error_table.iter();
    let own = rows.filter(|row| extensions.x_error_codes.contains(&row.code));
    let own: Vec<_> =
        own.map(|row| cells(row, again(of_effect(&row.retry, extensions.x_effect)))).collect();
    match own.len() {
        0 => markdown,
        codes => {
            markdown + "\n\n" + &collapsed(&format!("Error codes: {codes}"), &table(HEADS, &own))
        }
    }
}

fn pages(paging: &Pagination) -> String {
    let mut markdown = match paging.offset {
        Offset::PageIndex => "by the number of a page, from 0",
        Offset::Record => "by the number of entries to skip",
        Offset::LineCursor => "by the number of a line",
        Offset::SinglePage => "everything comes in one answer",
    }
    .to_owned();
    let items = Some(&paging.items).filter(|items| !items.is_empty());
    for (part, name) in [
        ("offset", paging.offset_name.as_ref()),
        ("line", paging.cursor_name.as_ref()),
        ("direction", paging.order_name.as_ref()),
        ("limit", paging.limit_name.as_ref()),
        ("entries", items),
        ("total", paging.total.as_ref()),
        ("first line", paging.first.as_ref()),
        ("last line", paging.last.as_ref()),
    ] {
        markdown.extend(name.map(|name| format!(", {part} {}", code(name))));
    }
    let most = paging.max_limit.map(|most| format!(", at most {most} on a page"));
    markdown.extend(most);
    match paging.disputed {
        true => markdown + ". Sources disagree about what the offset counts.",
        false => markdown + ".",
    }
}

const HEADS: [&str; 4] = ["Code", "Status", "Meaning", "Send again"];

/// Returns the section about the error codes that any operation can return.
fn errors(document: &Document) -> String {
    let operations = document.operations.iter();
    let named: Vec<_> = operations.flat_map(|it| &it.extensions.x_error_codes).collect();
    let rows = document.extensions.x_error_table.iter();
    let others = rows.filter(|row| row.any_operation || !named.contains(&&row.code));
    let (of_any, of_none): (Vec<_>, Vec<_>) = others.partition(|row| row.any_operation);
    format!(
        "Every operation can answer with these codes, beside those that it lists. The last column \
         is for the same request: `no` means that it fails again, `later` that it may succeed \
         after a while, `when ready` that the thing asked for does not exist yet, `new token` that \
         it succeeds once with a new token.\n\n{}\n{}",
        listed(&of_any),
        collapsed("Codes that no operation is known to use", &listed(&of_none))
    )
}

/// Returns the table of rows.
pub fn listed(rows: &[&ErrorRow]) -> String {
    let cells: Vec<_> = rows.iter().map(|row| cells(row, &by_effect(&row.retry))).collect();
    table(HEADS, &cells)
}

fn cells(row: &ErrorRow, again: &str) -> [String; 4] {
    let condition = match &row.retry_only_with {
        Some(message) => format!(", if the message contains {}", code(message)),
        None => String::new(),
    };
    [
        // The code is not formatted as code, because Redoc would break it inside a word if the
        // column is narrow.
        row.code.clone(),
        row.status.to_string(),
        format!("{} {}", row.meaning, row.advice),
        format!("{again}{condition}"),
    ]
}

fn of_effect(retry: &Retries, effect: Effect) -> Retry {
    match effect {
        Effect::Read => retry.read,
        Effect::Idempotent => retry.idempotent,
        Effect::Create => retry.create,
    }
}

fn again(retry: Retry) -> &'static str {
    match retry {
        Retry::Never => "no",
        Retry::Backoff => "later",
        Retry::Poll => "when ready",
        Retry::Token => "new token",
    }
}

/// Describes the retry conditions: one for all effects, or one for each effect if they differ.
fn by_effect(retry: &Retries) -> String {
    if retry.read == retry.idempotent && retry.read == retry.create {
        return again(retry.read).to_owned();
    }
    let words = [retry.read, retry.idempotent, retry.create].map(again);
    format!("reads: {}; idempotent calls: {}; creations: {}", words[0], words[1], words[2])
}

/// Returns the section about the events of a job.
fn events(document: &Document) -> String {
    let events = &document.extensions.x_events;
    let mut section = "An event has no field for its kind: clients read the kind from the text. \
        Words in braces stand for what the service fills in; they are explained at the end.\n"
        .to_owned();
    for kind in &events.kinds {
        let end = match kind.r#final {
            true => " The job does nothing more afterwards.",
            false => "",
        };
        section += &format!(
            "\n### {}\n\n{}, source `{}`. {}{end}\n\n",
            kind.kind, kind.level, kind.source, kind.when
        );
        for (texts, note) in [(&kind.texts.guide, ""), (&kind.texts.api, " (from the API)")] {
            let lines = texts.iter().map(|text| format!("- {}{note}\n", code(text)));
            section.extend(lines);
        }
    }
    section += "\n## Placeholders\n\n";
    section.extend(events.placeholders.iter().map(|placeholder| {
        format!(
            "- {}, such as {}: {} Pattern: {}\n",
            code(&format!("{{{}}}", placeholder.name)),
            code(&placeholder.example),
            placeholder.description,
            code(&placeholder.pattern)
        )
    }));
    section
}

/// Returns the section about waiters.
fn waiters(document: &Document) -> String {
    let mut section = "A waiter repeats a call until the field, or an error, has one of the \
        listed values. With every other value, also an unknown one, it goes on waiting.\n"
        .to_owned();
    for waiter in &document.extensions.x_waiters {
        let id = &waiter.operation;
        let operation = document.operations.iter().find(|it| it.inner.id == id);
        let tag = operation.and_then(|it| texts(it.inner.definition, "tags").next());
        let outcomes = waiter.outcomes.iter().map(|outcome| {
            let error = outcome.error.as_deref().map(|error| format!("error {}", code(error)));
            let seen = outcome.value.as_deref().map(code).or(error);
            [seen.unwrap_or_default(), format!("{:?}", outcome.outcome).to_lowercase()]
        });
        section += &format!(
            "\n## {}\n\n{} Calls [{id}](#/{}) and reads {}.\n\n{}",
            waiter.name,
            waiter.description,
            format!("{}/{id}", tag.unwrap_or_default()).to_lowercase(),
            code(&waiter.field),
            table(["Value", "Outcome"], &outcomes.collect::<Vec<_>>())
        );
    }
    section
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{json, workspace};

    #[test]
    fn the_reference_has_the_extensions_as_text() {
        let file = workspace::description();
        let signing = fs::read_to_string(file.with_file_name("SIGNING.md")).unwrap();
        let copy = with_text(json::bundle(&file).unwrap(), &signing).unwrap();
        let copy: Yaml = yaml_serde::from_str(&copy).unwrap();
        let list = &copy["paths"]["/v2/{project_id}/algorithms"]["get"];
        let list_said = list["description"].as_str().unwrap();
        let logs = "/v2/{project_id}/training-jobs/{training_job_id}/logs/{task_id}";
        let logs_said = copy["paths"][logs]["get"]["description"].as_str().unwrap();
        let tags = copy["tags"].as_sequence().unwrap();
        let sections: Vec<_> = tags.iter().filter_map(|tag| tag["description"].as_str()).collect();
        let sections = sections.join("\n");
        let expected = [
            (
                list_said,
                "**Clouds**: Huawei Cloud and Open Telekom Cloud. **Effect**: reads; sending it \
                 twice changes nothing. **Paging**: by the number of a page, from 0, offset \
                 `offset`, limit `limit`, entries `items`, total `total`, at most 50 on a page. \
                 **See**: [",
            ),
            (list_said, "| ModelArts.0102 | 400 | "),
            (
                logs_said,
                ", line `base_line`, direction `order`, limit `lines`, entries `content`, ",
            ),
            (&sections, " | reads: later; idempotent calls: later; creations: no |\n"),
            (&sections, "### CreateFailed\n\nError, source `Job`. "),
            (&sections, "- `Training job failures: {cause}`\n"),
            (&sections, "- `{task}`, such as `worker-0`: Name of a task."),
            (&sections, "Calls [ShowTrainingJobDetails](#/trainingjobs/showtrainingjobdetails)"),
            (&sections, "| error `ModelArts.2775` | gone |\n"),
        ];
        for (markdown, words) in expected {
            assert!(markdown.contains(words), "{words} in {markdown}");
        }
        assert!(list.get("x-effect").is_none() && copy.get("x-events").is_none());
        assert!(tags[0].get("x-displayName").is_some(), "the title of a group stays");
    }
}
