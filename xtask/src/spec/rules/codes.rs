//! Rules on error codes: the table of the description, and the codes that operations list.

use std::collections::BTreeSet;

use serde_json::json;

use super::super::{document::Document, report::Report};
use crate::codegen::{extensions::Retry, pointer::join};

/// Checks the rows of the table, by which clients decide about retries.
pub fn table(document: &Document, report: &mut Report) {
    let rows = &document.extensions.x_error_table;
    for (index, row) in rows.iter().enumerate() {
        let place = join("/x-error-table", &index.to_string());
        let retries = [row.retry.read, row.retry.idempotent, row.retry.create];
        let advice = row.advice.chars().nth(1);
        let is_empty = row.retry_only_with.as_ref().is_some_and(String::is_empty);
        // A 204 response has no message, and a condition has no effect on `never`.
        let admits_condition = row.status != 204 && retries != [Retry::Never; 3] && !is_empty;
        report.sentence(join(&place, "meaning"), &row.meaning);
        report.sentence(join(&place, "advice"), &row.advice);
        for (holds, key, message) in [
            (is_code(&row.code), "code", "must be ModelArts. or APIG. with at least four digits"),
            (
                // The codes for a result that is not ready yet have the status 204.
                match row.status {
                    204 => retries == [Retry::Poll; 3],
                    status => (400..600).contains(&status),
                },
                "status",
                "must be 400 to 599, or 204 where retry is poll",
            ),
            (
                !row.name.is_empty() && row.name.chars().all(|c| c.is_ascii_alphanumeric()),
                "name",
                "must be a word of letters and digits",
            ),
            (
                !advice.is_some_and(char::is_uppercase),
                "advice",
                "must not begin with an abbreviation: clients print it with a small first letter",
            ),
            (
                row.retry_only_with.is_none() || admits_condition,
                "retry-only-with",
                "must be text of the message, on a row with a retry and a message",
            ),
            (
                index == 0 || {
                    let last = &rows[index - 1];
                    (&last.code, last.status) < (&row.code, row.status)
                },
                "code",
                "must come after that of the row before, by code, then status, and only once",
            ),
        ] {
            report.must(holds, join(&place, key), message);
        }
    }
}

fn is_code(code: &str) -> bool {
    let number = code.strip_prefix("ModelArts.").or(code.strip_prefix("APIG."));
    number.is_some_and(|digits| digits.len() >= 4 && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Checks the codes that operations list. Codes that any operation can return must not be listed,
/// so that a change of such a code affects only the table.
pub fn of_operations(document: &Document, report: &mut Report) {
    let rows = &document.extensions.x_error_table;
    for operation in &document.operations {
        let place = join(&operation.place, "x-error-codes");
        let codes = operation.extensions.x_error_codes.iter().enumerate();
        let codes = codes.map(|(index, code)| (join(&place, &index.to_string()), code.as_str()));
        for (place, code) in codes.clone() {
            let mut found = rows.iter().filter(|row| row.code == code).peekable();
            report.must(
                found.peek().is_some() && found.all(|row| !row.any_operation),
                place,
                format!("must be a code of x-error-table, and none of any operation: {code}"),
            );
        }
        report.unique(codes);
    }
}

/// Checks the schema of known error codes, from whose values generators define constants.
pub fn known(document: &Document, report: &mut Report) {
    let rows = document.extensions.x_error_table.iter();
    let codes: BTreeSet<_> = rows.map(|row| row.code.as_str()).collect();
    let place = "/components/schemas/KnownErrorCode/enum";
    report.must(
        document.root.pointer(place) == Some(&json!(codes)),
        place.to_owned(),
        "must list the codes of x-error-table, in their order",
    );
}
