//! Syntax checks of names.

/// Returns `true` for a string of 1 to 64 letters, digits, hyphens and underscores.
pub(crate) fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(fits)
}

/// Returns `true` for a string of letters, digits and underscores that does not start with a digit.
pub(super) fn is_variable(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let digit_first = name.bytes().next().is_none_or(|byte| byte.is_ascii_digit());
    !digit_first && name.bytes().all(fits)
}
