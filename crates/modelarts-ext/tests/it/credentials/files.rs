//! Tests of credentials files.

use modelarts_ext::{Client, credentials};
use serde_json::json;

use super::{
    fixtures::{builder_in, identity_in, outcome_in, projects, token},
    manual_clock::{ManualClock, start},
};
use crate::support::{environment::TestEnvironment, fake_server::FakeServer, server::PROJECT};

#[tokio::test]
async fn the_profile_is_read_as_it_is_written() {
    // `%` is not expanded, and `#`, `;` and quotes have no special meaning in values.
    let text = "\u{feff}# mine\n[global]\nak = other\n\n[basic]\n; keys\nAK : AK%%#1\n\
                sk = \"SK-s3cr3t%(x)s;#\"\nsecurity_token=ST-s3cr3t=\n\
                project_id = 0123456789abcdef\niam_endpoint = URL\n";
    let place = TestEnvironment::new().file("home/.huaweicloud/credentials", text);
    let asked = identity_in(&place).await;
    assert_eq!(asked, "AK%%#1");
    let client = builder_in(&place).build().unwrap();
    assert_eq!(client.project_id(), "0123456789abcdef");
    // The variable selects another file, which specifies its own IAM.
    let iam = projects(&[("eu-de", "p9")]).await;
    let text = format!("[basic]\nak=AK\nsk=SK-s3cr3t\niam_endpoint={}\n", iam.url);
    let place = TestEnvironment::new().file("mine", text);
    let path = place.path("mine").display().to_string();
    let place = place.variable("HUAWEICLOUD_SDK_CREDENTIALS_FILE", path);
    let client = builder_in(&place).region("eu-de").connect().await.unwrap();
    assert_eq!(client.project_id(), "p9");
}

#[test]
fn an_invalid_profile_is_reported() {
    let with = |text: &str| {
        outcome_in(&TestEnvironment::new().file("home/.huaweicloud/credentials", text))
    };
    let section = "home/.huaweicloud/credentials: the section [basic], line 2, ";
    let file = "home/.huaweicloud/credentials: ";
    let cases = [
        ("\n[basic]\nak = AK\n", section, "has ak but no sk"),
        ("\n[basic]\nsk = SK-s3cr3t\nak =\n", section, "has sk but no ak"),
        ("\n[basic]\n", section, "has neither ak nor sk"),
        (
            "\n[basic]\nidp_id = a\nid_token_file = b\n",
            section,
            "asks for federation (idp_id), which is not supported; use ak and sk, or the \
             variables HUAWEICLOUD_OIDC_*",
        ),
        ("[basic]\nak AK-s3cr3t\n", file, "line 2 is not of the form key = value"),
        ("[basic]\n= SK-s3cr3t\n", file, "line 2 is not of the form key = value"),
        ("[global]\n[basic\n", file, "line 2 is not of the form [section]"),
        (
            "[basic]\nak = A K\nsk = SK-s3cr3t\n",
            file,
            "the access key contains white space or control characters; check how it was copied",
        ),
    ];
    for (text, begin, end) in cases {
        assert_eq!(with(text), format!("{begin}{end}"));
    }
    let place = TestEnvironment::new().file("home/.huaweicloud/credentials", "");
    std::fs::write(place.path("home/.huaweicloud/credentials"), b"\xff\xfe").unwrap();
    assert_eq!(outcome_in(&place), "home/.huaweicloud/credentials: not UTF-8");
    let place = TestEnvironment::new().file("home/.huaweicloud/credentials/x", "");
    let text = outcome_in(&place);
    assert!(text.starts_with(file), "{text}");
}

#[tokio::test]
async fn clouds_are_read_from_all_their_places() {
    let cloud =
        |name: &str| format!("clouds:\n  {name}: {{auth: {{ak: AK-{name}, sk: SK-s3cr3t}}}}\n");
    let mut place = TestEnvironment::new();
    // `identity_in` ignores `/etc`, so a file there is tested separately.
    place = place.file("etc/openstack/clouds.yaml", cloud("system"));
    assert_eq!(outcome_in(&place), "found");
    place = place.file("home/.config/openstack/clouds.yml", cloud("user"));
    assert_eq!(identity_in(&place).await, "AK-user");
    place = place.file("home/.config/openstack/clouds.yaml", cloud("better"));
    assert_eq!(identity_in(&place).await, "AK-better");
    place = place.file("here/clouds.yaml", cloud("here"));
    assert_eq!(identity_in(&place).await, "AK-here");
    place = place.file("xdg/openstack/clouds.yaml", cloud("xdg"));
    let named = place.path("xdg/openstack/clouds.yaml").display().to_string();
    place = place.variable("OS_CLIENT_CONFIG_FILE", named);
    assert_eq!(identity_in(&place).await, "AK-xdg");
}

#[tokio::test]
async fn a_cloud_has_a_password_or_a_token_and_a_secure_part() {
    let clouds = "clouds:\n  otc:\n    profile: otc\n    region_name: eu-de\n    auth:\n      \
                  auth_url: URL/v3\n      username: alice\n      user_domain_name: OTC01\n      \
                  project_name: eu-de_team\n  other: {auth: {token: TK-s3cr3t-9}}\n";
    // A password that consists of digits remains a string.
    let secure = "clouds:\n  otc: {auth: {password: 0123}}\n";
    let place = TestEnvironment::new()
        .file("here/clouds.yaml", clouds)
        .file("here/secure.yaml", secure)
        .variable("OS_CLOUD", "other");
    assert_eq!(identity_in(&place).await, "TK-s3cr3t-9");
    let iam = FakeServer::start(|_| token("TK-s3cr3t-1", start())).await;
    let place =
        place.file("here/clouds.yaml", clouds.replace("URL", &iam.url)).variable("OS_CLOUD", "otc");
    let client = Client::builder()
        .environment(place.environment())
        .clock(ManualClock::still())
        .connect()
        .await
        .unwrap();
    assert_eq!(client.project_id(), PROJECT);
    assert_eq!(client.endpoint(), "https://modelarts.eu-de.otc.t-systems.com/");
    let auth = iam.asked().remove(0).json()["auth"].clone();
    assert_eq!(
        auth["identity"]["password"]["user"],
        json!({"name": "alice", "password": "0123", "domain": {"name": "OTC01"}})
    );
    assert_eq!(auth["scope"], json!({"project": {"name": "eu-de_team"}}));
}

#[test]
fn an_invalid_cloud_is_reported() {
    let with = |text: &str| {
        let place = TestEnvironment::new().file("here/clouds.yaml", text);
        outcome_in(&place.variable("OS_CLOUD", "a"))
    };
    let auth = |auth: &str| with(&format!("clouds:\n  a:\n    auth: {auth}\n"));
    let begin = "here/clouds.yaml: the cloud \"a\", line 3, ";
    for (text, end) in [
        ("{ak: AK}", "has ak but no sk"),
        ("{sk: SK-s3cr3t}", "has sk but no ak"),
        ("{username: alice}", "has a user but no password"),
        ("{password: PW-s3cr3t}", "has a password but no user"),
        ("{}", "has none of ak and sk, username and password, and token"),
        ("{username: alice, password: PW-s3cr3t}", "has no auth_url, and its region is not known"),
        (
            "{username: alice, password: PW-s3cr3t, auth_url: 'https://iam.test'}",
            "the domain of the user \"alice\" is missing; it is the name of the account, such as \
             OTC00000000001000000001",
        ),
        (
            "{token: TK s3cr3t}",
            "the token contains white space or control characters; check how it was copied",
        ),
        (
            "{token: TK\u{fffd}s3cr3t}",
            "the token contains characters that are not ASCII; check how it was copied",
        ),
    ] {
        assert_eq!(auth(text), format!("{begin}{end}"));
    }
    for (text, wanted) in [
        ("clouds:\n  b: {}\n", "OS_CLOUD is \"a\", but here/clouds.yaml has only: b"),
        (
            "clouds:\n\t- s3cr3t\n",
            "here/clouds.yaml, line 2, column 2: tabs disallowed within this context (block \
             indentation)",
        ),
        (
            "clouds:\n  a: {auth: {password: [s3cr3t]}}\n",
            "here/clouds.yaml, line 2, column 24: expected string scalar",
        ),
        (
            "clouds:\n  a:\n    auth: {sk: s3cr3t, sk: s3cr3t}\n",
            "here/clouds.yaml, line 3, column 24: duplicate mapping key: sk",
        ),
    ] {
        assert_eq!(with(text), wanted);
    }
    let place = TestEnvironment::new()
        .file("here/clouds.yaml", "clouds: {a: {auth: {ak: AK}}}")
        .file("here/secure.yaml", "clouds: {a: {auth: {sk: 'SK-s3cr3t}}}");
    let text = outcome_in(&place);
    assert!(text.starts_with("here/secure.yaml, line 1, column "), "{text}");
    let place = TestEnvironment::new().variable("OS_CLIENT_CONFIG_FILE", "/nowhere/clouds.yaml");
    assert_eq!(
        outcome_in(&place),
        "OS_CLIENT_CONFIG_FILE names /nowhere/clouds.yaml, which does not exist"
    );
}

#[test]
fn files_with_secrets_are_found_where_a_client_searches_them() {
    let place = TestEnvironment::new();
    assert!(credentials::files(&place.environment()).is_empty());
    let place = place
        .file("home/.huaweicloud/credentials", "")
        .file("etc/openstack/clouds.yaml", "")
        .file("home/.config/openstack/clouds.yaml", "")
        .file("here/secure.yml", "");
    let expected =
        ["home/.huaweicloud/credentials", "home/.config/openstack/clouds.yaml", "here/secure.yml"];
    let expected = expected.map(|path| place.path(path));
    assert_eq!(credentials::files(&place.environment()), expected);
    // Variables replace the usual files, even if they name files that do not exist.
    let place = place.file("mine", "");
    let mine = place.path("mine");
    let place = place
        .variable("HUAWEICLOUD_SDK_CREDENTIALS_FILE", mine.display().to_string())
        .variable("OS_CLIENT_CONFIG_FILE", "/does/not/exist");
    let expected = [mine, place.path("here/secure.yml")];
    assert_eq!(credentials::files(&place.environment()), expected);
}
