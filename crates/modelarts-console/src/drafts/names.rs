//! Rules on the names of slots and files.

use std::path::{Component, Path};

use crate::problem::Problem;

pub(crate) const CODE: &str = "code";
/// Prefix of the slot of an input. The number of the row follows, as in `inputs-0`.
pub(crate) const INPUTS: &str = "inputs-";
/// Limits of a path: bytes of each part, bytes in total, and number of parts.
const MAX_NAME: usize = 255;
const MAX_PATH: usize = 900;
const MAX_LEVELS: usize = 33;

pub(super) fn check_slot(slot: &str) -> Result<(), Problem> {
    let number = slot.strip_prefix(INPUTS);
    let is_input = number.is_some_and(|number| {
        (1..=4).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    match slot == CODE || is_input {
        true => Ok(()),
        false => Err(Problem::not_found("the form has no such place for files")),
    }
}

/// Returns an error if a path leaves the slot, has forbidden characters, or exceeds a limit.
pub(super) fn check_path(path: &str) -> Result<(), Problem> {
    let wrong = |rule: &str| {
        let shown: String = path.chars().take(80).collect();
        Err(Problem::invalid(format!("the name of the file {shown:?} {rule}"))
            .with_advice("rename the file, or leave it out"))
    };
    if path.len() > MAX_PATH {
        return wrong("must have at most 900 bytes");
    }
    if path.chars().any(|c| c.is_control() || c == '\\') {
        return wrong("must have no backslash and no control character");
    }
    let steps = || path.split('/');
    // On Windows, a path with a drive is not relative.
    let is_inside = Path::new(path).components().all(|step| matches!(step, Component::Normal(_)));
    if !is_inside || steps().any(|step| matches!(step, "" | ".")) {
        return wrong("must be a path in the directory, without empty parts, . and ..");
    }
    if steps().any(|step| step.len() > MAX_NAME) {
        return wrong("must have at most 255 bytes in each part");
    }
    if steps().count() > MAX_LEVELS {
        return wrong("must have at most 32 levels of directories");
    }
    Ok(())
}
