//! Row of the description's table of errors that has a number, and the text of its message.

use modelarts_api::{ERROR_CODES, ErrorCode};

/// Returns the row of `ModelArts.<number>` that has the message of the service.
pub(super) fn row(number: u16) -> Option<&'static ErrorCode> {
    let code = code(number);
    let mut rows = ERROR_CODES.iter();
    rows.find(|row| row.code == code && row.message.is_some())
}

pub(super) fn code(number: u16) -> String {
    format!("ModelArts.{number:04}")
}

/// Fills the placeholders `%s` and `%d` of a message, from left to right.
pub(super) fn fill(message: &str, values: &[&str]) -> String {
    let mut text = String::new();
    let mut values = values.iter();
    let mut rest = message;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        text.push_str(values.next().unwrap_or(&""));
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::error::ApiError;

    #[test]
    fn errors_without_a_message_in_the_table_are_described() {
        let errors = [ApiError::events_query()].map(|error| (error.code, error.status.as_u16()));
        // The last two errors are those of injected faults that specify only a status.
        let faults = [(code(2799), 429), (code(2950), 500)];
        for (code, status) in errors.into_iter().chain(faults) {
            let mut rows = ERROR_CODES.iter();
            assert!(rows.any(|row| row.code == code && row.status == status), "{code}");
        }
    }

    #[test]
    fn placeholders_are_filled_from_the_left() {
        for (number, values, message) in [
            (
                2793,
                &["17", "16"][..],
                "The number of flavor instances (17) exceeds the maximum (16).",
            ),
            (2758, &[], "code startup file path error."),
            (2775, &["a%sb"], "Training job (ID: a%sb) not found."),
        ] {
            assert_eq!(ApiError::of(number, values).message, message);
        }
    }

    #[test]
    fn each_number_has_one_row_with_a_message() {
        let mut codes: Vec<&str> =
            ERROR_CODES.iter().filter(|row| row.message.is_some()).map(|row| row.code).collect();
        codes.sort_unstable();
        assert!(codes.is_sorted_by(|one, next| one < next), "{codes:?}");
    }
}
