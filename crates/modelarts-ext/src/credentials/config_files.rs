//! Credentials in `clouds.yaml` and `secure.yaml` (`OpenStack`), and in the official SDK's file.

use std::{collections::BTreeMap, path::PathBuf};

use modelarts_api::Secret;
use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::{
    config::{
        endpoints::{ProjectRef, canonical_region},
        environment::{Environment, parse_yaml, warn_if_open},
    },
    credentials::{
        Credentials,
        auth_server::AuthServer,
        cache::FetchCredentials,
        password::{Named, Password},
        source::{FoundCredentials, Hints, Lookup, pair},
    },
    error::Error,
};

const CLOUD: &str = "OS_CLOUD";
const CLOUDS_FILE: &str = "OS_CLIENT_CONFIG_FILE";
const SECURE_FILE: &str = "OS_CLIENT_SECURE_FILE";

type Clouds = BTreeMap<String, Spanned<Option<Cloud>>>;

#[derive(Deserialize)]
struct CloudsFile {
    clouds: Option<Clouds>,
}

/// Settings of a cloud in `clouds.yaml`. Values are text, because a password may be a number.
#[derive(Default, Deserialize)]
struct Cloud {
    auth: Option<Auth>,
    auth_type: Option<String>,
    region_name: Option<String>,
}

#[derive(Default, Deserialize)]
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

pub(super) fn find_named(environment: &Environment, hints: &Hints) -> Result<Lookup, Error> {
    match environment.variable(CLOUD) {
        Some(name) => find(environment, hints, Some(&name)),
        None => Ok(Lookup::NotFound(format!("{CLOUD}: not set"))),
    }
}

pub(super) fn find(
    environment: &Environment,
    hints: &Hints,
    name: Option<&str>,
) -> Result<Lookup, Error> {
    let usual = usual_paths(environment, "clouds");
    let Some((path, mut clouds)) = read_clouds(environment, CLOUDS_FILE, &usual)? else {
        let paths = usual.iter().map(|path| path.display().to_string());
        let nowhere = match paths.collect::<Vec<_>>().join(", ").as_str() {
            "" => {
                format!("clouds.yaml: there is no place to look in, and {CLOUDS_FILE} is not set")
            }
            paths => format!("clouds.yaml: none of {paths} exists"),
        };
        return match name {
            Some(name) => Err(Error::config(format!("{CLOUD} is {name:?}, but {nowhere}"))),
            None => Ok(Lookup::NotFound(nowhere)),
        };
    };
    let place = path.display();
    let all: Vec<_> = clouds.keys().cloned().collect();
    let name = match (name, all.as_slice()) {
        (Some(name), _) => name,
        (None, [only]) => only,
        (None, []) => {
            return Ok(Lookup::NotFound(format!("{place}: there is no cloud in it")));
        }
        (None, several) => {
            return Ok(Lookup::NotFound(format!(
                "{place}: there are several clouds in it ({}); set {CLOUD}",
                several.join(", ")
            )));
        }
    };
    let Some(found) = clouds.remove(name) else {
        return Err(Error::config(format!(
            "{CLOUD} is {name:?}, but {place} has only: {}",
            all.join(", ")
        )));
    };
    let line = found.referenced.line();
    let place = format!("{place}: the cloud {name:?}, line {line},");
    let mut cloud = found.value.unwrap_or_default();
    cloud.region_name = cloud.region_name.map(canonical_region);
    let mut auth = cloud.auth.take().unwrap_or_default();
    if auth.password.is_some() || auth.sk.is_some() || auth.token.is_some() {
        warn_if_open(&path);
    }
    let usual = usual_paths(environment, "secure");
    if let Some((path, mut secure)) = read_clouds(environment, SECURE_FILE, &usual)?
        && let Some(more) = secure.remove(name)
    {
        warn_if_open(&path);
        let more = more.value.and_then(|more| more.auth).unwrap_or_default();
        auth = more.or(auth);
    }
    make_credentials(&place, cloud, auth, environment, hints).map(Lookup::Found)
}

fn make_credentials(
    place: &str,
    cloud: Cloud,
    auth: Auth,
    environment: &Environment,
    hints: &Hints,
) -> Result<FoundCredentials, Error> {
    let error = |problem: &str| Error::config(format!("{place} {problem}"));
    let missing = |set: &str, missing: &str| error(&format!("has {set} but no {missing}"));
    let project = ProjectRef { id: auth.project_id, name: auth.project_name };
    let auth_type = cloud.auth_type.unwrap_or_default();
    let by_token = auth_type.ends_with("token") || auth.password.is_none();
    let keys = pair(("ak", auth.ak), ("sk", auth.sk), missing)?;
    let found = if let Some((access_key, secret_key)) = keys {
        let token = auth.security_token;
        let credentials = Credentials::with_security_token(access_key, secret_key, token);
        FoundCredentials::new(place, credentials)?
    } else if let Some(token) = auth.token.filter(|_| by_token) {
        FoundCredentials::new(place, Credentials::token(token))?
    } else {
        let user = Named::choose(auth.user_id, auth.username);
        let (user, password) = match (user, auth.password) {
            (Some(user), Some(password)) => (user, password),
            (Some(_), None) => return Err(missing("a user", "password")),
            (None, Some(_)) => return Err(missing("a password", "user")),
            (None, None) => {
                return Err(error("has none of ak and sk, username and password, and token"));
            }
        };
        let region = hints.region.clone().or(cloud.region_name.clone());
        let iam = hints.iam(environment, auth.auth_url.clone(), region.as_deref())?;
        let iam = iam.ok_or_else(|| error("has no auth_url, and its region is not known"))?;
        let project = hints.project.clone().or(project.clone());
        let login = Password {
            iam: AuthServer::new("IAM", iam),
            user,
            password: Secret::new(password),
            domain: Named::choose(auth.user_domain_id, auth.user_domain_name),
            project: Named::choose(project.id, project.name.or(region)),
        };
        FoundCredentials::new(place, login.into_provider())?
    };
    Ok(FoundCredentials { project, region: cloud.region_name, iam: auth.auth_url, ..found })
}

fn read_clouds(
    environment: &Environment,
    variable: &str,
    usual: &[PathBuf],
) -> Result<Option<(PathBuf, Clouds)>, Error> {
    let Some((path, text)) = environment.find_file(variable, usual)? else {
        return Ok(None);
    };
    let file: Option<CloudsFile> = parse_yaml(&path, &text)?;
    let clouds = file.and_then(|file| file.clouds).unwrap_or_default();
    Ok(Some((path, clouds)))
}

pub(super) fn paths(environment: &Environment) -> impl Iterator<Item = PathBuf> {
    let kinds = [(CLOUDS_FILE, "clouds"), (SECURE_FILE, "secure")];
    kinds.into_iter().filter_map(|(variable, stem)| {
        match environment.variable(variable).map(PathBuf::from) {
            Some(given) => Some(given).filter(|path| path.exists()),
            None => {
                let mut usual = usual_paths(environment, stem).into_iter();
                usual.find(|path| path.exists())
            }
        }
    })
}

fn usual_paths(environment: &Environment, stem: &str) -> Vec<PathBuf> {
    let user = environment.variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let user = user.or_else(|| Some(environment.home.as_ref()?.join(".config")));
    let openstack = |path: PathBuf| path.join("openstack");
    let system = environment.system.clone().map(openstack);
    let directories = [environment.directory.clone(), user.map(openstack), system];
    let names = ["yaml", "yml"].map(|ending| format!("{stem}.{ending}"));
    let directories = directories.iter().flatten();
    directories.flat_map(|directory| names.iter().map(|name| directory.join(name))).collect()
}

const PROFILE_FILE: &str = "HUAWEICLOUD_SDK_CREDENTIALS_FILE";
const PROFILE: &str = ".huaweicloud/credentials";
const PROFILE_SECTION: &str = "basic";

pub(super) fn profile_path(environment: &Environment) -> Option<PathBuf> {
    let usual = || Some(environment.home.as_ref()?.join(PROFILE));
    let given = environment.variable(PROFILE_FILE).map(PathBuf::from);
    given.or_else(usual)
}

pub(super) fn find_profile(environment: &Environment, _: &Hints) -> Result<Lookup, Error> {
    let usual = environment.home.as_ref();
    let usual = usual.map(|home| home.join(PROFILE));
    let Some((path, text)) = environment.find_file(PROFILE_FILE, usual.as_slice())? else {
        return Ok(Lookup::NotFound(match usual {
            Some(path) => format!("{}: there is no such file", path.display()),
            None => format!(
                "~/.huaweicloud/credentials: there is no home directory, and {PROFILE_FILE} is not \
                 set"
            ),
        }));
    };
    let place = path.display();
    let section =
        parse_profile(&text).map_err(|error| Error::config(format!("{place}: {error}")))?;
    let Some((line, values)) = section else {
        return Ok(Lookup::NotFound(format!("{place}: there is no section [{PROFILE_SECTION}]")));
    };
    warn_if_open(&path);
    let get = |key| values.get(key).filter(|value| !value.is_empty()).cloned();
    let failed = |problem: &str| {
        Error::config(format!("{place}: the section [{PROFILE_SECTION}], line {line}, {problem}"))
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

type Section = (usize, BTreeMap<String, String>);

/// Returns line number and values of the section `[basic]`. A value is all text after `=` or `:`.
fn parse_profile(text: &str) -> Result<Option<Section>, String> {
    let mut found: Option<Section> = None;
    let mut is_inside = false;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let name = name.strip_suffix(']');
            let name = name.ok_or_else(|| format!("line {number} is not of the form [section]"))?;
            is_inside = name.trim() == PROFILE_SECTION;
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
