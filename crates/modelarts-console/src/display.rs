//! Values as text: durations, sizes, phases, names.

use std::time::Duration;

use modelarts_ext::{Job, types::Phase};

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

/// Returns the class of the style sheet for a phase, and its symbol: a state is visible by word and
/// shape, not by colour alone.
pub(crate) fn phase_style(phase: &Phase) -> (&'static str, &'static str) {
    match phase {
        Phase::Completed => ("completed", "✓"),
        Phase::Failed => ("failed", "✗"),
        Phase::Abnormal => ("failed", "⚠"),
        Phase::Terminated => ("stopped", "■"),
        Phase::Terminating => ("stopped", "□"),
        Phase::Running => ("running", "▶"),
        _ => ("waiting", "…"),
    }
}

/// Returns the name of a job, or its id if it has none.
pub(crate) fn name(job: &Job) -> &str {
    match job.name() {
        "" => job.id(),
        name => name,
    }
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a size in its largest unit, such as `1.5 GB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        // The precision of a float suffices for one decimal.
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None => format!("{bytes} bytes"),
    }
}
