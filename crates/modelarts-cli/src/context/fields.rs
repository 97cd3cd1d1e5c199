//! Names of the settings of a context, and of settings that a context must not have.

pub(crate) use modelarts_ext::client::contexts::FIELDS;
use modelarts_ext::client::contexts::unknown_field;

use crate::failure::Failure;

const PATHS: &[&str] = &["credentials_file", "data_dir"];

/// Returns an error if `name` is not a field of [`Context`](crate::context::Context).
pub(crate) fn check_name(name: &str) -> Result<(), Failure> {
    match FIELDS.iter().any(|(known, _)| *known == name) {
        true => Ok(()),
        false => Err(Failure::usage(format_args!(
            "{name:?} is no setting of a context; {}",
            unknown_field(name)
        ))),
    }
}

/// Returns a value in the form in which the file stores it. Paths become absolute, because commands
/// in other directories also use them.
pub(crate) fn value(name: &str, value: &str) -> Result<String, Failure> {
    if !PATHS.contains(&name) {
        return Ok(value.to_owned());
    }
    let path = std::path::absolute(value)
        .map_err(|error| Failure::usage(format_args!("{name} {value:?}: {error}")))?;
    let path = path.into_os_string().into_string();
    path.map_err(|_| Failure::usage(format_args!("{name} {value:?}: the path must be UTF-8")))
}
