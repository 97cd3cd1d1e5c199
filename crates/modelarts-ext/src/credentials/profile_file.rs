//! Credentials file of the official SDK.

use std::path::PathBuf;

use configparser::ini::{Ini, IniDefault};

use crate::{
    config::{endpoints::ProjectRef, environment::Environment, files},
    credentials::{
        Credentials,
        source::{FoundCredentials, Hints, Lookup},
    },
    error::Error,
};

/// The variable that names a file in place of the usual one.
const FILE: &str = "HUAWEICLOUD_SDK_CREDENTIALS_FILE";
/// The section for services with projects, such as `ModelArts`.
const SECTION: &str = "basic";

/// Searches `~/.huaweicloud/credentials` for credentials.
pub(super) fn find(environment: &Environment, _: &Hints) -> Result<Lookup, Error> {
    let (path, named) = match (environment.get(FILE), &environment.home) {
        (Some(path), _) => (PathBuf::from(path), true),
        (None, Some(home)) => (home.join(".huaweicloud/credentials"), false),
        (None, None) => {
            return Ok(Lookup::not_found(format!(
                "~/.huaweicloud/credentials: there is no home directory, and {FILE} is not set"
            )));
        }
    };
    let place = path.display().to_string();
    let Some(text) = files::read_text(&path)? else {
        return if named {
            Err(Error::config(format!(
                "{FILE} names {place}, which does not exist"
            )))
        } else {
            Ok(Lookup::not_found(format!("{place}: there is no such file")))
        };
    };
    let Some(start) = line_number(&text, |line| {
        line.strip_prefix('[')
            .and_then(|line| line.split(']').next())
            .is_some_and(|name| name.trim() == SECTION)
    }) else {
        parse(&text).map_err(|error| Error::config(format!("{place}: {error}")))?;
        return Ok(Lookup::not_found(format!(
            "{place}: there is no section [{SECTION}]"
        )));
    };
    let ini = parse(&text).map_err(|error| Error::config(format!("{place}: {error}")))?;
    files::warn_if_open(&path);
    let get = |key: &str| ini.get(SECTION, key).filter(|value| !value.is_empty());
    let section_error = |what: String| {
        Error::config(format!(
            "{place}: the section [{SECTION}], line {start}, {what}"
        ))
    };
    if get("idp_id").is_some() {
        return Err(section_error(
            "asks for federation (idp_id), which is not supported; use ak and sk, or the \
             variables HUAWEICLOUD_OIDC_*"
                .to_owned(),
        ));
    }
    let (access_key, secret_key) = match (get("ak"), get("sk")) {
        (Some(access_key), Some(secret_key)) => (access_key, secret_key),
        (Some(_), None) => return Err(section_error("has ak but no sk".to_owned())),
        (None, Some(_)) => return Err(section_error("has sk but no ak".to_owned())),
        (None, None) => return Err(section_error("has neither ak nor sk".to_owned())),
    };
    let credentials = match get("security_token") {
        Some(token) => Credentials::temporary_keys(access_key, secret_key, token),
        None => Credentials::keys(access_key, secret_key),
    };
    Ok(FoundCredentials {
        project: ProjectRef {
            id: get("project_id"),
            name: None,
        },
        iam: get("iam_endpoint"),
        ..FoundCredentials::new(place, credentials)?
    }
    .into())
}

/// The number of the first line that matches.
fn line_number(text: &str, matches: impl Fn(&str) -> bool) -> Option<usize> {
    let found = text.lines().position(|line| matches(line.trim()))?;
    Some(found + 1)
}

/// Parses the file. A value is the whole text after `=` or `:`, so that secrets can contain `%` and
/// `#`.
fn parse(text: &str) -> Result<Ini, String> {
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        let is_valid =
            line.is_empty() || line.starts_with(['#', ';', '[']) || line.contains(['=', ':']);
        if !is_valid {
            return Err(format!(
                "line {} is not of the form key = value",
                number + 1
            ));
        }
        if line.starts_with('[') && !line.ends_with(']') {
            return Err(format!("line {} is not of the form [section]", number + 1));
        }
    }
    let mut default = IniDefault::default();
    default.comment_symbols = vec!['#', ';'];
    default.inline_comment_symbols = Some(Vec::new());
    let mut ini = Ini::new_from_defaults(default);
    ini.read(text.to_owned())
        .map_err(|_| "not of the form [section] and key = value".to_owned())?;
    Ok(ini)
}
