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
/// without control characters and escape sequences other than those of colours.
pub(crate) fn storable(line: &str) -> Cow<'_, str> {
    if !line.chars().any(is_hidden) {
        return Cow::Borrowed(line);
    }
    let line = line.trim_end_matches('\r');
    let line = line.rsplit('\r').next().unwrap_or_default();
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        let length = escape_length(rest).unwrap_or(letter.len_utf8());
        let (part, after) = rest.split_at(length);
        if part.starts_with(ESCAPE) && part.ends_with('m') || !is_hidden(letter) {
            text.push_str(part);
        }
        rest = after;
    }
    Cow::Owned(text)
}

/// Start of an escape sequence, which consists of it, parameters and a final letter.
const ESCAPE: &str = "\u{1b}[";

/// Returns the length of the escape sequence with which a text begins.
fn escape_length(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix(ESCAPE)?;
    let end = parameters.find(|letter| ('@'..='~').contains(&letter));
    Some(end.map_or(text.len(), |end| ESCAPE.len() + end + 1))
}

/// Returns a stored line without escape sequences.
pub(crate) fn plain(line: &str) -> Cow<'_, str> {
    match line.contains('\u{1b}') {
        false => Cow::Borrowed(line),
        true => Cow::Owned(coloured(line).0),
    }
}

/// Returns a line without control characters and escape sequences.
pub(crate) fn printable(line: &str) -> String {
    plain(&storable(line)).into_owned()
}

/// Part of a line with a colour: its start and end in UTF-16 code units, and its style class.
pub(crate) type Colour = (usize, usize, &'static str);

/// Returns the text of a stored line, and its colours.
pub(crate) fn coloured(line: &str) -> (String, Vec<Colour>) {
    let (mut text, mut colours, mut at) = (String::with_capacity(line.len()), Vec::new(), 0);
    let mut open: Option<(usize, &'static str)> = None;
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        let Some(length) = escape_length(rest) else {
            if letter != '\u{1b}' {
                text.push(letter);
                at += letter.len_utf16();
            }
            rest = &rest[letter.len_utf8()..];
            continue;
        };
        let (sequence, after) = rest.split_at(length);
        rest = after;
        let parameters = sequence.trim_start_matches(ESCAPE).trim_end_matches('m');
        let class = class_of(parameters, open.map(|(_, class)| class));
        if let Some((start, class)) = open.take().filter(|(start, _)| *start < at) {
            colours.push((start, at, class));
        }
        open = class.map(|class| (at, class));
    }
    colours.extend(open.filter(|(start, _)| *start < at).map(|(start, class)| (start, at, class)));
    (text, colours)
}

/// Returns the style class after a sequence with these parameters.
fn class_of(parameters: &str, before: Option<&'static str>) -> Option<&'static str> {
    const CLASSES: [&str; 7] = ["muted", "red", "green", "yellow", "blue", "magenta", "cyan"];
    let mut class = before;
    let mut codes = parameters.split(';').map(|code| code.parse::<usize>().unwrap_or(0));
    while let Some(code) = codes.next() {
        class = match code {
            // White is the colour of a text without one.
            0 | 37 | 39 | 97 => None,
            1 => class.or(Some("bold")),
            30..=36 => Some(CLASSES[code - 30]),
            90..=96 => Some(CLASSES[code - 90]),
            // Colours by a number of a palette, or by their parts, have further parameters.
            38 | 48 => {
                let more = if codes.next() == Some(5) { 1 } else { 3 };
                codes.by_ref().take(more).for_each(drop);
                class
            }
            _ => class,
        };
    }
    class
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
    fn colours_are_parts_of_the_text() {
        let stored =
            storable("\u{1b}[2Kü\u{1b}[1;31mred\u{1b}[0m \u{1b}[38;5;9mpalette\u{1b}[32mgreen");
        let (text, colours) = coloured(&stored);
        assert_eq!(text, "üred palettegreen");
        assert_eq!(colours, [(1, 4, "red"), (12, 17, "green")]);
        // A line that was cut in a sequence.
        assert_eq!(coloured("a\u{1b}[3"), ("a".to_owned(), vec![]));
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
