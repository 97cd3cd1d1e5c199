//! Rules on descriptions: each visible part has at least one sentence.

use serde_json::Value;

use super::super::{
    document::{Document, Role, entries, reference},
    offence::Offence,
    pointer::join,
};

pub fn check(document: &Document) -> Vec<Offence> {
    let mut offences = Vec::new();
    let mut must = |place: &str, value: &Value| {
        let place = join(place, "description");
        match value.get("description").and_then(Value::as_str) {
            None => offences.push(Offence::new(place, "missing; write at least one sentence")),
            Some(text) if !is_sentence(text) => offences.push(Offence::new(
                place,
                "write a sentence: begin with a capital letter, a digit or code, end with a full stop",
            )),
            Some(_) => {}
        }
    };
    if let Some(info) = document.at("/info") {
        must("/info", info);
    }
    for schema in &document.schemas {
        let named = matches!(schema.role, Role::Named(_) | Role::Property);
        if named && reference(schema.value).is_none() {
            must(&schema.place, schema.value);
        }
    }
    for parameter in &document.parameters {
        must(&parameter.place, parameter.value);
    }
    for (name, response) in entries(document.at("/components/responses")) {
        must(&join("/components/responses", name), response);
    }
    for operation in &document.operations {
        must(&operation.place, operation.value);
        if let Some(body) = operation.value.get("requestBody") {
            must(&join(&operation.place, "requestBody"), body);
        }
        let responses = join(&operation.place, "responses");
        for (status, response) in entries(operation.value.get("responses")) {
            if response.get("$ref").is_none() {
                must(&join(&responses, status), response);
            }
        }
    }
    for operation in &document.operations {
        if operation
            .value
            .get("summary")
            .and_then(Value::as_str)
            .is_none_or(str::is_empty)
        {
            offences.push(Offence::new(
                join(&operation.place, "summary"),
                "missing; write in a few words what it does",
            ));
        }
    }
    // Skips references, because a property that is a reference cannot have a description.
    for schema in &document.schemas {
        if schema.role == Role::Property && reference(schema.value).is_some() {
            offences.push(Offence::new(
                &schema.place,
                "a bare reference has no description; wrap it: description and allOf: [$ref]",
            ));
        }
    }
    offences
}

/// Maximum length of `info.description`, in characters. Generators repeat this text in every file.
const LONGEST_INFO: usize = 700;

/// Checks the length of `info.description`.
pub fn info(document: &Document) -> Vec<Offence> {
    let text = document.at("/info/description").and_then(Value::as_str);
    let length = text.unwrap_or_default().chars().count();
    let message = format!("has {length} characters; write at most {LONGEST_INFO}");
    (length > LONGEST_INFO)
        .then(|| Offence::new("/info/description", message))
        .into_iter()
        .collect()
}

/// Words that begin a question or a subordinate clause. A description must begin with the name of
/// its subject instead.
const QUESTION_WORDS: [&str; 7] = ["What", "Whether", "Who", "Whose", "Where", "When", "How"];

/// Checks the first word of every description and summary.
pub fn first_word(document: &Document) -> Vec<Offence> {
    let question_word = |text: &str| {
        let letters = text.split(|next: char| !next.is_alphabetic());
        let first = letters.into_iter().next().unwrap_or_default();
        QUESTION_WORDS.into_iter().find(|word| *word == first)
    };
    document
        .texts()
        .into_iter()
        .filter_map(|(place, text)| {
            let word = question_word(text)?;
            let message =
                format!("begins with {word}; name the thing first, or write: True if ...");
            Some(Offence::new(place, message))
        })
        .collect()
}

/// Returns true if the first paragraph is a sentence, or introduces a list.
fn is_sentence(text: &str) -> bool {
    let paragraph = text.trim().split("\n\n").next().unwrap_or_default();
    let begins = paragraph
        .chars()
        .next()
        .is_some_and(|first| first.is_uppercase() || first.is_ascii_digit() || first == '`');
    // A list may directly follow its introduction, without a blank line.
    let sentence = paragraph
        .split("\n- ")
        .next()
        .unwrap_or_default()
        .trim_end();
    begins && (sentence.ends_with('.') || sentence.ends_with(':'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::sample::{CREATE, JOB, LIST, property_x, with, with_property},
        *,
    };

    #[test]
    fn what_is_not_described_fires() {
        for place in [
            JOB,
            LIST,
            "/info",
            "/components/parameters/OffsetParameter",
            "/components/responses/ErrorResponse",
            "/components/schemas/Job/properties/name",
            &format!("{LIST}/parameters/2"),
            &format!("{LIST}/responses/200"),
            &format!("{CREATE}/requestBody"),
        ] {
            assert_eq!(
                with(check, place, "description", json!(null)),
                [format!(
                    "{place}/description: missing; write at least one sentence"
                )]
            );
        }
        assert_eq!(
            with(check, LIST, "summary", json!("")),
            [format!(
                "{LIST}/summary: missing; write in a few words what it does"
            )]
        );
        let reference = json!({ "$ref": "#/components/schemas/Phase" });
        assert_eq!(
            with_property(check, reference),
            [format!(
                "{}: a bare reference has no description; wrap it: description and allOf: [$ref]",
                property_x()
            )]
        );
    }

    #[test]
    fn an_info_that_is_long_fires() {
        let text = |length| json!("A".repeat(length));
        assert_eq!(with(info, "/info", "description", text(700)), [""; 0]);
        assert_eq!(
            with(info, "/info", "description", text(701)),
            ["/info/description: has 701 characters; write at most 700"]
        );
    }

    #[test]
    fn a_question_word_at_the_beginning_fires() {
        for (text, word) in [
            ("What the job runs.", "What"),
            ("Whether it runs.", "Whether"),
            ("Who created it.", "Who"),
            ("Whose job it is.", "Whose"),
            ("Where it runs.", "Where"),
            ("When it began.", "When"),
            ("How many run.", "How"),
            ("What's new.", "What"),
        ] {
            assert_eq!(
                with(first_word, JOB, "description", json!(text)),
                [format!(
                    "{JOB}/description: begins with {word}; name the thing first, or write: \
                     True if ..."
                )]
            );
        }
        assert_eq!(
            with(first_word, LIST, "summary", json!("Where to save it")),
            [format!(
                "{LIST}/summary: begins with Where; name the thing first, or write: True if ..."
            )]
        );
    }

    #[test]
    fn question_words_elsewhere_are_silent() {
        for text in [
            "The place where it runs.",
            "However many run.",
            "`When` as code.",
        ] {
            assert_eq!(
                with(first_word, JOB, "description", json!(text)),
                [""; 0],
                "{text}"
            );
        }
        let example = json!({ "description": "What a user wrote." });
        assert_eq!(with(first_word, JOB, "example", example), [""; 0]);
    }

    #[test]
    fn question_words_in_extensions_fire() {
        for (place, key) in [
            ("/x-error-table/1", "meaning"),
            ("/x-error-table/1", "advice"),
            ("/x-events/kinds/0", "when"),
        ] {
            assert_eq!(
                with(first_word, place, key, json!("When it starts.")),
                [format!(
                    "{place}/{key}: begins with When; name the thing first, or write: True if ..."
                )]
            );
        }
    }

    #[test]
    fn what_is_no_sentence_fires() {
        for text in ["", " ", "The name", "the name.", "The name\n\nMore."] {
            assert_eq!(
                with(check, JOB, "description", json!(text)),
                [format!(
                    "{JOB}/description: write a sentence: begin with a capital letter, a digit or \
                     code, end with a full stop"
                )],
                "{text}"
            );
        }
    }

    #[test]
    fn sentences_and_lists_are_silent() {
        for text in [
            "The name.",
            "`a` or `b`.\n\n- more",
            "One of:\n- a\n- b",
            "2 of them.",
        ] {
            assert_eq!(with(check, JOB, "description", json!(text)), [""; 0]);
        }
    }
}
