//! Chain of the sources of credentials, for programs that set none.

use std::time::Duration;

use crate::{
    config::{
        endpoints::{self, Service},
        environment::Environment,
    },
    credentials::{
        Credentials,
        cache::FetchCredentials,
        clouds_yaml,
        oidc::Oidc,
        password::Password,
        profile_file,
        source::{FoundCredentials, Hints, Lookup},
    },
    error::Error,
};

/// The result of searching all sources.
pub(crate) enum ChainResult {
    Found(FoundCredentials),
    /// No source has credentials; the error lists the sources.
    NotFound(Error),
}

type Source = fn(&Environment, &Hints) -> Result<Lookup, Error>;

/// The sources in the order in which they are searched: from those of the program to those of the
/// machine.
const SOURCES: [Source; 8] = [
    find_oidc,
    find_keys,
    find_openstack,
    clouds_yaml::find_named,
    profile_file::find,
    clouds_yaml::find_only,
    find_metadata,
    find_pod_identity,
];

/// Searches all sources in order. Credentials that are present but unusable are an error, because
/// the next source may belong to another user.
pub(crate) fn find(environment: &Environment, hints: &Hints) -> Result<ChainResult, Error> {
    let mut reasons = Vec::new();
    for source in SOURCES {
        match source(environment, hints)? {
            Lookup::Found(found) => return Ok(ChainResult::Found(*found)),
            Lookup::NotFound(why) => reasons.push(why),
        }
    }
    Ok(ChainResult::NotFound(Error::config(format!(
        "no credentials; call credentials(), or set HUAWEICLOUD_SDK_AK and \
         HUAWEICLOUD_SDK_SK. Looked at:\n- {}",
        reasons.join("\n- ")
    ))))
}

/// The error for a variable that requires another one.
fn missing_variable(set: &str, missing: &str) -> Error {
    Error::config(format!("{set} is set but {missing} is not"))
}

fn find_oidc(environment: &Environment, hints: &Hints) -> Result<Lookup, Error> {
    const PROVIDER: &str = "HUAWEICLOUD_OIDC_PROVIDER_URN";
    const AGENCY: &str = "HUAWEICLOUD_OIDC_AGENCY_URN";
    const TOKEN: &str = "HUAWEICLOUD_OIDC_ID_TOKEN";
    const FILE: &str = "HUAWEICLOUD_OIDC_TOKEN_FILE";
    const DURATION: &str = "HUAWEICLOUD_OIDC_DURATION_SECONDS";
    const STS: &str = "HUAWEICLOUD_SDK_STS_ENDPOINT";

    let Some((set, _)) = environment.first(&[PROVIDER, AGENCY, TOKEN, FILE]) else {
        return Ok(Lookup::not_found(
            "the variables HUAWEICLOUD_OIDC_*: not set",
        ));
    };
    let need = |name: &str| {
        environment
            .get(name)
            .ok_or_else(|| missing_variable(set, name))
    };
    let provider = need(PROVIDER)?;
    let agency = need(AGENCY)?;
    let sts = match (environment.get(STS), &hints.region) {
        (Some(address), _) => Some(address),
        (None, Some(region)) => endpoints::endpoint(Service::Sts, region, Some(environment))?,
        (None, None) => None,
    };
    let sts = sts.ok_or_else(|| {
        Error::config(format!(
            "{set} is set, but where STS is cannot be told from the region; set {STS}"
        ))
    })?;
    let mut login = match (environment.get(TOKEN), environment.get(FILE)) {
        (Some(token), _) => Oidc::from_token(sts, provider, agency, token),
        (None, Some(file)) => Oidc::from_file(sts, provider, agency, file),
        (None, None) => return Err(missing_variable(set, &format!("{TOKEN} or {FILE}"))),
    };
    if let Some(seconds) = environment.get(DURATION) {
        let seconds = seconds.trim().parse().map_err(|_| {
            Error::config(format!(
                "{DURATION} is {seconds:?}, which is no number of seconds"
            ))
        })?;
        login = login.duration(Duration::from_secs(seconds));
    }
    if let Some(name) = environment.get("HUAWEICLOUD_OIDC_SESSION_NAME") {
        login = login.session_name(name);
    }
    if let Some(policy) = environment.get("HUAWEICLOUD_OIDC_POLICY") {
        login = login.policy(policy);
    }
    if let Some(ids) = environment.get("HUAWEICLOUD_OIDC_POLICY_IDS") {
        let ids = ids.split(',').map(str::trim).filter(|id| !id.is_empty());
        login = login.policy_ids(ids);
    }
    Ok(FoundCredentials::new("the variables HUAWEICLOUD_OIDC_*", login.into_provider())?.into())
}

/// Reads the keys in two variables; `None` if neither is set.
fn find_key_pair(
    environment: &Environment,
    access_key: &'static str,
    secret_key: &'static str,
    tokens: &[&'static str],
) -> Result<Option<FoundCredentials>, Error> {
    let (ak, sk) = match (environment.get(access_key), environment.get(secret_key)) {
        (Some(ak), Some(sk)) => (ak, sk),
        (Some(_), None) => return Err(missing_variable(access_key, secret_key)),
        (None, Some(_)) => return Err(missing_variable(secret_key, access_key)),
        (None, None) => return Ok(None),
    };
    let (place, credentials) = match environment.first(tokens) {
        Some((name, token)) => (
            format!("{access_key}, {secret_key}, {name}"),
            Credentials::temporary_keys(ak, sk, token),
        ),
        None => (
            format!("{access_key}, {secret_key}"),
            Credentials::keys(ak, sk),
        ),
    };
    FoundCredentials::new(place, credentials).map(Some)
}

fn find_keys(environment: &Environment, _: &Hints) -> Result<Lookup, Error> {
    const FEDERATION: &str = "HUAWEICLOUD_SDK_IDP_ID";

    if environment.get(FEDERATION).is_some() {
        return Err(Error::config(format!(
            "{FEDERATION} is set, and federation is not supported; use the variables \
             HUAWEICLOUD_OIDC_*"
        )));
    }
    let found = find_key_pair(
        environment,
        "HUAWEICLOUD_SDK_AK",
        "HUAWEICLOUD_SDK_SK",
        &["HUAWEICLOUD_SDK_SECURITY_TOKEN"],
    )?;
    Ok(match found {
        Some(found) => found.into(),
        None => Lookup::not_found("HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK: not set"),
    })
}

/// The names that tools for Open Telekom Cloud use.
const OPENSTACK_KEYS: [(&str, &str); 3] = [
    ("OS_ACCESS_KEY", "OS_SECRET_KEY"),
    ("OS_AK", "OS_SK"),
    ("OS_ACCESS_KEY_ID", "OS_ACCESS_KEY_SECRET"),
];

fn find_openstack(environment: &Environment, hints: &Hints) -> Result<Lookup, Error> {
    const PASSWORD: &str = "OS_PASSWORD";

    for (access_key, secret_key) in OPENSTACK_KEYS {
        let tokens = ["OS_SECURITY_TOKEN", "OS_AKSK_SECURITY_TOKEN"];
        if let Some(found) = find_key_pair(environment, access_key, secret_key, &tokens)? {
            return Ok(found.into());
        }
    }
    if let Some((name, token)) = environment.first(&["OS_AUTH_TOKEN", "OS_TOKEN"]) {
        return Ok(FoundCredentials::new(name, Credentials::token(token))?.into());
    }
    let user = environment.first(&["OS_USERNAME", "OS_USER_ID"]);
    let (name, user, password) = match (user, environment.get(PASSWORD)) {
        (Some((name, user)), Some(password)) => (name, user, password),
        (Some((name, _)), None) => return Err(missing_variable(name, PASSWORD)),
        (None, Some(_)) => return Err(missing_variable(PASSWORD, "OS_USERNAME")),
        (None, None) => {
            return Ok(Lookup::not_found(
                "OS_ACCESS_KEY and OS_SECRET_KEY, OS_AUTH_TOKEN, OS_USERNAME and OS_PASSWORD: \
                 not set",
            ));
        }
    };
    let given = environment.get("OS_AUTH_URL");
    let iam = hints
        .iam(environment, given, hints.region.as_deref())?
        .ok_or_else(|| missing_variable(name, "OS_AUTH_URL"))?;
    let mut login = Password::new(iam, user.clone(), password);
    if name == "OS_USER_ID" {
        login = login.user_id(user);
    }
    let domain_id = environment.value(&["OS_USER_DOMAIN_ID", "OS_DOMAIN_ID"]);
    let domain = environment.value(&["OS_USER_DOMAIN_NAME", "OS_DOMAIN_NAME"]);
    login = match (domain_id, domain) {
        (Some(id), _) => login.domain_id(id),
        (None, Some(domain)) => login.domain(domain),
        (None, None) if name == "OS_USERNAME" => {
            return Err(missing_variable(
                name,
                "OS_USER_DOMAIN_NAME or OS_DOMAIN_NAME",
            ));
        }
        (None, None) => login,
    };
    let project = hints.project.clone();
    login = match (project.id, project.name.or(hints.region.clone())) {
        (Some(id), _) => login.project_id(id),
        (None, Some(name)) => login.project(name),
        (None, None) => return Err(missing_variable(name, "OS_PROJECT_NAME or OS_PROJECT_ID")),
    };
    let place = format!("{name} and {PASSWORD}");
    Ok(FoundCredentials::new(place, login.into_provider())?.into())
}

fn find_metadata(_: &Environment, hints: &Hints) -> Result<Lookup, Error> {
    match &hints.metadata {
        Some(metadata) => {
            let provider = metadata.clone().into_provider();
            Ok(FoundCredentials::new("the metadata service", provider)?.into())
        }
        None => Ok(Lookup::not_found(
            "the metadata service of a cloud server: not asked unless metadata() is called",
        )),
    }
}

/// Reports pod identities, which are not supported.
fn find_pod_identity(environment: &Environment, _: &Hints) -> Result<Lookup, Error> {
    const VARIABLE: &str = "HC_CONTAINER_CREDENTIALS_FULL_URI";

    Ok(Lookup::not_found(match environment.get(VARIABLE) {
        Some(_) => format!(
            "{VARIABLE}: it is set, and the identity of pods is not supported; call \
             credentials() with a provider of your own"
        ),
        None => format!("{VARIABLE}: not set"),
    }))
}
