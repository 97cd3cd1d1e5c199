//! Errors of the settings of a client.

use modelarts_ext::{
    ClientBuilder, Credentials, ErrorKind,
    credentials::{FetchCredentials, Password},
};

use crate::support::{
    errors::refused,
    network::{client_of, reply},
};

const EMPTY: fn(&str) -> Option<String> = |_| None;

/// The errors of the settings that are missing, in their order.
const NO_ENDPOINT: &str =
    "no endpoint; call endpoint() or region(), or set MODELARTS_ENDPOINT or MODELARTS_REGION";
const NO_PROJECT: &str = "no project id; call project_id(), or set HUAWEICLOUD_SDK_PROJECT_ID or \
                          HW_PROJECT_ID or OS_PROJECT_ID, or call connect() instead of build(), \
                          which looks it up";
const NO_CREDENTIALS: &str = "no credentials; call credentials(), or set HUAWEICLOUD_SDK_AK and \
                              HUAWEICLOUD_SDK_SK. Looked at:\n  \
                              - the variables HUAWEICLOUD_OIDC_*: not set\n  \
                              - HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK: not set\n  ";

#[tokio::test]
async fn all_missing_settings_are_listed() {
    let error = refused(ClientBuilder::from_vars(EMPTY).build());
    assert_eq!(error.kind(), ErrorKind::Config);
    let text = error.to_string();
    let start = format!(
        "3 settings are missing:\n- {NO_ENDPOINT}\n- {NO_PROJECT}\n- {NO_CREDENTIALS}- \
         HW_ACCESS_KEY"
    );
    assert!(text.starts_with(&start), "{text}");
    assert!(text.lines().skip(4).all(|line| line.starts_with("  - ")), "{text}");

    // `connect` looks up the project.
    let error = refused(ClientBuilder::from_vars(EMPTY).connect().await);
    let text = error.to_string();
    let start = format!("2 settings are missing:\n- {NO_ENDPOINT}\n- {NO_CREDENTIALS}");
    assert!(text.starts_with(&start), "{text}");

    let keys = Credentials::keys("AK", "SK");
    let error = refused(ClientBuilder::default().credentials(keys).build());
    assert_eq!(
        error.to_string(),
        format!("2 settings are missing:\n- {NO_ENDPOINT}\n- {NO_PROJECT}")
    );
    let error = refused(ClientBuilder::default().region("eu-de").build());
    assert_eq!(
        error.to_string(),
        format!(
            "2 settings are missing:\n- {NO_PROJECT}\n- no credentials; call credentials(), or \
             begin with from_env()"
        )
    );
}

#[test]
fn an_invalid_setting_precedes_missing_ones() {
    let login = Password::new("https://iam.test", "", "secret");
    let builder = ClientBuilder::default().credentials(login.into_provider());
    let error = refused(builder.endpoint("ftp://modelarts.test/v2").build());
    assert_eq!(
        error.to_string(),
        "the endpoint \"ftp://modelarts.test/v2\" must be only a scheme and a host, without user, \
         path and query, such as https://modelarts.eu-de.otc.t-systems.com"
    );
}

#[test]
fn an_endpoint_on_this_machine_needs_a_scheme() {
    for address in ["127.0.0.1:39991", "localhost:8080", "[::1]:80"] {
        let keys = Credentials::keys("AK", "SK");
        let builder = ClientBuilder::default().project_id("p").credentials(keys);
        assert_eq!(
            refused(builder.endpoint(address).build()).to_string(),
            format!(
                "the endpoint {address:?} has no scheme; it must begin with http:// or https:// on \
                 this machine, such as http://{address}"
            )
        );
    }
}

#[test]
fn the_case_of_a_region_does_not_matter() {
    let builder = ClientBuilder::default()
        .region("EU-DE")
        .project_id("p")
        .credentials(Credentials::keys("AK", "SK"));
    assert_eq!(builder.build().unwrap().endpoint(), "https://modelarts.eu-de.otc.t-systems.com/");
}

#[tokio::test]
async fn a_page_instead_of_a_response_is_reported_with_the_endpoint() {
    const PAGE: &str = "<!DOCTYPE html><html><head><title>Sign in</title></head></html>";
    for (status, reason) in [
        (200, "the answer is an HTML page, \"Sign in\", instead of JSON"),
        (403, "an HTML page, \"Sign in\""),
    ] {
        let client = client_of(move |_| Some(reply(status, PAGE))).build().unwrap();
        let error = refused(client.training_jobs().get("some-job").await);
        assert_eq!(
            error.to_string(),
            format!(
                "ShowTrainingJobDetails: {reason} (HTTP {status}); the page is from a proxy, a \
                 login or another server, not from ModelArts; check the endpoint \
                 https://modelarts.test and the settings of the proxy"
            )
        );
    }
}
