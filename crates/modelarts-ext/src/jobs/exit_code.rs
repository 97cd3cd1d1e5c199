//! Exit codes as text, with the signals of codes above 128.

/// Names of the Linux signals 1 to 15, each with its usual cause.
const SIGNALS: [(&str, &str); 15] = [
    ("SIGHUP", ""),
    ("SIGINT", "interrupted"),
    ("SIGQUIT", ""),
    ("SIGILL", "invalid instruction"),
    ("SIGTRAP", ""),
    ("SIGABRT", "aborted by the program or a library"),
    ("SIGBUS", "invalid memory access, often too little shared memory"),
    ("SIGFPE", "arithmetic error"),
    ("SIGKILL", "often out of memory"),
    ("SIGUSR1", ""),
    ("SIGSEGV", "invalid memory access"),
    ("SIGUSR2", ""),
    ("SIGPIPE", ""),
    ("SIGALRM", ""),
    ("SIGTERM", "stopped"),
];

/// Returns the text for an exit code, such as `137 (128 + SIGKILL, often out of memory)`.
pub(crate) fn exit_code_text(code: i64) -> String {
    match exit_code_meaning(code) {
        Some(meaning) => format!("{code} ({meaning})"),
        None => code.to_string(),
    }
}

pub(crate) fn exit_code_meaning(code: i64) -> Option<String> {
    let signal = usize::try_from(code.checked_sub(129)?).ok()?;
    Some(match SIGNALS.get(signal)? {
        (name, "") => format!("128 + {name}"),
        (name, reason) => format!("128 + {name}, {reason}"),
    })
}

/// Returns the signal of an exit code. Shells return 128 plus its number. Python launchers return
/// the negative number or its last byte (SOURCES G), of which only fatal signals are recognised.
pub(crate) fn signal_name(code: i64) -> Option<&'static str> {
    const FATAL: [&str; 6] = ["SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGSEGV", "SIGTERM"];
    let number = match code {
        129..=143 => code - 128,
        241..=255 => 256 - code,
        _ => code.checked_neg()?,
    };
    let (name, _) = SIGNALS.get(usize::try_from(number.checked_sub(1)?).ok()?)?;
    (code <= 143 && code > 0 || FATAL.contains(name)).then_some(*name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_above_128_have_the_name_of_their_signal() {
        for (code, text) in [
            (0, "0"),
            (3, "3"),
            (128, "128"),
            (129, "129 (128 + SIGHUP)"),
            (137, "137 (128 + SIGKILL, often out of memory)"),
            (139, "139 (128 + SIGSEGV, invalid memory access)"),
            (143, "143 (128 + SIGTERM, stopped)"),
            (144, "144"),
            (255, "255"),
            (-1, "-1"),
            (i64::MIN, "-9223372036854775808"),
            (i64::MAX, "9223372036854775807"),
        ] {
            assert_eq!(exit_code_text(code), text);
        }
    }

    #[test]
    fn signals_have_the_codes_of_shells_and_of_python() {
        for (code, name) in [
            (0, None),
            (1, None),
            (127, None),
            (128, None),
            (129, Some("SIGHUP")),
            (137, Some("SIGKILL")),
            (143, Some("SIGTERM")),
            (144, None),
            (241, Some("SIGTERM")),
            (245, Some("SIGSEGV")),
            (247, Some("SIGKILL")),
            (255, None),
            (-9, Some("SIGKILL")),
            (-1, None),
            (i64::MIN, None),
            (i64::MAX, None),
        ] {
            assert_eq!(signal_name(code), name, "{code}");
        }
    }
}
