//! Advice for rejected credentials, which differs by their kind and source.

use modelarts_ext::{
    Client, ClientBuilder, Credentials, Error,
    api::BoxFuture,
    credentials::{FetchCredentials, Metadata, ProvideCredentials, ProviderContext},
};
use serde_json::json;

use super::{
    fixtures::{ProviderBench, oidc, password, safe_message, temporary, token, wrong_password},
    manual_clock::{ManualClock, hours, start},
};
use crate::support::{
    environment::TestEnvironment,
    errors::refused,
    fake_server::{FakeServer, reply},
    server::PROJECT,
};

/// Returns a server that issues credentials of all kinds, and rejects them as the service with this
/// status and code.
async fn rejecting(status: u16, code: &'static str) -> FakeServer {
    FakeServer::start(move |asked| match asked.target.as_str() {
        "/v5/agencies/assume-with-oidc" => {
            reply(201, json!({"credentials": temporary("oidc", start() + hours(1))}))
        }
        "/v3/auth/tokens?nocatalog=true" => token("TK-s3cr3t-1", start()),
        "/meta-data/latest/api/token" => reply(404, ""),
        "/openstack/latest/securitykey" => reply(200, temporary("metadata", start() + hours(1))),
        _ => reply(
            status,
            json!({"error_code": code, "error_msg": "Incorrect IAM authentication information"}),
        ),
    })
    .await
}

/// Returns the advice of the error of a call.
async fn advice_of(service: &FakeServer, builder: ClientBuilder) -> String {
    let client = builder
        .endpoint(&service.url)
        .project_id(PROJECT)
        .clock(ManualClock::still())
        .build()
        .unwrap();
    let error = refused(client.training_jobs().get("some-job").await);
    assert!(error.is_auth(), "{error}");
    safe_message(&error);
    error.advice().unwrap().replace(&service.url, "URL")
}

async fn advice(service: &FakeServer, credentials: impl ProvideCredentials) -> String {
    advice_of(service, Client::builder().credentials(credentials)).await
}

const KEYS: &str = "check access key, secret key, region and clock; after five refusals in a row \
                    the key is locked for five minutes";
const TEMPORARY: &str = "temporary keys expire after at most 24 hours; get new ones, and check \
                         that access key, secret key and security token belong together, region \
                         and clock";
const TOKEN: &str = "a token expires after at most 24 hours, and is valid only for the project and \
                     the region that it was issued for; get a new one from IAM (POST \
                     /v3/auth/tokens), or use credentials::Password, which renews it";

#[tokio::test]
async fn each_kind_of_credentials_has_its_advice() {
    let service = rejecting(401, "APIGW.0301").await;
    let keys = Credentials::keys("AK", "SK-s3cr3t");
    assert_eq!(advice(&service, keys).await, KEYS);
    let keys = Credentials::temporary_keys("AK", "SK-s3cr3t", "ST-s3cr3t");
    assert_eq!(advice(&service, keys).await, TEMPORARY);
    let token = Credentials::token("TK-s3cr3t");
    assert_eq!(advice(&service, token.clone()).await, TOKEN);
    let expired = rejecting(401, "APIGW.0307").await;
    assert_eq!(advice(&expired, token.clone()).await, TOKEN);
    let invalid = rejecting(403, "ModelArts.2784").await;
    assert_eq!(advice(&invalid, token.clone()).await, TOKEN);
    // A missing permission has nothing to do with the kind of credentials.
    let forbidden = rejecting(403, "ModelArts.0107").await;
    assert_ne!(advice(&forbidden, token).await, TOKEN);
}

#[tokio::test]
async fn each_provider_has_its_advice() {
    let service = rejecting(401, "APIGW.0301").await;
    assert_eq!(
        advice(&service, password(&service.url).into_provider()).await,
        "the token was issued by IAM at URL for the user \"alice\"; check that the endpoint \
         belongs to the same region, and the project of the client to the token"
    );
    let place = TestEnvironment::new().file("token", "ID-s3cr3t");
    let login = oidc(&service.url, &place.path("token"));
    assert_eq!(
        advice(&service, login.into_provider()).await,
        "the temporary keys were issued by STS at URL for the agency urn:agency; check that the \
         agency belongs to the account of the project, and the clock"
    );
    let metadata = Metadata::new().address(&service.url);
    assert_eq!(
        advice(&service, metadata.into_provider()).await,
        "the temporary keys were issued by the metadata service at URL for the agency of this \
         server; check that the endpoint belongs to the region of the server, and the clock"
    );
}

/// A provider of a program, with or without advice of its own.
#[derive(Debug)]
struct Vault(Option<&'static str>);

impl ProvideCredentials for Vault {
    fn credentials<'a>(
        &'a self,
        _: &'a ProviderContext,
    ) -> BoxFuture<'a, Result<Credentials, Error>> {
        Box::pin(async { Ok(Credentials::token("TK-s3cr3t")) })
    }

    fn advice(&self) -> Option<String> {
        self.0.map(str::to_owned)
    }
}

#[tokio::test]
async fn a_custom_provider_may_have_its_advice() {
    let service = rejecting(401, "APIGW.0301").await;
    assert_eq!(
        advice(&service, Vault(Some("renew the lease of TK-s3cr3t"))).await,
        "renew the lease of ***"
    );
    assert_eq!(advice(&service, Vault(None)).await, TOKEN);
}

#[tokio::test]
async fn credentials_of_the_environment_are_named_with_their_origin() {
    let service = rejecting(401, "APIGW.0301").await;
    let of = async |place: TestEnvironment| {
        let environment = place.environment();
        let builder = Client::builder().environment(environment);
        place.short(advice_of(&service, builder).await)
    };
    let empty = TestEnvironment::new;
    let keys = empty().variable("HW_ACCESS_KEY", "AK").variable("HW_SECRET_KEY", "SK-s3cr3t");
    assert_eq!(
        of(keys).await,
        format!("{KEYS}; the credentials are from HW_ACCESS_KEY, HW_SECRET_KEY")
    );
    let token = empty().variable("OS_TOKEN", "TK-s3cr3t");
    assert_eq!(of(token).await, format!("{TOKEN}; the credentials are from OS_TOKEN"));
    let clouds = "clouds:\n  one:\n    auth: {ak: AK, sk: SK-s3cr3t}\n";
    assert_eq!(
        of(empty().file("here/clouds.yaml", clouds)).await,
        format!("{KEYS}; the credentials are from here/clouds.yaml: the cloud \"one\", line 3")
    );
    let profile = "[basic]\nak = AK\nsk = SK-s3cr3t\n";
    assert_eq!(
        of(empty().file("home/.huaweicloud/credentials", profile)).await,
        format!("{KEYS}; the credentials are from home/.huaweicloud/credentials")
    );
}

#[tokio::test]
async fn a_rejected_login_has_the_advice_of_its_provider() {
    let iam = FakeServer::start(|_| wrong_password()).await;
    let bench = ProviderBench::new(password(&iam.url).into_provider());
    let error = bench.fails().await;
    assert_eq!(
        error.advice(),
        Some(
            "check user, password, domain (the name of the account) and project; a user with \
             multi-factor authentication cannot log in with a password alone and needs keys"
        )
    );
    let place = TestEnvironment::new().file("token", "ID-s3cr3t");
    let bench = ProviderBench::new(oidc(&iam.url, &place.path("token")).into_provider());
    assert_eq!(
        bench.fails().await.advice(),
        Some(
            "check the URNs of provider and agency, that the trust policy of the agency admits the \
             identity token, and that the token has not expired"
        )
    );
}

#[tokio::test]
async fn a_rejected_look_up_of_the_project_has_the_advice_for_keys() {
    let service = rejecting(401, "APIGW.0301").await;
    let builder = Client::builder()
        .region("eu-de")
        .iam_endpoint(&service.url)
        .credentials(Credentials::keys("AK", "SK-s3cr3t"))
        .clock(ManualClock::still());
    let error = refused(builder.connect().await);
    assert_eq!(error.advice(), Some(KEYS));
}
