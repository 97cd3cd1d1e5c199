//! Rule on `x-pagination`: the paging of a list, which must name existing fields and parameters.

use serde_json::{Value, json};

use super::super::{
    document::{Document, Operation, entries},
    offence::Offence,
    pointer::join,
};

/// Keys for each value of `offset`, in addition to the common keys.
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
/// Keys whose values are fields of the response. The values of keys that end in `-name` are
/// parameters.
const FIELDS: [&str; 4] = ["items", "total", "first", "last"];

pub fn check(document: &Document) -> Vec<Offence> {
    let mut offences = Vec::new();
    for operation in &document.operations {
        let place = join(&operation.place, "x-pagination");
        match operation.value.get("x-pagination") {
            Some(pagination) => offences.extend(of(document, operation, &place, pagination)),
            // An operation with an offset, and with a list in its response, must have
            // `x-pagination`.
            None if ["query", "body"]
                .iter()
                .any(|place| parameter(document, operation, place, "offset").is_some())
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
            match field(document, operation, path) {
                None => offend(key, format!("the answer has no field {path}")),
                // Strict clients could otherwise not decode a page whose rows are null (D-111).
                Some(rows) if key == "items" && is_list(rows) && !path.is_empty() => {
                    if rows.get("nullable") != Some(&json!(true)) {
                        offend(
                            key,
                            format!("make {path} nullable: a page may have null for rows"),
                        );
                    }
                }
                Some(_) => {}
            }
        }
        if key.ends_with("-name") {
            let name = value.as_str().unwrap_or_default();
            let place = text("in").unwrap_or_default();
            if parameter(document, operation, place, name).is_none() {
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
    // Without a maximum of the parameter, any value is admitted, because some sources state a
    // number but no limit.
    let taken = text("limit-name")
        .and_then(|name| parameter(document, operation, text("in").unwrap_or_default(), name))
        .and_then(|schema| document.resolve(schema).get("maximum"));
    if let Some(taken) = taken
        && limit != Some(taken)
    {
        offend(
            "max-limit",
            format!("the limit has the maximum {taken}; write the same"),
        );
    }
    // `false` is the default and must be omitted.
    if pagination
        .get("disputed")
        .is_some_and(|value| *value != json!(true))
    {
        offend("disputed", "write true, or remove it".into());
    }
    offences
}

/// Returns the schema of a parameter of the operation.
fn parameter<'a>(
    document: &Document<'a>,
    operation: &Operation<'a>,
    place: &str,
    name: &str,
) -> Option<&'a Value> {
    if place == "body" {
        let body = operation
            .value
            .pointer("/requestBody/content/application~1json/schema")?;
        return property(document, body, name);
    }
    operation
        .parameters
        .iter()
        .find(|it| it.get("in") == Some(&json!(place)) && it.get("name") == Some(&json!(name)))?
        .get("schema")
}

fn answer<'a>(operation: &Operation<'a>) -> Option<&'a Value> {
    entries(operation.value.get("responses"))
        .find_map(|(_, response)| response.pointer("/content/application~1json/schema"))
}

/// Returns true if the response is a list, or contains a list at most two levels deep.
fn has_list(document: &Document, operation: &Operation) -> bool {
    let fields = |schema| entries(document.resolve(schema).get("properties")).map(|(_, it)| it);
    let lists = |schema| is_list(document.resolve(schema));
    answer(operation).is_some_and(|body| {
        lists(body) || fields(body).any(|field| lists(field) || fields(field).any(&lists))
    })
}

fn is_list(schema: &Value) -> bool {
    schema.get("type") == Some(&json!("array"))
}

/// Returns the schema of a field of the response. `path` joins the names of nested fields by dots.
pub fn field<'a>(
    document: &Document<'a>,
    operation: &Operation<'a>,
    path: &str,
) -> Option<&'a Value> {
    let body = answer(operation)?;
    if path.is_empty() {
        // With an empty path, the response itself is the list.
        return Some(document.resolve(body)).filter(|body| is_list(body));
    }
    path.split('.')
        .try_fold(body, |schema, name| property(document, schema, name))
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
        // The list is two levels deep.
        let missing = after(check, |description| {
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
    fn an_offset_in_the_body_and_a_list_in_a_field_mean_pages_too() {
        let found = after(check, |description| {
            let operation = description.pointer_mut(LIST).unwrap();
            let operation = operation.as_object_mut().unwrap();
            operation.remove("x-pagination");
            operation.remove("parameters");
            let request = json!({ "$ref": "#/components/schemas/JobRequest" });
            let body = json!({ "content": { "application/json": { "schema": request } } });
            operation.insert("requestBody".into(), body);
            let fields = "/components/schemas/JobRequest/properties";
            description.pointer_mut(fields).unwrap()["offset"] = json!({ "type": "integer" });
        });
        assert_eq!(
            found,
            [format!(
                "{LIST}/x-pagination: missing, though the operation takes an offset and lists"
            )]
        );
    }

    #[test]
    fn rows_that_are_not_nullable_fire() {
        let rows = "/components/schemas/JobPage/properties/jobs";
        assert_eq!(
            with(check, rows, "nullable", json!(null)),
            [format!(
                "{}: make page.jobs nullable: a page may have null for rows",
                place("items")
            )]
        );
    }

    #[test]
    fn a_largest_page_that_is_not_the_maximum_of_the_limit_fires() {
        let limit = |maximum: Value| {
            let place = format!("{LIST}/parameters/1/schema");
            with(check, &place, "maximum", maximum)
        };
        assert_eq!(limit(json!(50)), [""; 0]);
        assert_eq!(
            limit(json!(100)),
            [format!(
                "{}: the limit has the maximum 100; write the same",
                place("max-limit")
            )]
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
        // An operation whose response has no list, such as a count, has no pages, even if it has an
        // offset.
        let count = after(check, |description| {
            let body = format!("{LIST}/responses/200/content/application~1json");
            description.pointer_mut(&body).unwrap()["schema"] =
                json!({ "$ref": "#/components/schemas/ApiError" });
            let operation = description.pointer_mut(LIST).unwrap();
            operation.as_object_mut().unwrap().remove("x-pagination");
        });
        assert_eq!(count, [""; 0]);
    }
}
