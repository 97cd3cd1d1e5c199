//! Values as text for people: ages, times, phases, lines.

use std::time::{Duration, SystemTime};

use console::measure_text_width;
use jiff::tz::TimeZone;
use modelarts_console::display::phase_style;
use modelarts_ext::{
    Timestamp,
    types::{EventLevel, Phase},
};

use crate::terminal::{Emphasis, Terminal};

/// Returns an age in one unit, rounded down, such as `22m`; in hours up to two days.
pub(crate) fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

pub(crate) fn or_dash(value: Option<impl ToString>) -> String {
    let text = value.map(|value| value.to_string());
    text.filter(|text| !text.is_empty()).unwrap_or_else(|| "-".to_owned())
}

pub(crate) fn non_empty(text: &Option<String>) -> Option<String> {
    text.clone().filter(|text| !text.is_empty())
}

/// Formats a time in the time zone of the user, with a `strftime` format.
pub(crate) fn local_time(time: Timestamp, format: &str) -> String {
    let time = jiff::Timestamp::try_from(SystemTime::from(time)).unwrap_or_default();
    time.to_zoned_datetime(TimeZone::system()).strftime(format).to_string()
}

/// Returns the style of the events of a level; `None` if the level needs no attention.
pub(crate) fn event_emphasis(level: &EventLevel) -> Option<Emphasis> {
    match level {
        EventLevel::Error => Some(Emphasis::Bad),
        EventLevel::Warning => Some(Emphasis::Waiting),
        _ => None,
    }
}

/// Wraps a text between words, so that it fits on a terminal of this width.
pub(crate) fn wrapped(text: &str, width: Option<u16>) -> String {
    let Some(width) = width.map(usize::from) else {
        return text.to_owned();
    };
    let (mut lines, mut used) = (String::new(), 0);
    for word in text.split_whitespace() {
        let length = measure_text_width(word);
        let is_full = used + 1 + length > width;
        if used > 0 {
            lines.push(if is_full { '\n' } else { ' ' });
        }
        used = if used == 0 || is_full { length } else { used + 1 + length };
        lines += word;
    }
    lines
}

/// Replaces line breaks and other control characters by spaces, except in styles: descriptions and
/// messages of other users must not control the terminal.
pub(crate) fn one_line(text: String) -> String {
    let mut line = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.find(char::is_control).map(|at| rest.split_at(at)) {
        line += before;
        rest = match style_length(after).map(|length| after.split_at(length)) {
            Some((style, after)) => {
                line += style;
                after
            }
            None => {
                line.push(' ');
                after.get(char_length(after)..).unwrap_or_default()
            }
        };
    }
    match line.is_empty() {
        true => text,
        false => line + rest,
    }
}

/// Returns the length of the style escape sequence at the beginning of a text, such as `ESC[1m`.
fn style_length(text: &str) -> Option<usize> {
    let codes = text.strip_prefix("\u{1b}[")?;
    let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    codes.get(end..)?.starts_with('m').then_some("\u{1b}[".len() + end + "m".len())
}

fn char_length(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// Returns a phase with a symbol and a colour. The symbol identifies the phase without colour.
pub(crate) fn phase(phase: &Phase) -> String {
    let (style, sign) = phase_style(phase);
    let emphasis = match style {
        "completed" | "running" => Emphasis::Good,
        "failed" => Emphasis::Bad,
        "stopped" => Emphasis::Dim,
        _ => Emphasis::Waiting,
    };
    Terminal::styled(format_args!("{sign} {phase}"), emphasis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        let text = "The service has no such job";
        assert_eq!(wrapped(text, Some(12)), "The service\nhas no such\njob");
        assert_eq!(wrapped(text, None), text);
        assert_eq!(wrapped("unbreakable words", Some(5)), "unbreakable\nwords");
    }

    #[test]
    fn a_line_has_styles_and_no_other_control_characters() {
        for (text, line) in [
            ("a b", "a b"),
            ("a\nb\tc\n", "a b c "),
            ("\u{1b}[1;31mab\u{1b}[0m", "\u{1b}[1;31mab\u{1b}[0m"),
            ("\u{1b}]0;title\u{7}x", " ]0;title x"),
            ("\u{1b}[2J", " [2J"),
            ("\u{85}\u{1b}", "  "),
        ] {
            assert_eq!(one_line(text.to_owned()), line, "{text:?}");
        }
    }
}
