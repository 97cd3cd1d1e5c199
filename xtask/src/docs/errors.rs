//! Generates the text of the reference about error codes.

use serde_json::Value;

use super::fields::{list, text};
use crate::markdown::{collapsed, table};

/// Effects of operations, each with a phrase for the operations that have it.
const EFFECTS: [(&str, &str); 3] = [
    ("read", "reads"),
    ("idempotent", "idempotent calls"),
    ("create", "creations"),
];

/// Returns the rows of `x-error-table`. The result is empty if the table is missing.
fn rows(description: &Value) -> &[Value] {
    let rows = description.get("x-error-table").and_then(Value::as_array);
    rows.map(Vec::as_slice).unwrap_or_default()
}

fn is_of_any_operation(row: &Value) -> bool {
    row["any-operation"] == true
}

fn codes(operation: &Value) -> impl Iterator<Item = &str> {
    list(operation, "x-error-codes").filter_map(Value::as_str)
}

/// Returns the text about the error codes of one operation, except those that any operation can
/// return.
pub fn of_operation(description: &Value, operation: &Value) -> Option<String> {
    let effect = text(operation, "x-effect");
    let own: Vec<&Value> = codes(operation)
        .flat_map(|code| {
            rows(description)
                .iter()
                .filter(move |row| row["code"] == code)
        })
        .collect();
    if own.is_empty() {
        return None;
    }
    let cells: Vec<_> = own
        .iter()
        .map(|row| cells(row, again(text(&row["retry"], effect)).to_owned()))
        .collect();
    let summary = match own.len() {
        1 => "1 error code of its own".to_owned(),
        several => format!("{several} error codes of its own"),
    };
    Some(collapsed(&summary, &table(HEADS, &cells)))
}

/// Returns the section about the error codes that any operation can return.
pub fn section(description: &Value, operations: &[&Value]) -> Option<String> {
    let rows = rows(description);
    if rows.is_empty() {
        return None;
    }
    let of_any = |row: &&Value| is_of_any_operation(row);
    let of_none = |row: &&Value| {
        let named = |operation: &&Value| codes(operation).any(|code| row["code"] == code);
        !is_of_any_operation(row) && !operations.iter().any(named)
    };
    let listed = |rows: Vec<&Value>| {
        let cells: Vec<_> = rows
            .iter()
            .map(|row| cells(row, by_effect(&row["retry"])))
            .collect();
        table(HEADS, &cells)
    };
    let mut section = format!(
        "{INTRODUCTION}\n\n{}",
        listed(rows.iter().filter(of_any).collect())
    );
    let others: Vec<_> = rows.iter().filter(of_none).collect();
    if !others.is_empty() {
        let summary = "Codes that no operation is known to use";
        section += &format!("\n{}", collapsed(summary, &listed(others)));
    }
    Some(section)
}

const INTRODUCTION: &str = "Every operation can answer with these codes, beside those that it \
    lists. The last column is for the same request: `no` means that it fails again, `later` that \
    it may succeed after a while, `when ready` that the thing asked for does not exist yet, \
    `new token` that it succeeds once with a new token.";

const HEADS: [&str; 4] = ["Code", "Status", "Meaning", "Send again"];

fn cells(row: &Value, again: String) -> [String; 4] {
    let again = match row["retry-only-with"].as_str() {
        Some(message) => format!("{again}, if the message contains `{message}`"),
        None => again,
    };
    let status = row["status"].as_u64();
    [
        // The code is not formatted as code, because Redoc would break it inside a word if the
        // column is narrow.
        text(row, "code").to_owned(),
        status.map(|status| status.to_string()).unwrap_or_default(),
        format!("{} {}", text(row, "meaning"), text(row, "advice")),
        again,
    ]
}

fn again(retry: &str) -> &str {
    match retry {
        "never" => "no",
        "backoff" => "later",
        "poll" => "when ready",
        "token" => "new token",
        other => other,
    }
}

/// Returns the value of `retry` if it is the same for each effect, and otherwise the value for each
/// effect.
fn by_effect(retry: &Value) -> String {
    let words = EFFECTS.map(|(effect, calls)| (again(text(retry, effect)), calls));
    if words.iter().all(|(again, _)| *again == words[0].0) {
        return words[0].0.to_owned();
    }
    words
        .map(|(again, calls)| format!("{calls}: {again}"))
        .join("; ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn description() -> Value {
        json!({ "x-error-table": [
            {
                "code": "APIG.0308", "status": 429, "name": "Throttled", "any-operation": true,
                "retry": { "read": "backoff", "idempotent": "backoff", "create": "never" },
                "meaning": "Too many requests.", "advice": "Send fewer.",
            },
            {
                "code": "ModelArts.2751", "status": 400, "name": "DuplicateTrainingJobName",
                "retry": { "read": "never", "idempotent": "never", "create": "never" },
                "meaning": "A job of this name exists.", "advice": "Choose another name.",
            },
            {
                "code": "ModelArts.9", "name": "Unused",
                "retry": { "read": "poll", "idempotent": "poll", "create": "token" },
                "meaning": "Unused.", "advice": "None.",
            },
        ] })
    }

    #[test]
    fn an_operation_lists_its_own_codes() {
        let create = json!({ "x-effect": "create", "x-error-codes": ["ModelArts.2751"] });
        assert_eq!(
            of_operation(&description(), &create).unwrap(),
            "<details>\n<summary>1 error code of its own</summary>\n\n\
             | Code | Status | Meaning | Send again |\n\
             | --- | --- | --- | --- |\n\
             | ModelArts.2751 | 400 | A job of this name exists. Choose another name. | no |\n\
             \n</details>\n"
        );
        let both =
            json!({ "x-effect": "read", "x-error-codes": ["ModelArts.2751", "ModelArts.9"] });
        let text = of_operation(&description(), &both).unwrap();
        assert!(text.contains("<summary>2 error codes of its own</summary>"));
        assert!(text.contains("| ModelArts.9 |  | Unused. None. | when ready |\n"));
    }

    #[test]
    fn a_condition_on_the_message_stands_beside_the_retry() {
        let mut description = description();
        let row = &mut description["x-error-table"][1];
        row["retry"]["create"] = json!("backoff");
        row["retry-only-with"] = json!("not a directory");
        let create = json!({ "x-effect": "create", "x-error-codes": ["ModelArts.2751"] });
        let text = of_operation(&description, &create).unwrap();
        assert!(text.contains(
            " Choose another name. | later, if the message contains `not a directory` |\n"
        ));
    }

    #[test]
    fn without_codes_or_table_there_is_no_list() {
        let create = json!({ "x-effect": "create", "x-error-codes": ["ModelArts.2751"] });
        assert_eq!(of_operation(&json!({}), &create), None);
        assert_eq!(of_operation(&description(), &json!({})), None);
        assert_eq!(section(&json!({}), &[&create]), None);
    }

    #[test]
    fn the_section_has_every_code_that_no_operation_names() {
        let create = json!({ "x-effect": "create", "x-error-codes": ["ModelArts.2751"] });
        let text = section(&description(), &[&create]).unwrap();
        assert!(text.contains(
            "| APIG.0308 | 429 | Too many requests. Send fewer. | \
             reads: later; idempotent calls: later; creations: no |\n"
        ));
        assert!(!text.contains("ModelArts.2751"));
        let (of_any, of_none) = text.split_once("<details>").unwrap();
        assert!(!of_any.contains("ModelArts.9"));
        assert!(of_none.contains("<summary>Codes that no operation is known to use</summary>"));
        assert!(of_none.contains("ModelArts.9"));
    }
}
