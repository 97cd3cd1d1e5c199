//! Exit codes as text, with the signals of codes above 128.

/// Names of the signals of Linux from 1 on, with the usual reason.
const SIGNALS: [(&str, &str); 15] = [
    ("SIGHUP", ""),
    ("SIGINT", "interrupted"),
    ("SIGQUIT", ""),
    ("SIGILL", "invalid instruction"),
    ("SIGTRAP", ""),
    ("SIGABRT", "aborted by the program or a library"),
    (
        "SIGBUS",
        "invalid memory access, often too little shared memory",
    ),
    ("SIGFPE", "arithmetic error"),
    ("SIGKILL", "often out of memory"),
    ("SIGUSR1", ""),
    ("SIGSEGV", "invalid memory access"),
    ("SIGUSR2", ""),
    ("SIGPIPE", ""),
    ("SIGALRM", ""),
    ("SIGTERM", "stopped"),
];

/// Returns an exit code as text, such as `137 (128 + SIGKILL, often out of memory)`. Shells add 128
/// to the number of the signal that ended a process.
pub(crate) fn exit_code_text(code: i64) -> String {
    let signal = code
        .checked_sub(129)
        .and_then(|signal| usize::try_from(signal).ok());
    match signal.and_then(|signal| SIGNALS.get(signal)) {
        Some((name, "")) => format!("{code} (128 + {name})"),
        Some((name, reason)) => format!("{code} (128 + {name}, {reason})"),
        None => code.to_string(),
    }
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
}
