//! `x-pagination`: how a list is paged, in names that exist.

use serde_json::{Value, json};

use super::super::{
    document::{Document, Operation, entries},
    offence::Offence,
    pointer::join,
};

/// The keys for each meaning of `offset`, beside those that all have.
const KINDS: [(&str, &[&str]); 4] = [
    ("page-index", &["offset-name", "limit-name"]),
    ("record", &["offset-name", "limit-name"]),
    (
        "line-cursor",
        &["cursor-name", "order-name", "limit-name", "first", "last"],
    ),
    ("single-page", &[]),
];
const NEEDED: [&str; 3] = ["offset", "in", "items"];
const OPTIONAL: [&str; 3] = ["disputed", "max-limit", "total"];
/// Keys that name fields of the answer; the others that end in `-name` are
/// parameters.
const FIELDS: [&str; 4] = ["items", "total", "first", "last"];

pub fn check(document: &Document) -> Vec<Offence> {
    let mut offences = Vec::new();
    for operation in &document.operations {
        let place = join(&operation.place, "x-pagination");
        match operation.value.get("x-pagination") {
            Some(pagination) => offences.extend(of(document, operation, &place, pagination)),
            // What takes an offset and answers with a list has pages.
            None if parameter(document, operation, "query", "offset")
                && has_list(document, operation) =>
            {
                let message = "missing, though the operation takes an offset and lists";
                offences.push(Offence::new(place, message));
            }
            None => {}
        }
    }
    offences
}

fn of<'a>(
    document: &Document<'a>,
    operation: &Operation<'a>,
    place: &str,
    pagination: &'a Value,
) -> Vec<Offence> {
    let mut offences = Vec::new();
    let mut offend = |key: &str, message: String| {
        offences.push(Offence::new(join(place, key), message));
    };
    let text = |key: &str| pagination.get(key).and_then(Value::as_str);
    let offset = text("offset").unwrap_or_default();
    let Some((_, own)) = KINDS.iter().find(|(kind, _)| *kind == offset) else {
        let message = "write page-index, record, line-cursor or single-page";
        return vec![Offence::new(join(place, "offset"), message)];
    };
    for key in NEEDED.iter().chain(*own) {
        if text(key).is_none() {
            offend(key, format!("missing, and {offset} needs it"));
        }
    }
    for (key, value) in entries(Some(pagination)) {
        let known = NEEDED.iter().chain(&OPTIONAL).chain(*own);
        if !known.into_iter().any(|known| known == key) {
            offend(key, format!("{offset} has no such key; remove it"));
        }
        if FIELDS.contains(&key.as_str()) {
            let path = value.as_str().unwrap_or_default();
            if !field(document, operation, path) {
                offend(key, format!("the answer has no field {path}"));
            }
        }
        if key.ends_with("-name") {
            let name = value.as_str().unwrap_or_default();
            let place = text("in").unwrap_or_default();
            if !parameter(document, operation, place, name) {
                offend(key, format!("the {place} has no parameter {name}"));
            }
        }
    }
    if !["query", "body"].contains(&text("in").unwrap_or("query")) {
        offend("in", "write query or body".into());
    }
    let limit = pagination.get("max-limit");
    if limit.is_some_and(|limit| limit.as_u64().is_none_or(|limit| limit == 0)) {
        offend("max-limit", "write a whole number above 0".into());
    }
    // That nothing is disputed needs not be said.
    if pagination
        .get("disputed")
        .is_some_and(|value| *value != json!(true))
    {
        offend("disputed", "write true, or remove it".into());
    }
    offences
}

/// Whether the operation takes a parameter of this name.
fn parameter<'a>(
    document: &Document<'a>,
    operation: &Operation<'a>,
    place: &str,
    name: &str,
) -> bool {
    if place == "body" {
        let body = operation
            .value
            .pointer("/requestBody/content/application~1json/schema");
        return body.is_some_and(|body| property(document, body, name).is_some());
    }
    operation
        .parameters
        .iter()
        .any(|it| it.get("in") == Some(&json!(place)) && it.get("name") == Some(&json!(name)))
}

fn answer<'a>(operation: &Operation<'a>) -> Option<&'a Value> {
    entries(operation.value.get("responses"))
        .find_map(|(_, response)| response.pointer("/content/application~1json/schema"))
}

/// Whether a list is in the answer, directly or in one of its fields.
fn has_list(document: &Document, operation: &Operation) -> bool {
    let list = json!("array");
    let is_list = |schema: &Value| schema.get("type") == Some(&list);
    answer(operation)
        .map(|body| document.resolve(body))
        .is_some_and(|body| {
            let mut fields = entries(body.get("properties")).map(|(_, field)| field);
            is_list(body) || fields.any(is_list)
        })
}

/// Whether the answer has a field, by names joined with dots.
fn field<'a>(document: &Document<'a>, operation: &Operation<'a>, path: &str) -> bool {
    let Some(body) = answer(operation) else {
        return false;
    };
    if path.is_empty() {
        // The answer itself is the list.
        return document.resolve(body).get("type") == Some(&json!("array"));
    }
    path.split('.')
        .try_fold(body, |schema, name| property(document, schema, name))
        .is_some()
}

fn property<'a>(document: &Document<'a>, schema: &'a Value, name: &str) -> Option<&'a Value> {
    document.resolve(schema).get("properties")?.get(name)
}

#[cfg(test)]
mod tests {
    use super::{
        super::sample::{LIST, after, with},
        *,
    };

    fn pagination(key: &str, value: Value) -> Vec<String> {
        with(check, &format!("{LIST}/x-pagination"), key, value)
    }

    fn place(key: &str) -> String {
        format!("{LIST}/x-pagination/{key}")
    }

    #[test]
    fn keys_that_are_missing_or_unknown_fire() {
        let missing = after(check, |description| {
            let list = json!({ "$ref": "#/components/schemas/JobPage" });
            let body = format!("{LIST}/responses/200/content/application~1json");
            description.pointer_mut(&body).unwrap()["schema"] = list;
            let operation = description.pointer_mut(LIST).unwrap();
            operation.as_object_mut().unwrap().remove("x-pagination");
        });
        assert_eq!(
            missing,
            [format!(
                "{LIST}/x-pagination: missing, though the operation takes an offset and lists"
            )]
        );
        assert_eq!(
            pagination("offset", json!("rows")),
            [format!(
                "{}: write page-index, record, line-cursor or single-page",
                place("offset")
            )]
        );
        assert_eq!(
            pagination("limit-name", json!(null)),
            [format!(
                "{}: missing, and record needs it",
                place("limit-name")
            )]
        );
        assert_eq!(
            pagination("cursor", json!("a")),
            [format!(
                "{}: record has no such key; remove it",
                place("cursor")
            )]
        );
        assert_eq!(
            pagination("max-limit", json!(0)),
            [format!(
                "{}: write a whole number above 0",
                place("max-limit")
            )]
        );
        assert_eq!(
            pagination("disputed", json!(false)),
            [format!("{}: write true, or remove it", place("disputed"))]
        );
    }

    #[test]
    fn names_of_nothing_fire() {
        assert_eq!(
            pagination("items", json!("jobs")),
            [format!("{}: the answer has no field jobs", place("items"))]
        );
        assert_eq!(
            pagination("items", json!("")),
            [format!("{}: the answer has no field ", place("items"))]
        );
        assert_eq!(
            pagination("offset-name", json!("page")),
            [format!(
                "{}: the query has no parameter page",
                place("offset-name")
            )]
        );
        assert_eq!(
            pagination("in", json!("body")),
            [
                format!("{}: the body has no parameter limit", place("limit-name")),
                format!("{}: the body has no parameter offset", place("offset-name")),
            ]
        );
    }

    #[test]
    fn names_that_exist_are_silent() {
        assert_eq!(pagination("items", json!("page.jobs")), [""; 0]);
        assert_eq!(pagination("total", json!(null)), [""; 0]);
        assert_eq!(pagination("disputed", json!(true)), [""; 0]);
        // An offset without a list, such as in a count.
        assert_eq!(with(check, LIST, "x-pagination", json!(null)), [""; 0]);
    }
}
