//! Syntax of names and paths, shared by several rules.

/// 1 to 64 letters, digits, `_` and `-`.
pub(super) fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

pub(super) fn is_variable_name(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

pub(super) fn is_absolute_plain_path(path: &str) -> bool {
    path.starts_with('/')
        && !path.chars().any(char::is_control)
        && !path.split('/').any(|step| matches!(step, "." | ".."))
}
