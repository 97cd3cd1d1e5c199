//! Generates the text of the reference about events and waiters.

use serde_json::Value;

use super::fields::{list, text};
use crate::markdown::{code, table};

/// Returns the section about the events of a job.
pub fn events(description: &Value) -> Option<String> {
    let events = description.get("x-events")?;
    let mut section = "An event has no field for its kind: clients read the kind from the text. \
        Words in braces stand for what the service fills in; they are explained at the end.\n"
        .to_owned();
    for kind in list(events, "kinds") {
        section += &format!(
            "\n### {}\n\n{}, source `{}`. {}{}\n\n{}",
            text(kind, "kind"),
            text(kind, "level"),
            text(kind, "source"),
            text(kind, "when"),
            match kind["final"] == true {
                true => " The job does nothing more afterwards.",
                false => "",
            },
            texts(&kind["texts"]),
        );
    }
    section += "\n## Placeholders\n\n";
    for placeholder in list(events, "placeholders") {
        section += &format!(
            "- {}, such as {}: {} Pattern: {}\n",
            code(&format!("{{{}}}", text(placeholder, "name"))),
            code(text(placeholder, "example")),
            text(placeholder, "description"),
            code(text(placeholder, "pattern")),
        );
    }
    Some(section)
}

/// Returns the texts of one kind: those of the user guide, then the different wordings in
/// responses.
fn texts(texts: &Value) -> String {
    let mut lines = String::new();
    for (key, note) in [("guide", ""), ("api", " (from the API)")] {
        for text in list(texts, key).filter_map(Value::as_str) {
            lines += &format!("- {}{note}\n", code(text));
        }
    }
    lines
}

/// Returns the section about waiters. `link` returns the link to an operation.
pub fn waiters(description: &Value, link: impl Fn(&str) -> Option<String>) -> Option<String> {
    let waiters = description.get("x-waiters")?.as_array()?;
    let mut section =
        "A waiter repeats a call until the field, or an error, has one of the listed \
        values. With every other value, also an unknown one, it goes on waiting.\n"
            .to_owned();
    for waiter in waiters {
        let operation = text(waiter, "operation");
        let name = match link(operation) {
            Some(link) => format!("[{operation}]({link})"),
            None => operation.to_owned(),
        };
        let outcomes: Vec<_> = list(waiter, "outcomes")
            .map(|outcome| {
                let seen = match (outcome["value"].as_str(), outcome["error"].as_str()) {
                    (Some(value), _) => code(value),
                    (None, Some(error)) => format!("error {}", code(error)),
                    (None, None) => String::new(),
                };
                [seen, text(outcome, "outcome").to_owned()]
            })
            .collect();
        section += &format!(
            "\n## {}\n\n{} Calls {name} and reads {}.\n\n{}",
            text(waiter, "name"),
            text(waiter, "description"),
            code(text(waiter, "field")),
            table(["Value", "Outcome"], &outcomes),
        );
    }
    Some(section)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_of_event_has_its_texts() {
        let description = json!({ "x-events": {
            "placeholders": [{
                "name": "task", "pattern": "[^:]+", "example": "worker-0", "description": "Name of a task.",
            }],
            "kinds": [
                {
                    "kind": "Started", "source": "Task", "level": "Info", "when": "The task starts.",
                    "texts": { "guide": ["Task [{task}] started."], "api": ["[{task}] started."] },
                },
                {
                    "kind": "Ended", "source": "Job", "level": "Error", "when": "The job fails.",
                    "final": true, "texts": { "guide": [], "api": ["Failed."] },
                },
            ],
        } });
        let text = events(&description).unwrap();
        let (_, text) = text.split_once("\n\n").unwrap();
        assert_eq!(
            text,
            "### Started\n\nInfo, source `Task`. The task starts.\n\n\
             - `Task [{task}] started.`\n- `[{task}] started.` (from the API)\n\n\
             ### Ended\n\nError, source `Job`. The job fails. The job does nothing more \
             afterwards.\n\n\
             - `Failed.` (from the API)\n\n\
             ## Placeholders\n\n\
             - `{task}`, such as `worker-0`: Name of a task. Pattern: `[^:]+`\n"
        );
        assert_eq!(events(&json!({})), None);
    }

    #[test]
    fn each_waiter_has_its_outcomes() {
        let description = json!({ "x-waiters": [{
            "name": "JobEnded", "description": "Waits for the end of a job.",
            "operation": "ShowJob", "field": "status.phase",
            "outcomes": [
                { "value": "Completed", "outcome": "success" },
                { "error": "ModelArts.2775", "outcome": "gone" },
            ],
        }] });
        let link = |operation: &str| Some(format!("#operation/{operation}"));
        let text = waiters(&description, link).unwrap();
        let (_, text) = text.split_once("\n\n## ").unwrap();
        assert_eq!(
            text,
            "JobEnded\n\nWaits for the end of a job. Calls [ShowJob](#operation/ShowJob) and reads \
             `status.phase`.\n\n\
             | Value | Outcome |\n\
             | --- | --- |\n\
             | `Completed` | success |\n\
             | error `ModelArts.2775` | gone |\n"
        );
        assert_eq!(waiters(&json!({}), link), None);
    }
}
