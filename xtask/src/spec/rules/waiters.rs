//! Rule on `x-waiters`: operations that clients poll until a field of the response has a final
//! value.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    super::{
        document::{Document, list},
        offence::Offence,
        pointer::join,
    },
    events::Names,
    form,
    pagination::field,
};

const PLACE: &str = "/x-waiters";

/// Checks the form of the extension, then its names. The values of outcomes must exist, because a
/// waiter for an impossible value would never end.
pub fn check(document: &Document) -> Vec<Offence> {
    let Some(waiters) = document.root.get("x-waiters") else {
        return vec![Offence::new(PLACE, "missing; list the waiters")];
    };
    let mut offences = form::offences(PLACE, &schema(), waiters);
    if !offences.is_empty() {
        return offences;
    }
    let rows = list(document.root.get("x-error-table")).iter();
    let codes: BTreeSet<_> = rows.filter_map(|row| row.get("code")?.as_str()).collect();
    let mut names = Names::default();
    for (index, waiter) in list(Some(waiters)).iter().enumerate() {
        let place = format!("{PLACE}/{index}");
        names.insert(join(&place, "name"), &waiter["name"], &mut offences);
        let mut offend = |key: &str, message: String| {
            offences.push(Offence::new(join(&place, key), message));
        };
        let text = |key: &str| waiter[key].as_str().unwrap_or_default();
        let (id, path) = (text("operation"), text("field"));
        let mut operations = document.operations.iter();
        let Some(operation) = operations.find(|it| it.value["operationId"] == *id) else {
            offend("operation", format!("there is no operation {id}"));
            continue;
        };
        let Some(schema) = field(document, operation, path) else {
            offend("field", format!("the answer of {id} has no field {path}"));
            continue;
        };
        let known = document.known_values(schema);
        let outcomes = list(waiter.get("outcomes"));
        if !outcomes.iter().any(|it| it["outcome"] == "success") {
            offend("outcomes", "one must be success".to_owned());
        }
        let mut conditions = Names::default();
        for (index, outcome) in outcomes.iter().enumerate() {
            for key in ["value", "error"] {
                let Some(condition) = outcome.get(key) else {
                    continue;
                };
                let place = format!("{place}/outcomes/{index}/{key}");
                if key == "value" && !known.contains(condition) {
                    let message = format!("{path} has no value {condition}");
                    offences.push(Offence::new(&place, message));
                }
                let code = condition.as_str().unwrap_or_default();
                if key == "error" && !codes.contains(code) {
                    let message = format!("{code} must be a code of x-error-table");
                    offences.push(Offence::new(&place, message));
                }
                conditions.insert(place, condition, &mut offences);
            }
        }
    }
    offences
}

/// Returns the form of the extension, as a JSON Schema.
fn schema() -> Value {
    let text = json!({ "type": "string", "minLength": 1 });
    let outcome = json!({ "enum": ["success", "failure", "terminated", "gone"] });
    let outcome_of = |key: &str, schema: Value| {
        json!({
            "type": "object",
            "required": [key, "outcome"],
            "additionalProperties": false,
            "properties": { key: schema, "outcome": outcome },
        })
    };
    json!({ "type": "array", "items": {
        "type": "object",
        "required": ["name", "description", "operation", "field", "outcomes"],
        "additionalProperties": false,
        "properties": {
            "name": { "type": "string", "pattern": "^([A-Z][a-z]+)+$" },
            "description": { "type": "string", "pattern": "^Waits until .*\\.$" },
            "operation": text,
            "field": text,
            "outcomes": { "type": "array", "items": { "oneOf": [
                outcome_of("value", text.clone()),
                outcome_of("error", json!({ "type": "string", "pattern": "^[A-Z][A-Za-z]+\\.[0-9]+$" })),
            ] } },
        },
    } })
}

#[cfg(test)]
mod tests {
    use super::{
        super::sample::{after, with},
        *,
    };

    const WAITER: &str = "/x-waiters/0";

    #[test]
    fn another_form_fires() {
        for (key, value, message) in [
            (
                "delay",
                json!(5),
                ": Additional properties are not allowed ('delay' was unexpected)",
            ),
            ("field", json!(null), ": \"field\" is a required property"),
            (
                "name",
                json!("jobRuns"),
                "/name: \"jobRuns\" does not match \"^([A-Z][a-z]+)+$\"",
            ),
            (
                "description",
                json!("The job runs."),
                "/description: \"The job runs.\" does not match \"^Waits until .*\\.$\"",
            ),
        ] {
            let (place, message) = message.split_once(": ").unwrap();
            assert_eq!(
                with(check, WAITER, key, value),
                [format!(
                    "{WAITER}{place}: must fit the form of x-waiters: {message}"
                )]
            );
        }
        for wrong in [
            json!({"outcome": "success"}),
            json!({"value": "Running", "error": "ModelArts.2775", "outcome": "success"}),
            json!({"error": "2775", "outcome": "gone"}),
            json!({"value": "Running", "outcome": "done"}),
        ] {
            let outcomes = json!([wrong]);
            let offences = with(check, WAITER, "outcomes", outcomes);
            assert_eq!(offences.len(), 1, "{offences:?}");
            assert!(
                offences[0]
                    .starts_with("/x-waiters/0/outcomes/0: must fit the form of x-waiters: "),
                "{offences:?}"
            );
        }
    }

    #[test]
    fn names_of_nothing_fire() {
        assert_eq!(
            with(check, WAITER, "operation", json!("ShowJob")),
            [format!("{WAITER}/operation: there is no operation ShowJob")]
        );
        assert_eq!(
            with(check, WAITER, "field", json!("first.state")),
            [format!(
                "{WAITER}/field: the answer of ListJobs has no field first.state"
            )]
        );
        assert_eq!(
            with(
                check,
                &format!("{WAITER}/outcomes/0"),
                "value",
                json!("Runs")
            ),
            [format!(
                "{WAITER}/outcomes/0/value: first.phase has no value \"Runs\""
            )]
        );
        // A waiter needs a field with known values.
        assert_eq!(
            with(check, WAITER, "field", json!("first.name")),
            [format!(
                "{WAITER}/outcomes/0/value: first.name has no value \"Running\""
            )]
        );
    }

    #[test]
    fn what_stands_twice_and_no_success_fire() {
        let twice = after(check, |description| {
            let waiters = description["x-waiters"].as_array_mut().unwrap();
            let outcomes = waiters[0]["outcomes"].as_array_mut().unwrap();
            outcomes.push(outcomes[1].clone());
            waiters.push(waiters[0].clone());
        });
        assert_eq!(
            twice,
            [
                "/x-waiters/0/outcomes/2/error: stands twice: ModelArts.2775",
                "/x-waiters/1/name: stands twice: JobRunning",
                "/x-waiters/1/outcomes/2/error: stands twice: ModelArts.2775",
            ]
        );
        assert_eq!(
            with(
                check,
                &format!("{WAITER}/outcomes/0"),
                "outcome",
                json!("failure")
            ),
            [format!("{WAITER}/outcomes: one must be success")]
        );
    }

    #[test]
    fn a_code_that_is_not_in_the_table_fires() {
        let place = format!("{WAITER}/outcomes/1");
        assert_eq!(
            with(check, &place, "error", json!("ModelArts.2776")),
            [format!(
                "{place}/error: ModelArts.2776 must be a code of x-error-table"
            )]
        );
    }

    #[test]
    fn missing_waiters_fire() {
        assert_eq!(
            with(check, "", "x-waiters", json!(null)),
            ["/x-waiters: missing; list the waiters"]
        );
    }
}
