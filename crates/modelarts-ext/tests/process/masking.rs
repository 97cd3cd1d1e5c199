//! Tests that secrets echoed in a response are masked in errors and logs.

use std::sync::{Arc, Mutex};

use modelarts_ext::{Client, Credentials, ErrorKind, connector::ConnectorError};
use serde_json::json;

use crate::{
    captured_log::CapturedLog,
    child::run_alone,
    support::{
        clock::TestClock,
        errors::refused,
        network::{Network, NetworkReply, answer, reply},
        secrets::{SECRET_KEY, TOKEN, keys},
        server::PROJECT,
    },
};

/// Returns the secrets in a request, and the secret key.
fn secrets_of(request: &reqwest::Request) -> Vec<String> {
    let header = |name: &str| Some(request.headers().get(name)?.to_str().unwrap().to_owned());
    let signature = header("authorization").map(|value| {
        let (_, signature) = value.split_once("Signature=").unwrap();
        signature.to_owned()
    });
    let sent = [header("x-auth-token"), header("x-security-token"), signature];
    let mut secrets: Vec<_> = sent.into_iter().flatten().collect();
    if header("authorization").is_some() {
        secrets.push(SECRET_KEY.to_owned());
    }
    secrets
}

fn in_address(text: &str) -> String {
    text.replace('/', "%2F").replace('+', "%2B").replace('=', "%3D")
}

/// Function that returns a response with an echoed secret.
type Echo = fn(&str) -> NetworkReply;

/// Paths by which text of a response gets into an error or a log.
const ECHOES: &[(&str, Echo)] = &[
    ("message", |secret| {
        reply(400, json!({"error_code": "ModelArts.1", "error_msg": format!("you sent {secret}")}))
    }),
    ("code, solution, id", |secret| {
        let all = json!({"error_code": secret, "error_msg": "m", "error_solution": secret,
            "request_id": secret});
        reply(403, all)
    }),
    ("escaped", |secret| {
        let escaped: String = secret.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
        reply(400, format!(r#"{{"error_code":"ModelArts.1","error_msg":"{escaped}"}}"#))
    }),
    ("in an address", |secret| {
        let escaped = in_address(secret);
        let small = escaped.replace("%2F", "%2f").replace("%2B", "%2b").replace("%3D", "%3d");
        reply(404, format!("no /v2?token={small} and {escaped}"))
    }),
    ("nested", |secret| reply(500, json!({"error": {"code": 5, "message": secret}}))),
    ("another shape", |secret| reply(503, json!({"echo": {secret: [secret]}}))),
    ("page", |secret| reply(502, format!("<html><title>{secret}</title></html>"))),
    ("text", |secret| reply(418, format!("headers: {secret}"))),
    ("long text", |secret| reply(400, format!("{}{secret}", "x".repeat(2044)))),
    ("refused signature", |secret| {
        let message = format!("verify aksk signature fail, canonicalRequest:GET|/|a:{secret}|x");
        reply(401, json!({"error_code": "APIGW.0301", "error_msg": message}))
    }),
    ("no document", |secret| reply(600, secret)),
    ("redirect", |secret| {
        let target = format!("https://{secret}.test/{secret}");
        Ok(answer(302).header("location", target).body(String::new()).unwrap())
    }),
    ("id of the request", |secret| {
        let body = json!({"error_code": "ModelArts.1", "error_msg": "m"}).to_string();
        Ok(answer(400).header("x-request-id", secret).body(body).unwrap())
    }),
    ("id of a good request", |secret| {
        let body = json!({"metadata": {"id": "other"}}).to_string();
        Ok(answer(200).header("x-request-id", secret).body(body).unwrap())
    }),
    ("not understood", |secret| reply(200, format!("{{\"metadata\":\"{secret}\""))),
    ("not understood, in a name", |secret| {
        reply(200, json!({"status": {"duration": {secret: 1}}, secret: 1}))
    }),
    ("not there yet", |secret| {
        Ok(answer(204).header("x-request-id", secret).body(String::new()).unwrap())
    }),
    ("another object", |secret| reply(200, json!({"metadata": {"id": secret}}))),
    ("broken connection", |secret| Err(ConnectorError::Lost(format!("sent {secret}").into()))),
    ("no connection", |secret| Err(ConnectorError::NotSent(format!("for {secret}").into()))),
];

#[tokio::test]
async fn secrets_that_a_server_echoes_are_masked() {
    if !run_alone("masking::secrets_that_a_server_echoes_are_masked") {
        return;
    }
    let log = CapturedLog::start();
    // The token contains characters with several encodings, and both upper-case and lower-case
    // letters.
    let odd = "tk-hidden-3/A+b==";
    for (kind, credentials, count) in [
        ("token", Credentials::token(TOKEN), 1),
        ("odd token", Credentials::token(odd), 1),
        ("keys", Credentials::keys("AK", SECRET_KEY), 2),
        ("temporary keys", keys(), 3),
    ] {
        for (name, echo) in ECHOES {
            for at in 0..count {
                let sent = Arc::new(Mutex::new(Vec::new()));
                let seen = Arc::clone(&sent);
                let network = move |request: &reqwest::Request| {
                    let secrets = secrets_of(request);
                    assert_eq!(secrets.len(), count);
                    seen.lock().unwrap().extend(secrets.clone());
                    Some(echo(&secrets[at]))
                };
                let client = Client::builder()
                    .endpoint("https://modelarts.test")
                    .project_id(PROJECT)
                    .credentials(credentials.clone())
                    .clock(TestClock::new())
                    .connector(Network(network))
                    .build()
                    .unwrap();
                let error = refused(client.training_jobs().get("some-job").await);
                let mut raw = String::new();
                if error.kind() != ErrorKind::Connection {
                    let generated = client
                        .api()
                        .show_training_job_details()
                        .project_id(PROJECT)
                        .training_job_id("some-job")
                        .send()
                        .await;
                    raw = generated.map_or_else(
                        |error| format!("{error} {error:?}"),
                        |answer| format!("{:?}", answer.status()),
                    );
                }
                let mut source = std::error::Error::source(&error);
                let mut all = format!(
                    "{error} {error:?} {error:#?} {raw} {:?} {:?} {:?} {:?} {:?} {:?}",
                    error.message(),
                    error.code(),
                    error.solution(),
                    error.advice(),
                    error.body(),
                    error.request_id(),
                );
                while let Some(error) = source {
                    all.push_str(&format!("{error} {error:?}"));
                    source = error.source();
                }
                let logged = log.text();
                for secret in sent.lock().unwrap().iter() {
                    let escaped = in_address(secret);
                    for form in [secret, &escaped, &secret.to_lowercase()] {
                        assert!(!all.contains(form), "{kind}, {name}, {at}: {form} in {all}");
                        assert!(!logged.contains(form), "{kind}, {name}, {at}: {form} is logged");
                    }
                }
                if !["no document", "not there yet", "id of a good request"].contains(name) {
                    assert!(all.contains("***"), "{kind}, {name}, {at}: {all}");
                }
            }
        }
    }
}
