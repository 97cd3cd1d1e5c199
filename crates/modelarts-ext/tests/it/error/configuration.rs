//! Errors of the settings of a client.

use modelarts_ext::{
    ClientBuilder, Credentials, ErrorKind,
    credentials::{FetchCredentials, Password},
};

use crate::support::errors::refused;

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
        "3 settings are missing:\n- {NO_ENDPOINT}\n- {NO_PROJECT}\n- {NO_CREDENTIALS}- HW_ACCESS_KEY"
    );
    assert!(text.starts_with(&start), "{text}");
    assert!(
        text.lines().skip(4).all(|line| line.starts_with("  - ")),
        "{text}"
    );

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
        "the endpoint must be only a scheme and a host, such as \
         https://modelarts.eu-de.otc.t-systems.com"
    );
}
