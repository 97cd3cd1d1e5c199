//! Rules on error codes: the table of the description, and the codes that operations list.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::{
    document::{Document, entries, list},
    offence::Offence,
    pointer::join,
};

/// JSON pointer to the table in the description.
const TABLE: &str = "/x-error-table";
/// JSON pointer to the schema that lists the codes of the table as constants.
const KNOWN: &str = "/components/schemas/KnownErrorCode";
/// The keys that each row has.
const KEYS: [&str; 6] = ["code", "status", "name", "retry", "meaning", "advice"];
/// Key of the rows that apply to any operation.
const ANY: &str = "any-operation";
/// Key of the text that the message must contain for a retry.
const ONLY_WITH: &str = "retry-only-with";
/// Values of `x-effect`, which are also the keys of `retry`.
const EFFECTS: [&str; 3] = ["read", "idempotent", "create"];
const RETRIES: [&str; 4] = ["never", "backoff", "poll", "token"];

/// Checks the rows of the table, by which clients decide about retries.
pub fn table(document: &Document) -> Vec<Offence> {
    let rows = list(document.at(TABLE));
    let mut offences = Vec::new();
    if rows.is_empty() {
        offences.push(Offence::new(TABLE, "missing; list the error codes"));
    }
    let mut last = None;
    for (index, row) in rows.iter().enumerate() {
        let place = join(TABLE, &index.to_string());
        for (key, message) in wrong(row) {
            let place = match key {
                "" => place.clone(),
                key => join(&place, key),
            };
            offences.push(Offence::new(place, message));
        }
        let pair = (code(row), row.get("status").and_then(Value::as_u64));
        if last.is_some_and(|last| last >= pair) {
            let message = "must come after the row before it, by code, then status, and only once";
            offences.push(Offence::new(place, message));
        }
        last = Some(pair);
    }
    offences
}

fn code(row: &Value) -> &str {
    row.get("code").and_then(Value::as_str).unwrap_or_default()
}

fn wrong(row: &Value) -> Vec<(&'static str, &'static str)> {
    let mut wrong = Vec::new();
    let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default();
    let has_all = KEYS.iter().all(|key| row.get(key).is_some());
    let known_key = |key: &str| KEYS.contains(&key) || [ANY, ONLY_WITH].contains(&key);
    if !has_all || !entries(Some(row)).all(|(key, _)| known_key(key)) {
        wrong.push((
            "",
            "must have code, status, name, retry, meaning, advice, and perhaps any-operation and \
             retry-only-with",
        ));
    }
    if !is_code(text("code")) {
        wrong.push((
            "code",
            "must be ModelArts. or APIG. with at least four digits",
        ));
    }
    let retry = |effect: &str| row.get("retry")?.get(effect)?.as_str();
    let retries = EFFECTS.map(retry);
    // The codes for a result that is not ready yet have the status 204.
    let admitted = match row.get("status").and_then(Value::as_u64) {
        Some(204) => retries == [Some("poll"); 3],
        Some(status) => (400..600).contains(&status),
        None => false,
    };
    if !admitted {
        wrong.push(("status", "must be 400 to 599, or 204 where retry is poll"));
    }
    let known = |retry: &Option<&str>| retry.is_some_and(|retry| RETRIES.contains(&retry));
    if !retries.iter().all(known) || entries(row.get("retry")).count() != EFFECTS.len() {
        wrong.push((
            "retry",
            "must give read, idempotent and create one of never, backoff, poll, token",
        ));
    }
    let name = text("name");
    if name.is_empty() || !name.chars().all(|letter| letter.is_ascii_alphanumeric()) {
        wrong.push(("name", "must be a word of letters and digits"));
    }
    for key in ["meaning", "advice"] {
        let first = text(key).chars().next();
        if !first.is_some_and(char::is_uppercase) || !text(key).ends_with('.') {
            wrong.push((key, "must be a sentence, with a capital and a full stop"));
        }
    }
    if text("advice")
        .chars()
        .nth(1)
        .is_some_and(char::is_uppercase)
    {
        wrong.push((
            "advice",
            "must not begin with an abbreviation: clients print it with a small first letter",
        ));
    }
    if row.get(ANY).is_some_and(|any| *any != json!(true)) {
        wrong.push((ANY, "must be true or left out"));
    }
    // A 204 response has no message, and a condition has no effect on `never`.
    let has_condition = row.get(ONLY_WITH).is_some();
    let admits_condition = !text(ONLY_WITH).is_empty()
        && row.get("status") != Some(&json!(204))
        && retries != [Some("never"); 3];
    if has_condition && !admits_condition {
        wrong.push((
            ONLY_WITH,
            "must be text of the message, on a row with a retry and a message",
        ));
    }
    wrong
}

fn is_code(code: &str) -> bool {
    let number = ["ModelArts.", "APIG."]
        .into_iter()
        .find_map(|prefix| code.strip_prefix(prefix));
    number.is_some_and(|digits| digits.len() >= 4 && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Checks the codes that operations list. Codes that any operation can return must not be listed,
/// so that a change of such a code affects only the table.
pub fn of_operations(document: &Document) -> Vec<Offence> {
    let rows = list(document.at(TABLE));
    let mut offences = Vec::new();
    for operation in &document.operations {
        let place = join(&operation.place, "x-error-codes");
        let Some(codes) = operation
            .value
            .get("x-error-codes")
            .filter(|it| it.is_array())
        else {
            let message = "missing; list the codes that the operation can answer with, [] if it has \
                           none but those of any operation";
            offences.push(Offence::new(place, message));
            continue;
        };
        let mut seen = BTreeSet::new();
        for (index, named) in list(Some(codes)).iter().enumerate() {
            let named = named.as_str().unwrap_or_default();
            let mut of_code = rows.iter().filter(|row| code(row) == named).peekable();
            let message = if of_code.peek().is_none() {
                "must be a code of x-error-table"
            } else if of_code.any(|row| row.get(ANY).is_some()) {
                "can come from any operation; remove it"
            } else if !seen.insert(named) {
                "is named twice; remove one"
            } else {
                continue;
            };
            offences.push(Offence::new(join(&place, &index.to_string()), message));
        }
    }
    offences
}

/// Checks the schema of known error codes, from whose values generators define constants.
pub fn known(document: &Document) -> Vec<Offence> {
    let codes: BTreeSet<_> = list(document.at(TABLE)).iter().map(code).collect();
    let codes: Vec<_> = codes.into_iter().collect();
    let known = document.at(KNOWN).and_then(|schema| schema.get("enum"));
    match known == Some(&json!(codes)) {
        true => Vec::new(),
        false => vec![Offence::new(
            join(KNOWN, "enum"),
            "must list the codes of x-error-table, in their order",
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::sample::{CREATE, LIST, after, with},
        *,
    };

    /// Returns the offences after `edit` has changed the second row.
    fn row(edit: impl FnOnce(&mut Value)) -> Vec<String> {
        after(table, |description| {
            edit(&mut description["x-error-table"][1])
        })
    }

    fn row_with(key: &str, value: Value) -> Vec<String> {
        row(|row| row[key] = value)
    }

    #[test]
    fn a_missing_table_fires() {
        assert_eq!(
            after(table, |description| description["x-error-table"] =
                json!([])),
            ["/x-error-table: missing; list the error codes"]
        );
    }

    #[test]
    fn rows_with_other_keys_fire() {
        let message = "/x-error-table/1: must have code, status, name, retry, meaning, advice, and \
                       perhaps any-operation and retry-only-with";
        assert_eq!(row_with("note", json!("")), [message]);
        let missing = row(|row| {
            row.as_object_mut().unwrap().remove("advice");
        });
        assert_eq!(
            missing,
            [
                message,
                "/x-error-table/1/advice: must be a sentence, with a capital and a full stop"
            ]
        );
    }

    #[test]
    fn a_misspelt_key_fires() {
        let misspelt = row(|row| {
            row.as_object_mut().unwrap().remove(ANY).unwrap();
            row["any_operation"] = json!(true);
        });
        assert_eq!(
            misspelt,
            [
                "/x-error-table/1: must have code, status, name, retry, meaning, advice, and \
                 perhaps any-operation and retry-only-with"
            ]
        );
    }

    #[test]
    fn malformed_values_fire() {
        for code in ["ModelArts.275", "ModelArts.27a5", "APIGW.0308", "2755"] {
            let offences = row_with("code", json!(code));
            assert!(
                offences.contains(
                    &"/x-error-table/1/code: must be ModelArts. or APIG. with at least four digits"
                        .to_owned()
                ),
                "{code}: {offences:?}"
            );
        }
        for status in [json!(204), json!("400"), json!(600), json!(302)] {
            assert!(
                row_with("status", status).contains(
                    &"/x-error-table/1/status: must be 400 to 599, or 204 where retry is poll"
                        .to_owned()
                )
            );
        }
        let message = "/x-error-table/1/retry: must give read, idempotent and create one of never, \
                       backoff, poll, token";
        for retry in [
            json!("never"),
            json!({ "read": "never", "idempotent": "never" }),
            json!({ "read": "never", "idempotent": "never", "create": "once" }),
            json!({ "read": "never", "idempotent": "never", "create": "never", "delete": "never" }),
        ] {
            assert_eq!(row_with("retry", retry), [message]);
        }
        assert_eq!(
            row_with("name", json!("Bad request")),
            ["/x-error-table/1/name: must be a word of letters and digits"]
        );
        for meaning in ["", "the query is wrong.", "The query is wrong"] {
            assert_eq!(
                row_with("meaning", json!(meaning)),
                ["/x-error-table/1/meaning: must be a sentence, with a capital and a full stop"]
            );
        }
        assert_eq!(
            row_with("advice", json!("OBS must exist.")),
            [
                "/x-error-table/1/advice: must not begin with an abbreviation: clients print it \
                 with a small first letter"
            ]
        );
        assert_eq!(row_with("advice", json!("A new token helps.")), [""; 0]);
        assert_eq!(
            row_with(ANY, json!(false)),
            ["/x-error-table/1/any-operation: must be true or left out"]
        );
    }

    #[test]
    fn a_condition_without_a_retry_or_a_message_fires() {
        let retry = |retry| json!({ "read": retry, "idempotent": retry, "create": "never" });
        let conditional = |status, retry, text| {
            row(|row| {
                row["status"] = status;
                row["retry"] = retry;
                row[ONLY_WITH] = text;
            })
        };
        let text = json!("not a directory");
        assert_eq!(
            conditional(json!(400), retry("backoff"), text.clone()),
            [""; 0]
        );
        let message = "/x-error-table/1/retry-only-with: must be text of the message, on a row with \
                       a retry and a message";
        let polled = json!({ "read": "poll", "idempotent": "poll", "create": "poll" });
        for (status, retry, text) in [
            (json!(400), retry("never"), text.clone()),
            (json!(204), polled, text),
            (json!(400), retry("backoff"), json!("")),
            (json!(400), retry("backoff"), json!(true)),
        ] {
            assert_eq!(conditional(status, retry, text), [message]);
        }
    }

    #[test]
    fn rows_out_of_order_and_rows_that_come_twice_fire() {
        let message = "must come after the row before it, by code, then status, and only once";
        let swapped = after(table, |description| {
            description["x-error-table"]
                .as_array_mut()
                .unwrap()
                .swap(0, 1);
        });
        assert_eq!(swapped, [format!("/x-error-table/1: {message}")]);
        let twice = after(table, |description| {
            let rows = description["x-error-table"].as_array_mut().unwrap();
            rows.push(rows.last().unwrap().clone());
        });
        assert_eq!(twice, [format!("/x-error-table/5: {message}")]);
    }

    #[test]
    fn a_code_with_two_statuses_and_one_for_not_yet_are_silent() {
        let second = after(table, |description| {
            let rows = description["x-error-table"].as_array_mut().unwrap();
            let mut row = rows.last().unwrap().clone();
            row["status"] = json!(404);
            rows.push(row);
        });
        assert_eq!(second, [""; 0]);
        let later = row(|row| {
            row["status"] = json!(204);
            row["retry"] = json!({ "read": "poll", "idempotent": "poll", "create": "poll" });
        });
        assert_eq!(later, [""; 0]);
    }

    #[test]
    fn operations_that_name_other_codes_fire() {
        let place = format!("{LIST}/x-error-codes");
        let codes = |codes| with(of_operations, LIST, "x-error-codes", codes);
        for none in [json!(null), json!("ModelArts.2751")] {
            assert_eq!(
                codes(none),
                [format!(
                    "{place}: missing; list the codes that the operation can answer with, [] if it \
                     has none but those of any operation"
                )]
            );
        }
        assert_eq!(
            codes(json!(["ModelArts.2755", { "code": "ModelArts.2751" }])),
            [
                format!("{place}/0: must be a code of x-error-table"),
                format!("{place}/1: must be a code of x-error-table"),
            ]
        );
        assert_eq!(
            codes(json!(["ModelArts.0203"])),
            [format!("{place}/0: can come from any operation; remove it")]
        );
        assert_eq!(
            with(
                of_operations,
                CREATE,
                "x-error-codes",
                json!(["ModelArts.2751", "ModelArts.2751"])
            ),
            [format!(
                "{CREATE}/x-error-codes/1: is named twice; remove one"
            )]
        );
        assert_eq!(codes(json!([])), [""; 0]);
    }

    #[test]
    fn constants_that_are_not_those_of_the_table_fire() {
        let message = "/components/schemas/KnownErrorCode/enum: must list the codes of \
                       x-error-table, in their order";
        for codes in [
            json!(null),
            json!([]),
            json!(["ModelArts.0203", "ModelArts.2751"]),
        ] {
            assert_eq!(with(known, KNOWN, "enum", codes), [message]);
        }
    }
}
