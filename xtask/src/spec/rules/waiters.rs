//! Rule on `x-waiters`: operations that clients poll until a field of the response has a final
//! value. The values must exist, because a waiter for an impossible value would never end.

use heck::ToUpperCamelCase;

use super::super::{
    document::{Document, OutcomeKind},
    report::Report,
};

pub fn check(document: &Document, report: &mut Report) {
    let waiters = document.extensions.x_waiters.iter().enumerate();
    for (index, waiter) in waiters.clone() {
        let place = |key: &str| format!("/x-waiters/{index}/{key}");
        let name = waiter.name.to_upper_camel_case();
        report.must(name == waiter.name, place("name"), "must be in PascalCase");
        report.sentence(place("description"), &waiter.description);
        let begins = waiter.description.starts_with("Waits until ");
        report.must(begins, place("description"), "must begin with: Waits until");
        let succeeds = waiter.outcomes.iter().any(|it| it.outcome == OutcomeKind::Success);
        report.must(succeeds, place("outcomes"), "must have a success");
        let (id, path) = (&waiter.operation, &waiter.field);
        let mut operations = document.operations.iter();
        let Some(operation) = operations.find(|it| it.inner.id == id) else {
            report.add(place("operation"), format!("must be an operation: {id}"));
            continue;
        };
        let Some(schema) = document.field(operation, path) else {
            report.add(place("field"), format!("must be a field of the answer of {id}: {path}"));
            continue;
        };
        let known = document.known_values(schema);
        let rows = &document.extensions.x_error_table;
        for (index, it) in waiter.outcomes.iter().enumerate() {
            let (holds, message) = match (&it.value, &it.error) {
                (Some(value), None) => (
                    known.contains(&value.as_str()),
                    format!("must have a value of {path}: {value}"),
                ),
                (None, Some(code)) => {
                    let is_known = rows.iter().any(|row| row.code == *code);
                    (is_known, format!("must have a code of x-error-table: {code}"))
                }
                _ => (false, "must have either value or error".to_owned()),
            };
            report.must(holds, place(&format!("outcomes/{index}")), message);
        }
        let conditions = waiter.outcomes.iter().enumerate().map(|(index, it)| {
            let condition = it.value.as_deref().or(it.error.as_deref());
            (place(&format!("outcomes/{index}")), condition.unwrap_or_default())
        });
        report.unique(conditions);
    }
    report
        .unique(waiters.map(|(index, it)| (format!("/x-waiters/{index}/name"), it.name.as_str())));
}
