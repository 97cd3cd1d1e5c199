//! `x-error-codes`: the codes an operation can answer with.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::{
    document::{Document, Operation, entries, list},
    offence::Offence,
    pointer::join,
};

const RETRIES: [&str; 4] = ["never", "backoff", "poll", "token"];

pub fn check(document: &Document) -> Vec<Offence> {
    document.operations.iter().flat_map(of).collect()
}

fn of(operation: &Operation) -> Vec<Offence> {
    let place = join(&operation.place, "x-error-codes");
    let rows = list(operation.value.get("x-error-codes"));
    if rows.is_empty() {
        let message = "missing; list the codes that the operation can answer with";
        return vec![Offence::new(place, message)];
    }
    let mut seen = BTreeSet::new();
    let mut offences = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let place = join(&place, &index.to_string());
        let mut offend = |key: &str, message: &str| {
            offences.push(Offence::new(join(&place, key), message));
        };
        let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default();
        if !is_code(text("code")) {
            offend("code", "write ModelArts. and at least four digits");
        }
        let status = row.get("status").and_then(Value::as_u64);
        // The service binds codes for "not yet" to 204.
        let admitted =
            |status| (400..600).contains(&status) || (status, text("retry")) == (204, "poll");
        if !status.is_some_and(admitted) {
            offend(
                "status",
                "write the HTTP status: 400 to 599, or 204 with poll",
            );
        }
        if !RETRIES.contains(&text("retry")) {
            offend("retry", "write never, backoff, poll or token");
        }
        if entries(Some(row)).count() != 3 {
            offend("", "has code, status and retry, and nothing else");
        }
        if !seen.insert((text("code"), status)) {
            offend("code", "stands here twice with this status; remove one");
        }
    }
    offences
}

fn is_code(code: &str) -> bool {
    code.strip_prefix("ModelArts.")
        .is_some_and(|digits| digits.len() >= 4 && digits.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::sample::{LIST, with},
        *,
    };

    fn rows(rows: Value) -> Vec<String> {
        with(check, LIST, "x-error-codes", rows)
    }

    #[test]
    fn codes_that_are_missing_or_malformed_fire() {
        let place = format!("{LIST}/x-error-codes");
        for none in [json!(null), json!([])] {
            assert_eq!(
                rows(none),
                [format!(
                    "{place}: missing; list the codes that the operation can answer with"
                )]
            );
        }
        for code in ["ModelArts.275", "ModelArts.27a5", "APIG.0308", "2755"] {
            assert_eq!(
                rows(json!([{ "code": code, "status": 400, "retry": "never" }])),
                [format!(
                    "{place}/0/code: write ModelArts. and at least four digits"
                )]
            );
        }
        for status in [json!(204), json!("400"), json!(600)] {
            assert_eq!(
                rows(json!([{ "code": "ModelArts.2755", "status": status, "retry": "never" }])),
                [format!(
                    "{place}/0/status: write the HTTP status: 400 to 599, or 204 with poll"
                )]
            );
        }
        assert_eq!(
            rows(json!([{ "code": "ModelArts.2755", "status": 400, "retry": "once" }])),
            [format!(
                "{place}/0/retry: write never, backoff, poll or token"
            )]
        );
        let row = json!({ "code": "ModelArts.2755", "status": 400, "retry": "never" });
        assert_eq!(
            rows(json!([row, row])),
            [format!(
                "{place}/1/code: stands here twice with this status; remove one"
            )]
        );
        assert_eq!(
            rows(
                json!([{ "code": "ModelArts.2755", "status": 400, "retry": "never", "note": "" }])
            ),
            [format!(
                "{place}/0/: has code, status and retry, and nothing else"
            )]
        );
    }

    #[test]
    fn rows_of_the_known_shape_are_silent() {
        let later = json!({ "code": "ModelArts.2776", "status": 204, "retry": "poll" });
        assert_eq!(rows(json!([later])), [""; 0]);
        for retry in RETRIES {
            let row = json!({ "code": "ModelArts.50004000", "status": 400, "retry": retry });
            assert_eq!(rows(json!([row])), [""; 0]);
        }
    }
}
