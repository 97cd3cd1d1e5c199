//! Masking of secrets in JSON that is printed.

pub(crate) use modelarts_ext::masking::{mask, mask_described};

/// Returns the line about this number of masked values; `None` for 0.
pub(crate) fn notice(count: usize) -> Option<String> {
    let are = match count {
        0 => return None,
        1 => "secret is",
        _ => "secrets are",
    };
    Some(format!("{count} {are} printed as ***; --show-secrets prints the text"))
}
