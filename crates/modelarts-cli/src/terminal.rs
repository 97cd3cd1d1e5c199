//! Properties of the terminal: width, colours, interactivity.

use std::{
    fmt,
    io::{self, IsTerminal, Write},
};

use anstyle::{AnsiColor, Style};
use console::measure_text_width;
use terminal_size::{Height, Width, terminal_size_of};

/// Width in columns if a stream is not a terminal of known width.
const DEFAULT_WIDTH: u16 = 120;
/// Minimum width in columns that is assumed.
const MIN_WIDTH: u16 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Emphasis {
    /// Style of headings and names.
    Bold,
    /// Style of prefixes and hints.
    Dim,
    /// Style of success.
    Good,
    /// Style of failure.
    Bad,
    /// Style of states that may change, and of warnings.
    Waiting,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    /// `true` if stdout is a terminal.
    pub(crate) stdout: bool,
    /// `true` if lines on stderr can be redrawn: stderr is a terminal with a movable cursor.
    pub(crate) redraws: bool,
    /// `true` if stdin and stderr are terminals, so that questions are possible.
    pub(crate) interactive: bool,
    /// `true` if stdin is a terminal with a movable cursor, so that single keys can be read.
    pub(crate) has_keys: bool,
    width: u16,
    pub(crate) stderr_width: u16,
}

impl Terminal {
    pub(crate) fn detect() -> Self {
        let (stdout, stderr) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        let columns = std::env::var("COLUMNS").ok();
        let columns: Option<u16> = columns.and_then(|columns| columns.parse().ok());
        let columns = columns.filter(|columns| *columns > 0);
        let width = |size: Option<(Width, Height)>| {
            let size = size.map(|(width, _)| width.0).filter(|width| *width > 0);
            columns.or(size).unwrap_or(DEFAULT_WIDTH).max(MIN_WIDTH)
        };
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            stdout,
            redraws: stderr && !is_dumb,
            has_keys: io::stdin().is_terminal() && !is_dumb,
            interactive: stderr && io::stdin().is_terminal(),
            width: width(terminal_size_of(io::stdout())),
            stderr_width: width(terminal_size_of(io::stderr())),
        }
    }

    /// Returns the number of columns; `None` if stdout is not a terminal: then no text is cut.
    pub(crate) fn width(&self) -> Option<u16> {
        self.stdout.then_some(self.width)
    }

    /// Adds a style to a text. The streams of `anstream` remove styles if colours are disabled.
    pub(crate) fn styled(text: impl fmt::Display, emphasis: Emphasis) -> String {
        let style = match emphasis {
            Emphasis::Bold => Style::new().bold(),
            Emphasis::Dim => Style::new().dimmed(),
            Emphasis::Good => AnsiColor::Green.on_default(),
            Emphasis::Bad => AnsiColor::Red.on_default().bold(),
            Emphasis::Waiting => AnsiColor::Yellow.on_default(),
        };
        format!("{style}{text}{style:#}")
    }
}

/// Prints a line on stderr as `eprintln!` does, but discards the line if stderr is closed.
macro_rules! note {
    ($($text:tt)*) => {
        $crate::terminal::note(format_args!($($text)*))
    };
}

/// Prints lines on stderr. They are discarded if stderr is closed, and folded on a terminal.
pub(crate) fn note(text: impl fmt::Display) {
    let text = text.to_string();
    let terminal = io::stderr().is_terminal().then(Terminal::detect);
    let text = match terminal {
        Some(terminal) => folded(&text, usize::from(terminal.stderr_width), "  ".len()),
        None => text,
    };
    note_unchanged(text);
}

/// Prints a text for programs on stderr, such as JSON.
pub(crate) fn note_unchanged(text: impl fmt::Display) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Returns the words of a line with the blanks after them. A command is one word, so that it can be
/// copied: what is between backquotes, and what follows a colon and begins with `modelarts`.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let is_command = rest.starts_with("modelarts ")
            && words.last().is_some_and(|word: &&str| word.trim_end().ends_with(':'));
        let end = match rest.strip_prefix('`').and_then(|inside| inside.find('`')) {
            _ if is_command => None,
            Some(close) => rest[close + 2..].find(' ').map(|blank| close + 2 + blank + 1),
            None => rest.find(' ').map(|blank| blank + 1),
        };
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        words.push(word);
        rest = after;
    }
    words
}

/// Breaks lines between words, so that they fit on a terminal of this width. The rest of a line is
/// indented by these columns more than its beginning.
pub(crate) fn folded(text: &str, width: usize, indent: usize) -> String {
    let mut folded = String::new();
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            folded.push('\n');
        }
        let indent = line.len() - line.trim_start_matches(' ').len() + indent;
        let mut used = 0;
        for word in words(line) {
            let length = measure_text_width(word.trim_end());
            if length > 0 && used > indent && used + length > width {
                folded.truncate(folded.trim_end_matches(' ').len());
                folded = folded + "\n" + &" ".repeat(indent);
                used = indent;
            }
            folded += word;
            used += measure_text_width(word);
        }
    }
    folded
}

/// Prints the number of masked values on stderr, if there are any.
pub(crate) fn note_masked(count: usize) {
    let are = match count {
        0 => return,
        1 => "secret is",
        _ => "secrets are",
    };
    note!("{count} {are} printed as ***; --show-secrets prints the text");
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn lines_are_folded_between_words() {
        let text = "  Engine  PyTorch, the newest\nshort";
        assert_eq!(folded(text, 20, 2), "  Engine  PyTorch,\n    the newest\nshort");
        assert_eq!(
            folded("an/unbreakable/word and more", 10, 2),
            "an/unbreakable/word\n  and more"
        );
        assert_eq!(folded("a b", 40, 2), "a b");
        assert_eq!(
            folded("see `modelarts ls --all`, now", 12, 2),
            "see\n  `modelarts ls --all`,\n  now"
        );
        assert_eq!(
            folded("stop with: modelarts stop it", 12, 2),
            "stop with:\n  modelarts stop it"
        );
    }
}
