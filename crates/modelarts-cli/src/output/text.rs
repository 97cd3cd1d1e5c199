//! Values as text: ages, durations, sizes, phases.

use std::time::Duration;

use console::measure_text_width;
use modelarts_ext::types::Phase;

use crate::terminal::{Emphasis, Terminal};

/// Returns a duration in its two largest units, such as `2m51s` or `3d4h`.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes, seconds % 60) {
        (0, 0, 0, seconds) => format!("{seconds}s"),
        (0, 0, minutes, seconds) => format!("{minutes}m{seconds}s"),
        (0, hours, minutes, _) => format!("{hours}h{minutes}m"),
        (days, hours, ..) => format!("{days}d{hours}h"),
    }
}

/// Returns an age in its largest unit, such as `22m`.
pub(crate) fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Returns a value as text, or `-`.
pub(crate) fn or_dash(value: Option<impl ToString>) -> String {
    let text = value.map(|value| value.to_string());
    text.filter(|text| !text.is_empty())
        .unwrap_or_else(|| "-".to_owned())
}

/// Returns a text with line breaks between words, so that it fits on a terminal of this width.
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
        used = if used == 0 || is_full {
            length
        } else {
            used + 1 + length
        };
        lines += word;
    }
    lines
}

/// Returns a number of bytes in binary units, such as `1.2 MiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    indicatif::BinaryBytes(bytes).to_string()
}

/// Returns a phase with a sign and a colour. The sign makes the phase recognizable without colour.
pub(crate) fn phase(phase: &Phase) -> String {
    let (sign, emphasis) = match phase {
        Phase::Completed => ("✓", Emphasis::Good),
        Phase::Failed | Phase::Abnormal => ("✗", Emphasis::Bad),
        Phase::Running => ("●", Emphasis::Good),
        Phase::Terminated => ("■", Emphasis::Dim),
        _ => ("◌", Emphasis::Waiting),
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
}
