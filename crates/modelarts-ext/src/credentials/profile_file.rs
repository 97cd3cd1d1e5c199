//! Credentials file of the official SDK.

use std::{collections::BTreeMap, path::PathBuf};

use crate::{
    config::{endpoints::ProjectRef, environment::Environment, files},
    credentials::{
        Credentials,
        source::{FoundCredentials, Hints, Lookup, pair},
    },
    error::Error,
};

/// Variable that names a file to read instead of the usual one.
const FILE: &str = "HUAWEICLOUD_SDK_CREDENTIALS_FILE";
/// The usual file, below the home directory.
const USUAL: &str = ".huaweicloud/credentials";
/// The section for services with projects, such as `ModelArts`.
const SECTION: &str = "basic";

/// Returns the path of the file, which may not exist.
pub(super) fn path(environment: &Environment) -> Option<PathBuf> {
    let usual = || Some(environment.home.as_ref()?.join(USUAL));
    let given = environment.variable(FILE).map(PathBuf::from);
    given.or_else(usual)
}

/// Searches `~/.huaweicloud/credentials` for credentials.
pub(super) fn find(environment: &Environment, _: &Hints) -> Result<Lookup, Error> {
    let usual = environment.home.as_ref();
    let usual = usual.map(|home| home.join(USUAL));
    let Some((path, text)) = files::find(environment, FILE, usual.as_slice())? else {
        return Ok(Lookup::NotFound(match usual {
            Some(path) => format!("{}: there is no such file", path.display()),
            None => format!(
                "~/.huaweicloud/credentials: there is no home directory, and {FILE} is not set"
            ),
        }));
    };
    let place = path.display();
    let section = parse(&text).map_err(|error| Error::config(format!("{place}: {error}")))?;
    let Some((line, values)) = section else {
        return Ok(Lookup::NotFound(format!("{place}: there is no section [{SECTION}]")));
    };
    files::warn_if_open(&path);
    let get = |key| values.get(key).filter(|value| !value.is_empty()).cloned();
    let failed = |problem: &str| {
        Error::config(format!("{place}: the section [{SECTION}], line {line}, {problem}"))
    };
    if get("idp_id").is_some() {
        return Err(failed(
            "asks for federation (idp_id), which is not supported; use ak and sk, or the \
             variables HUAWEICLOUD_OIDC_*",
        ));
    }
    let keys = pair(("ak", get("ak")), ("sk", get("sk")), |set, missing| {
        failed(&format!("has {set} but no {missing}"))
    })?;
    let (access_key, secret_key) = keys.ok_or_else(|| failed("has neither ak nor sk"))?;
    let token = get("security_token");
    let credentials = Credentials::with_security_token(access_key, secret_key, token);
    Ok(Lookup::Found(FoundCredentials {
        project: ProjectRef { id: get("project_id"), name: None },
        iam: get("iam_endpoint"),
        ..FoundCredentials::new(&format!("{place}:"), credentials)?
    }))
}

/// Line number of a section, and its values by their keys in lower case.
type Section = (usize, BTreeMap<String, String>);

/// Parses an INI file and returns its section `[basic]`. A value is the whole text after `=` or
/// `:`, so that secrets can contain `%` and `#`.
fn parse(text: &str) -> Result<Option<Section>, String> {
    let mut found: Option<Section> = None;
    let mut is_inside = false;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let name = name.strip_suffix(']');
            let name = name.ok_or_else(|| format!("line {number} is not of the form [section]"))?;
            is_inside = name.trim() == SECTION;
            if is_inside {
                found.get_or_insert_with(|| (number, BTreeMap::new()));
            }
            continue;
        }
        let pair = line.split_once(['=', ':']);
        let pair = pair.filter(|(key, _)| !key.trim().is_empty());
        let (key, value) =
            pair.ok_or_else(|| format!("line {number} is not of the form key = value"))?;
        if let Some((_, values)) = found.as_mut().filter(|_| is_inside) {
            values.insert(key.trim().to_lowercase(), value.trim().to_owned());
        }
    }
    Ok(found)
}
