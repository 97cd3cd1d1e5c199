//! Search of the sources of credentials, for programs that pass no credentials to the builder.

use std::{path::PathBuf, time::Duration};

use modelarts_api::Secret;

use crate::{
    config::{
        endpoints::{self, Service},
        environment::Environment,
    },
    credentials::{
        Credentials,
        auth_server::AuthServer,
        cache::FetchCredentials,
        config_files,
        password::{Named, Password},
        source::{FoundCredentials, Hints, Lookup, pair},
        temporary_keys::Oidc,
    },
    error::Error,
};

type Source = fn(&Environment, &Hints) -> Result<Lookup, Error>;

/// Sources in search order, from those of the program to those of the machine.
const SOURCES: [Source; 9] = [
    find_oidc,
    find_keys,
    find_terraform,
    |environment, hints| find_family(environment, hints, &OPENSTACK),
    config_files::find_named,
    config_files::find_profile,
    |environment, hints| config_files::find(environment, hints, None),
    find_metadata,
    find_pod_identity,
];

/// Returns the credentials of the first source that has any. Unusable credentials of a source are
/// an error, because the next source may belong to another user.
pub(crate) fn find(environment: &Environment, hints: &Hints) -> Result<Lookup, Error> {
    let mut reasons = Vec::new();
    for source in SOURCES {
        match source(environment, hints)? {
            found @ Lookup::Found(_) => return Ok(found),
            Lookup::NotFound(reason) => reasons.push(reason),
        }
    }
    Ok(Lookup::NotFound(format!(
        "no credentials; call credentials(), or set HUAWEICLOUD_SDK_AK and \
         HUAWEICLOUD_SDK_SK. Looked at:\n- {}",
        reasons.join("\n- ")
    )))
}

/// Returns the existing files in which a client with this environment searches for credentials.
#[must_use]
pub fn files(environment: &Environment) -> Vec<PathBuf> {
    let profile = config_files::profile_path(environment).filter(|path| path.exists());
    profile.into_iter().chain(config_files::paths(environment)).collect()
}

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
        return Ok(Lookup::NotFound("the variables HUAWEICLOUD_OIDC_*: not set".to_owned()));
    };
    let need = |name| {
        let value = environment.variable(name);
        value.ok_or_else(|| missing_variable(set, name))
    };
    let (provider, agency) = (need(PROVIDER)?, need(AGENCY)?);
    let sts = match (environment.variable(STS), &hints.region) {
        (None, Some(region)) => endpoints::endpoint(Service::Sts, region, environment)?,
        (address, _) => address,
    };
    let sts = sts.ok_or_else(|| {
        Error::config(format!(
            "{set} is set, but where STS is cannot be told from the region; set {STS}"
        ))
    })?;
    let mut login = match (environment.variable(TOKEN), environment.variable(FILE)) {
        (Some(token), _) => Oidc::from_token(sts, provider, agency, token),
        (None, Some(file)) => Oidc::from_file(sts, provider, agency, file),
        (None, None) => return Err(missing_variable(set, &format!("{TOKEN} or {FILE}"))),
    };
    if let Some(seconds) = environment.variable(DURATION) {
        let seconds = seconds.trim().parse().map_err(|_| {
            Error::config(format!("{DURATION} is {seconds:?}, which is no number of seconds"))
        })?;
        login = login.duration(Duration::from_secs(seconds));
    }
    if let Some(name) = environment.variable("HUAWEICLOUD_OIDC_SESSION_NAME") {
        login = login.session_name(name);
    }
    if let Some(policy) = environment.variable("HUAWEICLOUD_OIDC_POLICY") {
        login = login.policy(policy);
    }
    let ids = environment.variable("HUAWEICLOUD_OIDC_POLICY_IDS");
    let ids = ids.as_deref().unwrap_or_default().split(',').map(str::trim);
    login = login.policy_ids(ids.filter(|id| !id.is_empty()));
    FoundCredentials::new("the variables HUAWEICLOUD_OIDC_*:", login.into_provider())
        .map(Lookup::Found)
}

fn find_key_pair(
    environment: &Environment,
    access_key: &'static str,
    secret_key: &'static str,
    tokens: &[&'static str],
) -> Result<Option<FoundCredentials>, Error> {
    let setting = |name| (name, environment.variable(name));
    let Some((ak, sk)) = pair(setting(access_key), setting(secret_key), missing_variable)? else {
        return Ok(None);
    };
    let (name, token) = environment.first(tokens).unzip();
    let name = name.map_or_else(String::new, |name| format!(", {name}"));
    let credentials = Credentials::with_security_token(ak, sk, token);
    FoundCredentials::new(&format!("{access_key}, {secret_key}{name}:"), credentials).map(Some)
}

fn find_keys(environment: &Environment, _: &Hints) -> Result<Lookup, Error> {
    const FEDERATION: &str = "HUAWEICLOUD_SDK_IDP_ID";

    if environment.variable(FEDERATION).is_some() {
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
    let reason = "HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK: not set";
    Ok(found.map_or_else(|| Lookup::NotFound(reason.to_owned()), Lookup::Found))
}

/// Environment variables of a family of tools. Of several names, the first variable set applies.
struct Family {
    keys: &'static [(&'static str, &'static str)],
    security_token: &'static [&'static str],
    token: &'static [&'static str],
    user_name: &'static str,
    user_id: &'static str,
    password: &'static str,
    domain_id: &'static [&'static str],
    domain_name: &'static [&'static str],
    auth_url: &'static str,
    project: &'static str,
}

const TERRAFORM: Family = Family {
    keys: &[("HW_ACCESS_KEY", "HW_SECRET_KEY")],
    security_token: &["HW_SECURITY_TOKEN"],
    token: &["HW_AUTH_TOKEN"],
    user_name: "HW_USER_NAME",
    user_id: "HW_USER_ID",
    password: "HW_USER_PASSWORD",
    domain_id: &["HW_DOMAIN_ID"],
    domain_name: &["HW_DOMAIN_NAME"],
    auth_url: "HW_AUTH_URL",
    project: "HW_PROJECT_NAME or HW_PROJECT_ID",
};

const OPENSTACK: Family = Family {
    keys: &[
        ("OS_ACCESS_KEY", "OS_SECRET_KEY"),
        ("OS_AK", "OS_SK"),
        ("OS_ACCESS_KEY_ID", "OS_ACCESS_KEY_SECRET"),
    ],
    security_token: &["OS_SECURITY_TOKEN", "OS_AKSK_SECURITY_TOKEN"],
    token: &["OS_AUTH_TOKEN", "OS_TOKEN"],
    user_name: "OS_USERNAME",
    user_id: "OS_USER_ID",
    password: "OS_PASSWORD",
    domain_id: &["OS_USER_DOMAIN_ID", "OS_DOMAIN_ID"],
    domain_name: &["OS_USER_DOMAIN_NAME", "OS_DOMAIN_NAME"],
    auth_url: "OS_AUTH_URL",
    project: "OS_PROJECT_NAME or OS_PROJECT_ID",
};

fn find_terraform(environment: &Environment, hints: &Hints) -> Result<Lookup, Error> {
    const AGENCY: &str = "HW_ASSUME_ROLE_AGENCY_NAME";

    let found = find_family(environment, hints, &TERRAFORM)?;
    // Without assuming the agency, the client would use the permissions of another identity.
    if matches!(found, Lookup::Found(_)) && environment.variable(AGENCY).is_some() {
        return Err(Error::config(format!(
            "{AGENCY} is set, and agencies are not assumed; unset it, or call credentials() with \
             a provider of your own"
        )));
    }
    Ok(found)
}

fn find_family(environment: &Environment, hints: &Hints, family: &Family) -> Result<Lookup, Error> {
    for (access_key, secret_key) in family.keys {
        let tokens = family.security_token;
        if let Some(found) = find_key_pair(environment, access_key, secret_key, tokens)? {
            return Ok(Lookup::Found(found));
        }
    }
    if let Some((name, token)) = environment.first(family.token) {
        return FoundCredentials::new(&format!("{name}:"), Credentials::token(token))
            .map(Lookup::Found);
    }
    let (name, user) = environment.first(&[family.user_name, family.user_id]).unzip();
    let name = name.unwrap_or(family.user_name);
    let password = (family.password, environment.variable(family.password));
    let Some((user, password)) = pair((name, user), password, missing_variable)? else {
        let key_pairs = family.keys.iter().take(1);
        let mut pairs: Vec<_> = key_pairs.map(|(ak, sk)| format!("{ak} and {sk}")).collect();
        pairs.extend(family.token.first().map(|&token| token.to_owned()));
        pairs.push(format!("{} and {}", family.user_name, family.password));
        return Ok(Lookup::NotFound(format!("{}: not set", pairs.join(", "))));
    };
    let missing = |missing: &str| missing_variable(name, missing);
    let given = environment.variable(family.auth_url);
    let iam = hints.iam(environment, given, hints.region.as_deref())?;
    let domain =
        Named::choose(environment.value(family.domain_id), environment.value(family.domain_name));
    let project = hints.project.clone();
    let project = Named::choose(project.id, project.name.or(hints.region.clone()));
    let login = Password {
        iam: AuthServer::new("IAM", iam.ok_or_else(|| missing(family.auth_url))?),
        user: match name {
            _ if name == family.user_id => Named::Id(user),
            _ if domain.is_none() => return Err(missing(&family.domain_name.join(" or "))),
            _ => Named::Name(user),
        },
        password: Secret::new(password),
        domain,
        project: Some(project.ok_or_else(|| missing(family.project))?),
    };
    let place = format!("{name} and {}:", family.password);
    FoundCredentials::new(&place, login.into_provider()).map(Lookup::Found)
}

fn find_metadata(_: &Environment, hints: &Hints) -> Result<Lookup, Error> {
    match &hints.metadata {
        Some(metadata) => {
            let provider = metadata.clone().into_provider();
            FoundCredentials::new("the metadata service:", provider).map(Lookup::Found)
        }
        None => Ok(Lookup::NotFound(
            "the metadata service of a cloud server: not asked unless metadata() is called"
                .to_owned(),
        )),
    }
}

fn find_pod_identity(environment: &Environment, _: &Hints) -> Result<Lookup, Error> {
    const VARIABLE: &str = "HC_CONTAINER_CREDENTIALS_FULL_URI";

    Ok(Lookup::NotFound(match environment.variable(VARIABLE) {
        Some(_) => format!(
            "{VARIABLE}: it is set, and the identity of pods is not supported; call \
             credentials() with a provider of your own"
        ),
        None => format!("{VARIABLE}: not set"),
    }))
}
