//! Variables of the Terraform provider.

use modelarts_ext::{Client, ClientBuilder};

use super::fixtures::{identity_in, outcome_in};
use crate::support::environment::TestEnvironment;

fn with(variables: &[(&str, &str)]) -> TestEnvironment {
    let empty = TestEnvironment::new();
    variables.iter().fold(empty, |place, (name, value)| place.variable(name, *value))
}

#[tokio::test]
async fn keys_tokens_and_passwords_are_read_in_this_order() {
    let mut place = with(&[
        ("HW_USER_NAME", "alice"),
        ("HW_USER_PASSWORD", "PW-s3cr3t"),
        ("HW_DOMAIN_NAME", "HWC01"),
        ("HW_AUTH_URL", "URL/v3"),
        ("OS_ACCESS_KEY", "AK-os"),
        ("OS_SECRET_KEY", "SK-s3cr3t"),
    ]);
    assert_eq!(identity_in(&place).await, "TK-s3cr3t-1");
    place = place.variable("HW_AUTH_TOKEN", "TK-s3cr3t-2");
    assert_eq!(identity_in(&place).await, "TK-s3cr3t-2");
    place = place
        .variable("HW_ACCESS_KEY", "AK-hw")
        .variable("HW_SECRET_KEY", "SK-s3cr3t")
        .variable("HW_SECURITY_TOKEN", "ST-s3cr3t");
    assert_eq!(identity_in(&place).await, "AK-hw");
    place =
        place.variable("HUAWEICLOUD_SDK_AK", "AK-sdk").variable("HUAWEICLOUD_SDK_SK", "SK-s3cr3t");
    assert_eq!(identity_in(&place).await, "AK-sdk");
}

#[test]
fn region_and_project_are_read() {
    let of = |variables: &'static [(&str, &str)]| -> Client {
        let find = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        ClientBuilder::from_vars(find).build().unwrap()
    };
    let client = of(&[
        ("HW_REGION_NAME", "cn-north-4"),
        ("HW_PROJECT_ID", "p-hw"),
        ("HW_ACCESS_KEY", "AK"),
        ("HW_SECRET_KEY", "SK"),
        ("OS_REGION_NAME", "eu-de"),
        ("OS_PROJECT_ID", "p-os"),
    ]);
    assert_eq!(client.endpoint(), "https://modelarts.cn-north-4.myhuaweicloud.com/");
    assert_eq!(client.project_id(), "p-hw");
    let client = of(&[
        ("HUAWEICLOUD_SDK_REGION", "cn-north-1"),
        ("HUAWEICLOUD_SDK_PROJECT_ID", "p-sdk"),
        ("HW_REGION_NAME", "cn-north-4"),
        ("HW_PROJECT_ID", "p-hw"),
        ("HW_ACCESS_KEY", "AK"),
        ("HW_SECRET_KEY", "SK"),
    ]);
    assert_eq!(client.endpoint(), "https://modelarts.cn-north-1.myhuaweicloud.com/");
    assert_eq!(client.project_id(), "p-sdk");
}

#[test]
fn unusable_variables_are_errors() {
    let [user, password, domain] =
        [("HW_USER_NAME", "alice"), ("HW_USER_PASSWORD", "PW-s3cr3t"), ("HW_DOMAIN_NAME", "HWC01")];
    let keys = [("HW_ACCESS_KEY", "AK"), ("HW_SECRET_KEY", "SK-s3cr3t")];
    for (variables, text) in [
        (&keys[..1], "HW_ACCESS_KEY is set but HW_SECRET_KEY is not"),
        (&[user], "HW_USER_NAME is set but HW_USER_PASSWORD is not"),
        (&[password], "HW_USER_PASSWORD is set but HW_USER_NAME is not"),
        (&[user, password, domain], "HW_USER_NAME is set but HW_AUTH_URL is not"),
        (
            &[user, password, ("HW_REGION_NAME", "cn-north-4")],
            "HW_USER_NAME is set but HW_DOMAIN_NAME is not",
        ),
        (
            &[keys[0], keys[1], ("HW_ASSUME_ROLE_AGENCY_NAME", "ops")],
            "HW_ASSUME_ROLE_AGENCY_NAME is set, and agencies are not assumed; unset it, or call \
             credentials() with a provider of your own",
        ),
    ] {
        assert_eq!(outcome_in(&with(variables)), text);
    }
}
