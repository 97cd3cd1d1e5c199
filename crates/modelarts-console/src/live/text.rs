//! Log lines as text of a page: without control sequences, with levels and hits.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Error,
    Warning,
}

impl Level {
    /// Returns the style class of the level.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }

    /// Returns the regular expression for lines of this level. It matches level names in the
    /// formats of Python's `logging` and of the platform, and the names of exceptions.
    pub(crate) fn expression(self) -> Option<&'static Regex> {
        static ERROR: LazyLock<Option<Regex>> = LazyLock::new(|| {
            let names = r"\b(?:ERROR|CRITICAL|FATAL)\b|^\[?(?:error|fatal)\b";
            let exceptions = r"^Traceback \(|^[\w.]*(?:Error|Exception)\b";
            Regex::new(&format!("{names}|{exceptions}")).ok()
        });
        static WARNING: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r"\bWARN(?:ING)?\b|^\[?warning\b|\b[A-Z]\w*Warning:").ok());
        match self {
            Self::Error => ERROR.as_ref(),
            Self::Warning => WARNING.as_ref(),
        }
    }

    pub(crate) fn of(line: &str) -> Option<Self> {
        let is_of = |level: &Self| level.expression().is_some_and(|it| it.is_match(line));
        [Self::Error, Self::Warning].into_iter().find(is_of)
    }
}

/// Returns a line as a terminal shows it: without text that a carriage return overwrites, and
/// without control characters and escape sequences.
pub(crate) fn printable(line: &str) -> Cow<'_, str> {
    if !line.chars().any(is_hidden) {
        return Cow::Borrowed(line);
    }
    let line = line.trim_end_matches('\r');
    let line = line.rsplit('\r').next().unwrap_or_default();
    let mut text = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        // An escape sequence consists of ESC, `[`, parameters and a final letter.
        if letter == '\u{1b}' && letters.as_str().starts_with('[') {
            letters.next();
            letters.find(|letter| ('@'..='~').contains(letter));
        } else if !is_hidden(letter) {
            text.push(letter);
        }
    }
    Cow::Owned(text)
}

fn is_hidden(letter: char) -> bool {
    letter.is_control() && letter != '\t'
}

/// Splits a line at the hits of a search. Text and hits alternate, beginning with text.
pub(crate) fn split_hits(line: &str, search: Option<&Regex>) -> Vec<String> {
    let mut parts = Vec::new();
    let mut end = 0;
    for hit in search.into_iter().flat_map(|search| search.find_iter(line)) {
        if !hit.is_empty() {
            parts.push(line[end..hit.start()].to_owned());
            parts.push(hit.as_str().to_owned());
            end = hit.end();
        }
    }
    parts.push(line[end..].to_owned());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_removed_and_the_last_state_remains() {
        assert_eq!(printable("a\tb <b>"), "a\tb <b>");
        assert_eq!(printable("\u{1b}[31mred\u{1b}[0m\u{7}"), "red");
        assert_eq!(printable("10%\r 50%\r100%\r"), "100%");
    }

    #[test]
    fn levels_are_found_in_the_usual_formats() {
        for (line, level) in [
            ("2026-01-15 08:30:07,123 ERROR no memory", Some("error")),
            ("[ModelArts Service Log][ERROR] exit", Some("error")),
            ("Traceback (most recent call last):", Some("error")),
            ("torch.cuda.OutOfMemoryError: CUDA", Some("error")),
            ("WARNING:root:slow", Some("warning")),
            ("a.py:3: UserWarning: old", Some("warning")),
            ("[WARN] slow", Some("warning")),
            ("0 errors, no warnings", None),
            ("ERRORS are counted", None),
            ("epoch 1", None),
        ] {
            assert_eq!(Level::of(line).map(Level::class), level, "{line}");
        }
    }

    #[test]
    fn hits_alternate_with_text() {
        let search = Regex::new("(?i)loss").unwrap();
        assert_eq!(split_hits("Loss: loss!", Some(&search)), ["", "Loss", ": ", "loss", "!"]);
        assert_eq!(split_hits("", Some(&search)), [""]);
        assert_eq!(split_hits("ab", Some(&Regex::new("x*").unwrap())), ["ab"]);
        assert_eq!(split_hits("loss", None), ["loss"]);
    }
}
