//! Tests of the chain of credential sources, and of their order.

use modelarts_ext::Client;

use super::fixtures::{builder_in, identity_in, keys, outcome_in, safe_message};
use crate::support::environment::TestEnvironment;

#[tokio::test]
async fn the_chain_is_looked_through_in_order() {
    const CLOUDS: &str = "clouds:\n  one:\n    auth: {ak: AK-cloud, sk: SK-s3cr3t}\n";
    let mut place = TestEnvironment::new();
    assert_eq!(identity_in(&place).await, "AK-metadata");
    place = place.file("here/clouds.yaml", CLOUDS);
    assert_eq!(identity_in(&place).await, "AK-cloud");
    let profile = "[basic]\nak = AK-profile\nsk = SK-s3cr3t\n";
    place = place.file("home/.huaweicloud/credentials", profile);
    assert_eq!(identity_in(&place).await, "AK-profile");
    place = place.variable("OS_CLOUD", "one");
    assert_eq!(identity_in(&place).await, "AK-cloud");
    place = place
        .variable("OS_USERNAME", "alice")
        .variable("OS_PASSWORD", "PW-s3cr3t")
        .variable("OS_USER_DOMAIN_NAME", "OTC01")
        .variable("OS_AUTH_URL", "URL/v3");
    assert_eq!(identity_in(&place).await, "TK-s3cr3t-1");
    place = place.variable("OS_TOKEN", "TK-s3cr3t-2");
    assert_eq!(identity_in(&place).await, "TK-s3cr3t-2");
    for (ak, sk) in [
        ("OS_ACCESS_KEY_ID", "OS_ACCESS_KEY_SECRET"),
        ("OS_AK", "OS_SK"),
        ("OS_ACCESS_KEY", "OS_SECRET_KEY"),
        ("HW_ACCESS_KEY", "HW_SECRET_KEY"),
        ("HUAWEICLOUD_SDK_AK", "HUAWEICLOUD_SDK_SK"),
    ] {
        place = place.variable(ak, ak).variable(sk, "SK-s3cr3t");
        assert_eq!(identity_in(&place).await, ak);
    }
    place = place
        .variable("HUAWEICLOUD_OIDC_PROVIDER_URN", "urn:provider")
        .variable("HUAWEICLOUD_OIDC_AGENCY_URN", "urn:agency")
        .variable("HUAWEICLOUD_OIDC_ID_TOKEN", "ID-s3cr3t")
        .variable("HUAWEICLOUD_SDK_STS_ENDPOINT", "URL");
    assert_eq!(identity_in(&place).await, "AK-oidc");
}

#[test]
fn nothing_found_lists_every_place() {
    let place = TestEnvironment::new().file("home/.huaweicloud/credentials", "[global]\nak = a\n");
    assert_eq!(
        outcome_in(&place),
        "no credentials; call credentials(), or set HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK. \
         Looked at:\n\
         - the variables HUAWEICLOUD_OIDC_*: not set\n\
         - HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK: not set\n\
         - HW_ACCESS_KEY and HW_SECRET_KEY, HW_AUTH_TOKEN, HW_USER_NAME and HW_USER_PASSWORD: not \
         set\n\
         - OS_ACCESS_KEY and OS_SECRET_KEY, OS_AUTH_TOKEN, OS_USERNAME and OS_PASSWORD: not set\n\
         - OS_CLOUD: not set\n\
         - home/.huaweicloud/credentials: there is no section [basic]\n\
         - clouds.yaml: none of here/clouds.yaml, here/clouds.yml, \
         home/.config/openstack/clouds.yaml, home/.config/openstack/clouds.yml, \
         etc/openstack/clouds.yaml, etc/openstack/clouds.yml exists\n\
         - the metadata service of a cloud server: not asked unless metadata() is called\n\
         - HC_CONTAINER_CREDENTIALS_FULL_URI: not set"
    );
    let place = TestEnvironment::new()
        .variable("HC_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/s3cr3t");
    let text = outcome_in(&place);
    let last = text.lines().last().unwrap();
    assert_eq!(
        last,
        "- HC_CONTAINER_CREDENTIALS_FULL_URI: it is set, and the identity of pods is not \
         supported; call credentials() with a provider of your own"
    );
    let several = "clouds:\n  a: {auth: {ak: x, sk: y}}\n  b: {auth: {ak: x, sk: y}}\n";
    let place = TestEnvironment::new().file("etc/openstack/clouds.yaml", several);
    let text = outcome_in(&place);
    for line in [
        "- home/.huaweicloud/credentials: there is no such file",
        "- etc/openstack/clouds.yaml: there are several clouds in it (a, b); set OS_CLOUD",
    ] {
        assert!(text.lines().any(|known| known == line), "{text}");
    }
}

#[test]
fn invalid_variables_are_reported() {
    let with = |variables: &[(&str, &str)]| {
        let place = TestEnvironment::new()
            .file("home/.huaweicloud/credentials", "[basic]\nak = AK\nsk = SK-s3cr3t\n");
        let place =
            variables.iter().fold(place, |place, (name, value)| place.variable(name, *value));
        outcome_in(&place)
    };
    assert_eq!(with(&[]), "found");
    let provider = ("HUAWEICLOUD_OIDC_PROVIDER_URN", "urn:provider");
    let agency = ("HUAWEICLOUD_OIDC_AGENCY_URN", "urn:agency");
    let sts = ("HUAWEICLOUD_SDK_STS_ENDPOINT", "https://sts.test");
    let id = ("HUAWEICLOUD_OIDC_ID_TOKEN", "ID-s3cr3t");
    let alice = ("OS_USERNAME", "alice");
    let word = ("OS_PASSWORD", "PW-s3cr3t");
    let domain = ("OS_DOMAIN_NAME", "OTC01");
    let iam = ("OS_AUTH_URL", "https://iam.test");
    let cases: [(&[(&str, &str)], &str); 16] = [
        (
            &[provider],
            "HUAWEICLOUD_OIDC_PROVIDER_URN is set but HUAWEICLOUD_OIDC_AGENCY_URN is not",
        ),
        (&[id], "HUAWEICLOUD_OIDC_ID_TOKEN is set but HUAWEICLOUD_OIDC_PROVIDER_URN is not"),
        (
            &[provider, agency, sts],
            "HUAWEICLOUD_OIDC_PROVIDER_URN is set but HUAWEICLOUD_OIDC_ID_TOKEN or \
             HUAWEICLOUD_OIDC_TOKEN_FILE is not",
        ),
        (
            &[provider, agency, id],
            "HUAWEICLOUD_OIDC_PROVIDER_URN is set, but where STS is cannot be told from the \
             region; set HUAWEICLOUD_SDK_STS_ENDPOINT",
        ),
        (
            &[provider, agency, id, sts, ("HUAWEICLOUD_OIDC_DURATION_SECONDS", "1h")],
            "HUAWEICLOUD_OIDC_DURATION_SECONDS is \"1h\", which is no number of seconds",
        ),
        (
            &[provider, agency, id, ("HUAWEICLOUD_SDK_STS_ENDPOINT", "http://sts.test")],
            "the variables HUAWEICLOUD_OIDC_*: the endpoint http://sts.test/ of STS is not https; \
             over http every secret of a request can be read on the way, so that is only for this \
             machine",
        ),
        (
            &[("HUAWEICLOUD_SDK_SK", "SK-s3cr3t")],
            "HUAWEICLOUD_SDK_SK is set but HUAWEICLOUD_SDK_AK is not",
        ),
        (
            &[("HUAWEICLOUD_SDK_IDP_ID", "idp")],
            "HUAWEICLOUD_SDK_IDP_ID is set, and federation is not supported; use the variables \
             HUAWEICLOUD_OIDC_*",
        ),
        (
            &[("OS_AK", "AK"), ("OS_SK", "SK-s3cr3t"), ("OS_SECURITY_TOKEN", "ST s3cr3t")],
            "OS_AK, OS_SK, OS_SECURITY_TOKEN: the security token contains white space or control \
             characters; check how it was copied",
        ),
        (&[alice], "OS_USERNAME is set but OS_PASSWORD is not"),
        (&[word], "OS_PASSWORD is set but OS_USERNAME is not"),
        (&[alice, word], "OS_USERNAME is set but OS_AUTH_URL is not"),
        (
            &[alice, word, iam],
            "OS_USERNAME is set but OS_USER_DOMAIN_NAME or OS_DOMAIN_NAME is not",
        ),
        (
            &[alice, word, domain, ("OS_AUTH_URL", "http://iam.test/v3")],
            "OS_USERNAME and OS_PASSWORD: the endpoint http://iam.test/ of IAM is not https; over \
             http every secret of a request can be read on the way, so that is only for this \
             machine",
        ),
        (
            &[("OS_CLOUD", "otc")],
            "OS_CLOUD is \"otc\", but clouds.yaml: none of here/clouds.yaml, here/clouds.yml, \
             home/.config/openstack/clouds.yaml, home/.config/openstack/clouds.yml, \
             etc/openstack/clouds.yaml, etc/openstack/clouds.yml exists",
        ),
        (
            &[("HUAWEICLOUD_SDK_CREDENTIALS_FILE", "/nowhere/credentials")],
            "HUAWEICLOUD_SDK_CREDENTIALS_FILE names /nowhere/credentials, which does not exist",
        ),
    ];
    for (variables, text) in cases {
        assert_eq!(with(variables), text);
    }
    assert_eq!(with(&[alice, word, domain, iam]), "found");
    // A token requires a project, whose name may be that of the region.
    let place = [alice, word, domain, iam]
        .iter()
        .fold(TestEnvironment::new(), |place, (name, value)| place.variable(name, *value));
    assert_eq!(
        safe_message(&builder_in(&place).build().unwrap_err()),
        "OS_USERNAME is set but OS_PROJECT_NAME or OS_PROJECT_ID is not"
    );
    assert!(
        builder_in(&place)
            .region("eu-de")
            .build()
            .unwrap_err()
            .to_string()
            .starts_with("no project id")
    );
}

#[test]
fn settings_in_code_take_precedence() {
    let broken = TestEnvironment::new()
        .variable("HUAWEICLOUD_SDK_AK", "half")
        .variable("MODELARTS_REGION", "eu-de")
        .variable("HUAWEICLOUD_SDK_PROJECT_ID", "p1")
        .variable("HUAWEICLOUD_SDK_REGION_MODELARTS_MOON_1", "moon.test");
    let builder = || Client::builder().environment(broken.environment());
    let client = builder().credentials(keys()).build().unwrap();
    assert_eq!(
        (client.endpoint(), client.project_id()),
        ("https://modelarts.eu-de.otc.t-systems.com/", "p1")
    );
    let client = builder().credentials(keys()).region("moon-1").project_id("p2").build().unwrap();
    assert_eq!((client.endpoint(), client.project_id()), ("https://moon.test/", "p2"));
}
