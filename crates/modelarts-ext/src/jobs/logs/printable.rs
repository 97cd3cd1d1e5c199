//! Lines of a log as printable text.

/// Returns the last state of a line that carriage returns overwrite, such as a progress bar.
pub(crate) fn last_state(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    line.rsplit('\r').next().unwrap_or_default()
}

/// Returns a line of a log without terminal escape sequences or control characters except tabs.
pub(crate) fn printable(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            // An escape sequence consists of ESC, `[`, parameters, and a final character.
            '\u{1b}' if letters.as_str().starts_with('[') => {
                letters.next();
                letters.find(|letter| ('@'..='~').contains(letter));
            }
            '\t' => text.push(letter),
            _ if letter.is_control() => {}
            _ => text.push(letter),
        }
    }
    text
}
