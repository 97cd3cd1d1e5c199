//! Where credentials are looked for when the program names none.

use std::{any::TypeId, fmt, sync::Arc, time::Duration};

use crate::{
    config::{
        endpoints::{self, Project, Service},
        environment::Environment,
    },
    credentials::{
        Credentials, ProvideCredentials, cache::FetchCredentials, clouds_yaml, metadata::Metadata,
        oidc::Oidc, password::Password, profile_file,
    },
    error::Error,
};

/// What is asked for before anything is looked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hints {
    pub(crate) region: Option<String>,
    pub(crate) project: Project,
    /// The address of IAM, when the program or `HUAWEICLOUD_SDK_IAM_ENDPOINT` says it.
    pub(crate) iam: Option<String>,
    pub(crate) metadata: Option<Metadata>,
}

impl Hints {
    /// The address of IAM; `given` is what the source of the credentials says.
    pub(crate) fn iam(
        &self,
        environment: &Environment,
        given: Option<String>,
        region: Option<&str>,
    ) -> Result<Option<String>, Error> {
        match (self.iam.clone().or(given), region) {
            (Some(address), _) => Ok(Some(address)),
            (None, Some(region)) => endpoints::endpoint(Service::Iam, region, Some(environment)),
            (None, None) => Ok(None),
        }
    }
}

/// Credentials that were found, with what was found beside them.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) credentials: Arc<dyn ProvideCredentials>,
    /// Whether they are plain [`Credentials`], which nobody is asked for.
    pub(crate) fixed: bool,
    pub(crate) project: Project,
    pub(crate) region: Option<String>,
    pub(crate) iam: Option<String>,
}

impl Found {
    /// What is found at a place must be good.
    pub(crate) fn new(
        place: impl fmt::Display,
        credentials: impl ProvideCredentials,
    ) -> Result<Self, Error> {
        credentials.check().map_err(|error| {
            let colon = if place.to_string().ends_with(',') {
                ""
            } else {
                ":"
            };
            Error::config(format!("{place}{colon} {error}"))
        })?;
        Ok(Self::unchecked(credentials))
    }

    pub(crate) fn unchecked<P: ProvideCredentials>(credentials: P) -> Self {
        Self {
            credentials: Arc::new(credentials),
            fixed: TypeId::of::<P>() == TypeId::of::<Credentials>(),
            project: Project::default(),
            region: None,
            iam: None,
        }
    }
}

/// What a look at one source brought.
pub(crate) enum Look {
    Found(Box<Found>),
    /// Nothing is there; why.
    Not(String),
}

impl Look {
    pub(crate) fn not(why: impl Into<String>) -> Self {
        Self::Not(why.into())
    }
}

impl From<Found> for Look {
    fn from(found: Found) -> Self {
        Self::Found(Box::new(found))
    }
}

/// What a look everywhere brought.
pub(crate) enum Search {
    Found(Found),
    /// Nothing is anywhere; the error lists the places.
    Nothing(Error),
}

type Source = fn(&Environment, &Hints) -> Result<Look, Error>;

/// The order: what is for this program alone comes first, what is for everyone on the
/// machine last.
const ORDER: [Source; 8] = [
    oidc,
    keys,
    openstack,
    clouds_yaml::find_named,
    profile_file::find,
    clouds_yaml::find_only,
    metadata,
    pod_identity,
];

/// Looks everywhere, in order. What is found and is not good is an error: another
/// source might be somebody else.
pub(crate) fn find(environment: &Environment, wishes: &Hints) -> Result<Search, Error> {
    let mut looks = Vec::new();
    for source in ORDER {
        match source(environment, wishes)? {
            Look::Found(found) => return Ok(Search::Found(*found)),
            Look::Not(why) => looks.push(why),
        }
    }
    Ok(Search::Nothing(Error::config(format!(
        "no credentials; call credentials(), or set HUAWEICLOUD_SDK_AK and \
         HUAWEICLOUD_SDK_SK. Looked at:\n- {}",
        looks.join("\n- ")
    ))))
}

/// Refuses a variable that does not go with those that are set.
fn lacks(set: &str, missing: &str) -> Error {
    Error::config(format!("{set} is set but {missing} is not"))
}

fn oidc(environment: &Environment, wishes: &Hints) -> Result<Look, Error> {
    const PROVIDER: &str = "HUAWEICLOUD_OIDC_PROVIDER_URN";
    const AGENCY: &str = "HUAWEICLOUD_OIDC_AGENCY_URN";
    const TOKEN: &str = "HUAWEICLOUD_OIDC_ID_TOKEN";
    const FILE: &str = "HUAWEICLOUD_OIDC_TOKEN_FILE";
    const DURATION: &str = "HUAWEICLOUD_OIDC_DURATION_SECONDS";
    const STS: &str = "HUAWEICLOUD_SDK_STS_ENDPOINT";

    let Some((set, _)) = environment.first(&[PROVIDER, AGENCY, TOKEN, FILE]) else {
        return Ok(Look::not("the variables HUAWEICLOUD_OIDC_*: not set"));
    };
    let need = |name: &str| environment.get(name).ok_or_else(|| lacks(set, name));
    let provider = need(PROVIDER)?;
    let agency = need(AGENCY)?;
    let sts = match (environment.get(STS), &wishes.region) {
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
        (None, None) => return Err(lacks(set, &format!("{TOKEN} or {FILE}"))),
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
    Ok(Found::new("the variables HUAWEICLOUD_OIDC_*", login.renewing())?.into())
}

/// The pair of keys in two variables; `None` when neither is set.
fn pair(
    environment: &Environment,
    access_key: &'static str,
    secret_key: &'static str,
    tokens: &[&'static str],
) -> Result<Option<Found>, Error> {
    let (ak, sk) = match (environment.get(access_key), environment.get(secret_key)) {
        (Some(ak), Some(sk)) => (ak, sk),
        (Some(_), None) => return Err(lacks(access_key, secret_key)),
        (None, Some(_)) => return Err(lacks(secret_key, access_key)),
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
    Found::new(place, credentials).map(Some)
}

fn keys(environment: &Environment, _: &Hints) -> Result<Look, Error> {
    const FEDERATION: &str = "HUAWEICLOUD_SDK_IDP_ID";

    if environment.get(FEDERATION).is_some() {
        return Err(Error::config(format!(
            "{FEDERATION} is set, and federation is not supported; use the variables \
             HUAWEICLOUD_OIDC_*"
        )));
    }
    let found = pair(
        environment,
        "HUAWEICLOUD_SDK_AK",
        "HUAWEICLOUD_SDK_SK",
        &["HUAWEICLOUD_SDK_SECURITY_TOKEN"],
    )?;
    Ok(match found {
        Some(found) => found.into(),
        None => Look::not("HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK: not set"),
    })
}

/// The names that the tools for Open Telekom Cloud use.
const OPENSTACK_KEYS: [(&str, &str); 3] = [
    ("OS_ACCESS_KEY", "OS_SECRET_KEY"),
    ("OS_AK", "OS_SK"),
    ("OS_ACCESS_KEY_ID", "OS_ACCESS_KEY_SECRET"),
];

fn openstack(environment: &Environment, wishes: &Hints) -> Result<Look, Error> {
    const PASSWORD: &str = "OS_PASSWORD";

    for (access_key, secret_key) in OPENSTACK_KEYS {
        let tokens = ["OS_SECURITY_TOKEN", "OS_AKSK_SECURITY_TOKEN"];
        if let Some(found) = pair(environment, access_key, secret_key, &tokens)? {
            return Ok(found.into());
        }
    }
    if let Some((name, token)) = environment.first(&["OS_AUTH_TOKEN", "OS_TOKEN"]) {
        return Ok(Found::new(name, Credentials::token(token))?.into());
    }
    let user = environment.first(&["OS_USERNAME", "OS_USER_ID"]);
    let (name, user, password) = match (user, environment.get(PASSWORD)) {
        (Some((name, user)), Some(password)) => (name, user, password),
        (Some((name, _)), None) => return Err(lacks(name, PASSWORD)),
        (None, Some(_)) => return Err(lacks(PASSWORD, "OS_USERNAME")),
        (None, None) => {
            return Ok(Look::not(
                "OS_ACCESS_KEY and OS_SECRET_KEY, OS_AUTH_TOKEN, OS_USERNAME and OS_PASSWORD: \
                 not set",
            ));
        }
    };
    let given = environment.get("OS_AUTH_URL");
    let iam = wishes
        .iam(environment, given, wishes.region.as_deref())?
        .ok_or_else(|| lacks(name, "OS_AUTH_URL"))?;
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
            return Err(lacks(name, "OS_USER_DOMAIN_NAME or OS_DOMAIN_NAME"));
        }
        (None, None) => login,
    };
    let project = wishes.project.clone();
    login = match (project.id, project.name.or(wishes.region.clone())) {
        (Some(id), _) => login.project_id(id),
        (None, Some(name)) => login.project(name),
        (None, None) => return Err(lacks(name, "OS_PROJECT_NAME or OS_PROJECT_ID")),
    };
    let place = format!("{name} and {PASSWORD}");
    Ok(Found::new(place, login.renewing())?.into())
}

fn metadata(_: &Environment, wishes: &Hints) -> Result<Look, Error> {
    match &wishes.metadata {
        Some(metadata) => {
            let provider = metadata.clone().renewing();
            Ok(Found::new("the metadata service", provider)?.into())
        }
        None => Ok(Look::not(
            "the metadata service of a cloud server: not asked unless metadata() is called",
        )),
    }
}

/// Not supported; but whoever relies on it should read that.
fn pod_identity(environment: &Environment, _: &Hints) -> Result<Look, Error> {
    const VARIABLE: &str = "HC_CONTAINER_CREDENTIALS_FULL_URI";

    Ok(Look::not(match environment.get(VARIABLE) {
        Some(_) => format!(
            "{VARIABLE}: it is set, and the identity of pods is not supported; call \
             credentials() with a provider of your own"
        ),
        None => format!("{VARIABLE}: not set"),
    }))
}
