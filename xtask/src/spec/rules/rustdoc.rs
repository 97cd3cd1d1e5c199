//! Rules on descriptions as Rust documentation, in which some Markdown would unintentionally become
//! tests, links or HTML.

use super::super::{document::Document, offence::Offence};

pub fn check(document: &Document) -> Vec<Offence> {
    document
        .texts()
        .into_iter()
        .filter_map(|(place, text)| Some(Offence::new(place, wrong(text)?)))
        .collect()
}

fn wrong(text: &str) -> Option<&'static str> {
    if text
        .lines()
        .any(|line| line.starts_with("    ") || line.starts_with('\t'))
    {
        return Some("an indented line is a code block, which rustdoc runs as a test; unindent it");
    }
    if text.lines().any(|line| line.trim() == "```") && !fenced(text) {
        return Some("a fence without a language is a test for rustdoc; write ```text");
    }
    let prose = prose(text);
    if prose.contains('`') {
        return Some("a backtick has no partner; close the code or write the character in words");
    }
    if prose.contains("http://") || prose.contains("https://") {
        return Some("put the address into backticks; rustdoc warns about bare ones");
    }
    if prose.contains(['[', ']', '<', '>']) {
        return Some("put brackets into backticks; rustdoc reads links and HTML otherwise");
    }
    None
}

/// Returns true if every code block names its language.
fn fenced(text: &str) -> bool {
    text.lines()
        .map(str::trim)
        .filter(|line| line.starts_with("```"))
        .enumerate()
        .all(|(index, line)| (line == "```") != index.is_multiple_of(2))
}

/// Returns the text without code blocks and inline code.
fn prose(text: &str) -> String {
    let mut inside = false;
    let unfenced: Vec<&str> = text
        .lines()
        .filter(|line| {
            let fence = line.trim().starts_with("```");
            inside ^= fence;
            !fence && !inside
        })
        .collect();
    // Parts at odd indexes are between backticks, except for the last part: its opening backtick is
    // not closed.
    let joined = unfenced.join("\n");
    let parts: Vec<&str> = joined.split('`').collect();
    let mut prose: String = parts.iter().step_by(2).copied().collect();
    if parts.len().is_multiple_of(2) {
        prose.push('`');
    }
    prose
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::sample::{JOB, LIST, with},
        *,
    };

    #[test]
    fn markdown_that_nobody_meant_fires() {
        for (text, message) in [
            (
                "Code:\n\n    let a;",
                "an indented line is a code block, which rustdoc runs as a test; unindent it",
            ),
            (
                "Code:\n```\nlet a;\n```",
                "a fence without a language is a test for rustdoc; write ```text",
            ),
            (
                "An `a.",
                "a backtick has no partner; close the code or write the character in words",
            ),
            (
                "See https://example.com.",
                "put the address into backticks; rustdoc warns about bare ones",
            ),
            (
                "One of [a, b].",
                "put brackets into backticks; rustdoc reads links and HTML otherwise",
            ),
            (
                "At most <n>.",
                "put brackets into backticks; rustdoc reads links and HTML otherwise",
            ),
        ] {
            assert_eq!(
                with(check, JOB, "description", json!(text)),
                [format!("{JOB}/description: {message}")]
            );
        }
        assert_eq!(
            with(check, LIST, "summary", json!("List <all>")),
            [format!(
                "{LIST}/summary: put brackets into backticks; rustdoc reads links and HTML otherwise"
            )]
        );
    }

    #[test]
    fn code_in_backticks_and_fences_is_silent() {
        for text in [
            "See `https://example.com` and `a[0] < 1`.",
            "Code:\n\n```text\na < b [c]\n```",
            "A list:\n- one\n  and its second line",
        ] {
            assert_eq!(
                with(check, JOB, "description", json!(text)),
                [""; 0],
                "{text}"
            );
        }
        let example = json!({ "description": "<data>" });
        assert_eq!(with(check, JOB, "example", example), [""; 0]);
    }
}
