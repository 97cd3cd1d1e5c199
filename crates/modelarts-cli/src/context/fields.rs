//! Names of the settings of a context, and of settings that a context must not have.

use modelarts_ext::masking::is_credential;

use crate::{failure::Failure, wording::near_or};

/// Names of the fields of [`Context`](crate::context::Context), with their descriptions.
pub(crate) const FIELDS: &[(&str, &str)] = &[
    ("region", "region, such as eu-de"),
    ("project_id", "id of the project"),
    ("endpoint", "address of the service, if not that of the region"),
    ("obs_endpoint", "address of OBS, if not that of the region"),
    ("bucket", "bucket for local code and data"),
    ("prefix", "prefix of the keys in the bucket"),
    ("credentials_file", "file with the credentials, as ~/.huaweicloud/credentials"),
    ("os_cloud", "cloud in clouds.yaml"),
    ("flavor", "flavor of jobs without --flavor"),
    ("pool", "pool of jobs without --pool"),
    ("data_dir", "data directory of an emulator"),
];

const PATHS: &[&str] = &["credentials_file", "data_dir"];

const NO_SECRETS: &str = "a context holds no secrets: keys belong in the variables \
    HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK, or in the file ~/.huaweicloud/credentials, or in \
    another one that credentials_file names";

/// Returns an error if `name` is not a field of [`Context`](crate::context::Context).
pub(crate) fn check_name(name: &str) -> Result<(), Failure> {
    match FIELDS.iter().any(|(known, _)| *known == name) {
        true => Ok(()),
        false => Err(Failure::usage(format_args!(
            "{name:?} is no setting of a context; {}",
            unknown(name)
        ))),
    }
}

/// Returns advice on an unknown field name: where secrets belong, or which names exist.
pub(super) fn unknown(name: &str) -> String {
    let name = name.to_lowercase();
    if is_credential(&name) {
        return NO_SECRETS.to_owned();
    }
    let names: Vec<&str> = FIELDS.iter().map(|(name, _)| *name).collect();
    let all = || format!("it must be one of: {}", names.join(", "));
    near_or(&name, names.iter().copied(), all)
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
