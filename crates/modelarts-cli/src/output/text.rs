//! Values as text: ages, durations, sizes, phases.

use std::time::Duration;

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
