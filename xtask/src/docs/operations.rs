//! Generates the text of the reference about the extensions of an operation.

use serde_json::Value;

use super::errors;
use crate::markdown::code;

/// Returns the paragraphs that are added to the description of an operation.
pub fn text(description: &Value, operation: &Value) -> String {
    let mut sentences = vec![
        format!("**Clouds**: {}.", clouds(&operation["x-clouds"])),
        format!("**Effect**: {}", effect(&operation["x-effect"])),
    ];
    if let Some(paging) = paging(&operation["x-pagination"]) {
        sentences.push(format!("**Paging**: {paging}"));
    }
    // Redoc shows `externalDocs` only for the whole description, not for operations.
    let page = |key: &str| operation["externalDocs"][key].as_str();
    if let (Some(url), Some(label)) = (page("url"), page("description")) {
        sentences.push(format!(
            "**See**: [{}]({url}).",
            label.trim_end_matches('.')
        ));
    }
    let mut text = sentences.join(" ");
    if let Some(codes) = errors::of_operation(description, operation) {
        text = format!("{text}\n\n{codes}");
    }
    text
}

fn clouds(clouds: &Value) -> String {
    let names: Vec<_> = clouds
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|cloud| match cloud {
            "huawei" => "Huawei Cloud",
            "otc" => "Open Telekom Cloud",
            other => other,
        })
        .collect();
    names.join(" and ")
}

fn effect(effect: &Value) -> &str {
    match effect.as_str().unwrap_or_default() {
        "read" => "reads; sending it twice changes nothing.",
        "idempotent" => "idempotent; sending it twice does the same as sending it once.",
        "create" => "creates; sending it twice creates two, unless the service refuses the second.",
        other => other,
    }
}

fn paging(pagination: &Value) -> Option<String> {
    let name = |key: &str| pagination[key].as_str().map(code);
    let parameter = |key: &str| name(key).unwrap_or_default();
    let entries = match pagination["items"].as_str()? {
        "" => "the answer itself is the list".to_owned(),
        items => format!("entries are in {}", code(items)),
    };
    let entries = match name("total") {
        Some(total) => format!("{entries}, their total number is in {total}"),
        None => entries,
    };
    let limit = match pagination["max-limit"].as_u64() {
        Some(most) => format!("{} (at most {most})", parameter("limit-name")),
        None => parameter("limit-name"),
    };
    let place = match pagination["in"].as_str() {
        Some("body") => "in the body",
        _ => "in the query",
    };
    let kind = pagination["offset"].as_str()?;
    let text = match kind {
        "single-page" => format!("everything comes in one answer; {entries}."),
        "page-index" => format!(
            "{} is the number of a page, from 0, and {limit} the size of a page, both {place}; \
             {entries}.",
            parameter("offset-name")
        ),
        "record" => format!(
            "{} is the number of entries to skip, and {limit} the size of a page, both {place}; \
             {entries}.",
            parameter("offset-name")
        ),
        "line-cursor" => format!(
            "{} takes the number of a line, {limit} the number of lines, {} the direction to read \
             in, all {place}; the lines are in {}, the numbers of the first and the last in {} and \
             {}.",
            parameter("cursor-name"),
            parameter("order-name"),
            parameter("items"),
            parameter("first"),
            parameter("last"),
        ),
        _ => return None,
    };
    if pagination["disputed"] != true {
        return Some(text);
    }
    let disputed = name("offset-name").unwrap_or_else(|| parameter("cursor-name"));
    Some(format!(
        "{text} Sources disagree about what {disputed} counts."
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_operation_says_clouds_effect_and_paging() {
        let list = json!({
            "x-clouds": ["huawei", "otc"],
            "x-effect": "read",
            "x-pagination": {
                "offset": "page-index", "in": "body", "offset-name": "offset",
                "limit-name": "limit", "max-limit": 50, "items": "items", "total": "total",
            },
        });
        assert_eq!(
            text(&json!({}), &list),
            "**Clouds**: Huawei Cloud and Open Telekom Cloud. \
             **Effect**: reads; sending it twice changes nothing. \
             **Paging**: `offset` is the number of a page, from 0, and `limit` (at most 50) the \
             size of a page, both in the body; entries are in `items`, their total number is in \
             `total`."
        );
    }

    #[test]
    fn an_operation_without_a_list_has_no_paging_but_a_link() {
        let create = json!({
            "x-clouds": ["huawei"],
            "x-effect": "create",
            "externalDocs": { "url": "https://example.com/a.html", "description": "Reference." },
        });
        assert_eq!(
            text(&json!({}), &create),
            "**Clouds**: Huawei Cloud. **Effect**: creates; sending it twice creates two, unless \
             the service refuses the second. **See**: [Reference](https://example.com/a.html)."
        );
    }

    #[test]
    fn every_kind_of_paging_has_words() {
        for (pagination, words) in [
            (
                json!({ "offset": "single-page", "in": "query", "items": "" }),
                "everything comes in one answer; the answer itself is the list.",
            ),
            (
                json!({
                    "offset": "record", "in": "query", "offset-name": "offset",
                    "limit-name": "limit", "items": "page.events", "disputed": true,
                }),
                "`offset` is the number of entries to skip, and `limit` the size of a page, both \
                 in the query; entries are in `page.events`. Sources disagree about what `offset` \
                 counts.",
            ),
            (
                json!({
                    "offset": "line-cursor", "in": "query", "cursor-name": "base_line",
                    "limit-name": "lines", "max-limit": 500, "order-name": "order",
                    "items": "content", "first": "start_line", "last": "end_line",
                    "disputed": true,
                }),
                "`base_line` takes the number of a line, `lines` (at most 500) the number of \
                 lines, `order` the direction to read in, all in the query; the lines are in \
                 `content`, the numbers of the first and the last in `start_line` and `end_line`. \
                 Sources disagree about what `base_line` counts.",
            ),
        ] {
            assert_eq!(paging(&pagination).unwrap(), words);
        }
    }
}
