//! `clouds.yaml` and `secure.yaml`, as the `OpenStack` tools use them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::{
    config::{endpoints::ProjectRef, environment::Environment, files},
    credentials::{
        Credentials,
        cache::FetchCredentials,
        password::Password,
        source::{FoundCredentials, Hints, Lookup},
    },
    error::Error,
};

/// The variable that names the cloud to use.
const CLOUD: &str = "OS_CLOUD";
/// The variables that name files in place of the usual ones.
const FILE: &str = "OS_CLIENT_CONFIG_FILE";
const SECURE_FILE: &str = "OS_CLIENT_SECURE_FILE";

#[derive(Default, Deserialize)]
struct CloudsFile {
    clouds: Option<BTreeMap<String, Spanned<Option<Cloud>>>>,
}

/// The settings of a cloud. All are text: a password of digits must not be parsed as a number.
#[derive(Clone, Default, Deserialize)]
struct Cloud {
    auth: Option<Auth>,
    auth_type: Option<String>,
    region_name: Option<String>,
}

#[derive(Clone, Default, Deserialize)]
struct Auth {
    auth_url: Option<String>,
    username: Option<String>,
    user_id: Option<String>,
    password: Option<String>,
    #[serde(alias = "domain_name")]
    user_domain_name: Option<String>,
    #[serde(alias = "domain_id")]
    user_domain_id: Option<String>,
    #[serde(alias = "tenant_name")]
    project_name: Option<String>,
    #[serde(alias = "tenant_id")]
    project_id: Option<String>,
    token: Option<String>,
    #[serde(alias = "access_key")]
    ak: Option<String>,
    #[serde(alias = "secret_key")]
    sk: Option<String>,
    security_token: Option<String>,
}

impl Auth {
    /// Completes these settings from the other ones.
    fn or(self, other: Self) -> Self {
        Self {
            auth_url: self.auth_url.or(other.auth_url),
            username: self.username.or(other.username),
            user_id: self.user_id.or(other.user_id),
            password: self.password.or(other.password),
            user_domain_name: self.user_domain_name.or(other.user_domain_name),
            user_domain_id: self.user_domain_id.or(other.user_domain_id),
            project_name: self.project_name.or(other.project_name),
            project_id: self.project_id.or(other.project_id),
            token: self.token.or(other.token),
            ak: self.ak.or(other.ak),
            sk: self.sk.or(other.sk),
            security_token: self.security_token.or(other.security_token),
        }
    }
}

/// Searches for the cloud that `OS_CLOUD` names.
pub(super) fn find_named(environment: &Environment, hints: &Hints) -> Result<Lookup, Error> {
    match environment.get(CLOUD) {
        Some(name) => find(environment, hints, Some(&name)),
        None => Ok(Lookup::not_found(format!("{CLOUD}: not set"))),
    }
}

/// Searches for a file with exactly one cloud.
pub(super) fn find_only(environment: &Environment, hints: &Hints) -> Result<Lookup, Error> {
    find(environment, hints, None)
}

fn find(environment: &Environment, hints: &Hints, name: Option<&str>) -> Result<Lookup, Error> {
    let Some((path, mut clouds)) = read_clouds(environment, FILE, "clouds")? else {
        let paths = candidate_paths(environment, "clouds")
            .iter()
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>();
        let nowhere = if paths.is_empty() {
            format!("clouds.yaml: there is no place to look in, and {FILE} is not set")
        } else {
            format!("clouds.yaml: none of {} exists", paths.join(", "))
        };
        return match name {
            Some(name) => Err(Error::config(format!("{CLOUD} is {name:?}, but {nowhere}"))),
            None => Ok(Lookup::not_found(nowhere)),
        };
    };
    let place = path.display();
    let all: Vec<_> = clouds.keys().cloned().collect();
    let name = match (name, all.as_slice()) {
        (Some(name), _) => name.to_owned(),
        (None, [only]) => only.clone(),
        (None, []) => {
            return Ok(Lookup::not_found(format!(
                "{place}: there is no cloud in it"
            )));
        }
        (None, several) => {
            return Ok(Lookup::not_found(format!(
                "{place}: there are several clouds in it ({}); set {CLOUD}",
                several.join(", ")
            )));
        }
    };
    let Some(found) = clouds.remove(&name) else {
        return Err(Error::config(format!(
            "{CLOUD} is {name:?}, but {place} has only: {}",
            all.join(", ")
        )));
    };
    let place = format!(
        "{place}: the cloud {name:?}, line {},",
        found.referenced.line()
    );
    let cloud = found.value.unwrap_or_default();
    let mut auth = cloud.auth.unwrap_or_default();
    let secret = |auth: &Auth| auth.password.is_some() || auth.sk.is_some() || auth.token.is_some();
    if secret(&auth) {
        files::warn_if_open(&path);
    }
    if let Some((path, mut secure)) = read_clouds(environment, SECURE_FILE, "secure")?
        && let Some(more) = secure.remove(&name)
    {
        files::warn_if_open(&path);
        let more = more.value.unwrap_or_default();
        auth = more.auth.unwrap_or_default().or(auth);
    }
    let region = cloud.region_name;
    make_credentials(&place, auth, cloud.auth_type, region, environment, hints).map(Lookup::from)
}

/// Creates credentials from the settings of a cloud.
fn make_credentials(
    place: &str,
    auth: Auth,
    auth_type: Option<String>,
    region: Option<String>,
    environment: &Environment,
    hints: &Hints,
) -> Result<FoundCredentials, Error> {
    let error = |what: &str| Error::config(format!("{place} {what}"));
    let project = ProjectRef {
        id: auth.project_id,
        name: auth.project_name,
    };
    let auth_type = auth_type.unwrap_or_default();
    let by_token = auth_type.ends_with("token") || auth.password.is_none();
    let found = match (auth.ak, auth.sk, auth.token) {
        (Some(access_key), Some(secret_key), _) => {
            let credentials = match auth.security_token {
                Some(token) => Credentials::temporary_keys(access_key, secret_key, token),
                None => Credentials::keys(access_key, secret_key),
            };
            FoundCredentials::new(place, credentials)?
        }
        (Some(_), None, _) => return Err(error("has ak but no sk")),
        (None, Some(_), _) => return Err(error("has sk but no ak")),
        (None, None, Some(token)) if by_token => {
            FoundCredentials::new(place, Credentials::token(token))?
        }
        (None, None, _) => {
            let user = auth.username.or(auth.user_id.clone());
            let (user, password) = match (user, auth.password) {
                (Some(user), Some(password)) => (user, password),
                (Some(_), None) => return Err(error("has a user but no password")),
                (None, Some(_)) => return Err(error("has a password but no user")),
                (None, None) => {
                    return Err(error(
                        "has none of ak and sk, username and password, and token",
                    ));
                }
            };
            let region = hints.region.clone().or(region.clone());
            let iam = hints.iam(environment, auth.auth_url.clone(), region.as_deref())?;
            let iam = iam.ok_or_else(|| error("has no auth_url, and its region is not known"))?;
            let mut login = Password::new(iam, user, password);
            if let Some(id) = auth.user_id {
                login = login.user_id(id);
            }
            login = match (auth.user_domain_id, auth.user_domain_name) {
                (Some(id), _) => login.domain_id(id),
                (None, Some(name)) => login.domain(name),
                (None, None) => login,
            };
            let project = hints.project.clone().or(project.clone());
            login = match (project.id, project.name.or(region)) {
                (Some(id), _) => login.project_id(id),
                (None, Some(name)) => login.project(name),
                (None, None) => login,
            };
            FoundCredentials::new(place, login.into_provider())?
        }
    };
    Ok(FoundCredentials {
        project,
        region,
        iam: auth.auth_url,
        ..found
    })
}

type Clouds = BTreeMap<String, Spanned<Option<Cloud>>>;

/// Reads the first of the files that exists.
fn read_clouds(
    environment: &Environment,
    variable: &str,
    stem: &str,
) -> Result<Option<(PathBuf, Clouds)>, Error> {
    let parse = |path: &Path, text: &str| {
        let file: Option<CloudsFile> = files::parse_yaml(path, text)?;
        Ok(file.unwrap_or_default().clouds.unwrap_or_default())
    };
    if let Some(path) = environment.get(variable).map(PathBuf::from) {
        let Some(text) = files::read_text(&path)? else {
            return Err(Error::config(format!(
                "{variable} names {}, which does not exist",
                path.display()
            )));
        };
        let clouds = parse(&path, &text)?;
        return Ok(Some((path, clouds)));
    }
    for path in candidate_paths(environment, stem) {
        if let Some(text) = files::read_text(&path)? {
            let clouds = parse(&path, &text)?;
            return Ok(Some((path, clouds)));
        }
    }
    Ok(None)
}

/// The candidates for a file: in the current directory, the user's and the system's.
fn candidate_paths(environment: &Environment, stem: &str) -> Vec<PathBuf> {
    let user = match (environment.get("XDG_CONFIG_HOME"), &environment.home) {
        (Some(path), _) => Some(PathBuf::from(path)),
        (None, Some(home)) => Some(home.join(".config")),
        (None, None) => None,
    };
    let directories = [
        environment.directory.clone(),
        user.map(|path| path.join("openstack")),
        environment
            .system
            .as_ref()
            .map(|path| path.join("openstack")),
    ];
    directories
        .into_iter()
        .flatten()
        .flat_map(|directory| {
            ["yaml", "yml"].map(|ending| directory.join(format!("{stem}.{ending}")))
        })
        .collect()
}
