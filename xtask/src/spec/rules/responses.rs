//! Rules on responses: each operation has one success status, and errors of one type.

use serde_json::json;

use super::super::{
    document::{Document, Operation, entries},
    offence::Offence,
    pointer::join,
};

const ERRORS: [&str; 2] = ["4XX", "5XX"];
const API_ERROR: &str = "#/components/responses/ErrorResponse";

pub fn check(document: &Document) -> Vec<Offence> {
    let mut offences: Vec<_> = error_body(document).into_iter().collect();
    for operation in &document.operations {
        offences.extend(of(operation));
    }
    offences
}

/// Checks the responses of an operation. progenitor panics if errors have two types, or if
/// `default` is declared together with a success status.
fn of(operation: &Operation) -> Vec<Offence> {
    let place = join(&operation.place, "responses");
    let mut offences = Vec::new();
    let mut bodies = Vec::new();
    let mut empty = Vec::new();
    for (status, response) in entries(operation.value.get("responses")) {
        let place = join(&place, status);
        let mut offend = |message: &str| offences.push(Offence::new(&place, message));
        match status.as_bytes() {
            [b'2', digits @ ..] if digits.len() == 2 && digits.iter().all(u8::is_ascii_digit) => {
                if response.get("content").is_some() {
                    bodies.push(status.as_str());
                } else {
                    empty.push(status.as_str());
                }
            }
            b"4XX" | b"5XX" => {
                if *response != json!({ "$ref": API_ERROR }) {
                    offend("errors are $ref to components/responses/ErrorResponse");
                }
            }
            b"default" => offend("write 4XX and 5XX; progenitor panics on default"),
            _ => offend("errors are written as 4XX and 5XX, successes with their status"),
        }
    }
    for status in ERRORS {
        if operation
            .value
            .pointer(&format!("/responses/{status}"))
            .is_none()
        {
            offences.push(Offence::new(
                &place,
                format!("has no {status}; any call can fail"),
            ));
        }
    }
    // If another success response has a body, 204 means that the result does not exist yet.
    let one = match bodies.len() {
        0 => empty.len() == 1,
        1 => empty.is_empty() || empty == ["204"],
        _ => false,
    };
    if !one {
        let all = bodies.iter().chain(&empty).copied().collect::<Vec<_>>();
        offences.push(Offence::new(
            &place,
            format!(
                "successes are {}; write one, and beside its body at most 204 without one",
                if all.is_empty() {
                    "missing".into()
                } else {
                    all.join(", ")
                }
            ),
        ));
    }
    offences
}

fn error_body(document: &Document) -> Option<Offence> {
    let place = "/components/responses/ErrorResponse/content/application~1json/schema/$ref";
    let expected = json!("#/components/schemas/ApiError");
    (document.at(place) != Some(&expected))
        .then(|| Offence::new(place, "errors have the schema ApiError"))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{
        super::sample::{LIST, with},
        *,
    };

    fn responses(key: &str, value: Value) -> Vec<String> {
        with(check, &format!("{LIST}/responses"), key, value)
    }

    #[test]
    fn errors_of_another_kind_fire() {
        let place = format!("{LIST}/responses");
        assert_eq!(
            responses("default", json!({ "$ref": API_ERROR })),
            [format!(
                "{place}/default: write 4XX and 5XX; progenitor panics on default"
            )]
        );
        assert_eq!(
            responses("404", json!({ "$ref": API_ERROR })),
            [format!(
                "{place}/404: errors are written as 4XX and 5XX, successes with their status"
            )]
        );
        assert_eq!(
            responses("5XX", json!(null)),
            [format!("{place}: has no 5XX; any call can fail")]
        );
        assert_eq!(
            responses("4XX", json!({ "description": "No." })),
            [format!(
                "{place}/4XX: errors are $ref to components/responses/ErrorResponse"
            )]
        );
        let body = "/components/responses/ErrorResponse/content/application~1json";
        assert_eq!(
            with(check, body, "schema", json!({ "type": "string" })),
            [format!(
                "{body}/schema/$ref: errors have the schema ApiError"
            )]
        );
    }

    #[test]
    fn more_or_less_than_one_success_fires() {
        let place = format!("{LIST}/responses");
        let content = json!({ "description": "Yes.", "content": {} });
        assert_eq!(
            responses("201", content),
            [format!(
                "{place}: successes are 200, 201, 204; write one, and beside its body at most 204 \
                 without one"
            )]
        );
        assert_eq!(
            responses("202", json!({ "description": "Later." })),
            [format!(
                "{place}: successes are 200, 202, 204; write one, and beside its body at most 204 \
                 without one"
            )]
        );
        let create = LIST.replace("/get", "/post");
        assert_eq!(
            with(check, &format!("{create}/responses"), "202", json!(null)),
            [format!(
                "{create}/responses: successes are missing; write one, and beside its body at most \
                 204 without one"
            )]
        );
    }

    #[test]
    fn one_success_is_silent_with_or_without_a_body() {
        assert_eq!(responses("204", json!(null)), [""; 0]);
        // The 204 response is then the only success.
        assert_eq!(responses("200", json!(null)), [""; 0]);
    }
}
