//! Descriptions of tokens and access keys, which state their user.

use modelarts_emulator::User;
use reqwest::StatusCode;

use crate::support::{Reply, Site};

/// Starts an emulator with two users; the token `T` is that of the first.
async fn two_users() -> Site {
    let mut ann = User::new("ann");
    ann.id = "a1".to_owned();
    ann.access_key = "AKANN".to_owned();
    let mut bo = User::new("bo");
    bo.access_key = "AKBO".to_owned();
    Site::with(|builder| builder.user(ann).user(bo).token("T")).await
}

async fn get(site: &Site, path: &str, subject: Option<&str>) -> Reply {
    let url = format!("{}{path}", site.emulator.url());
    let mut request = site.client.http.get(url).header("x-auth-token", "T");
    if let Some(subject) = subject {
        request = request.header("x-subject-token", subject);
    }
    Reply::of(request.send().await.unwrap()).await
}

#[tokio::test]
async fn users_see_their_own_access_key() {
    let site = two_users().await;
    let path = "/v3.0/OS-CREDENTIAL/credentials/";
    let reply = get(&site, &format!("{path}AKANN"), None).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text);
    let credential = reply.json()["credential"].clone();
    assert_eq!((&credential["user_id"], &credential["access"]), (&"a1".into(), &"AKANN".into()));
    assert!(!reply.text.contains("secret"), "{}", reply.text);
    for other in ["AKBO", "AKNONE"] {
        let reply = get(&site, &format!("{path}{other}"), None).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{}", reply.text);
        assert_eq!(reply.json()["error"]["message"], "Could not find credential.");
    }
}

#[tokio::test]
async fn users_see_their_own_token() {
    let site = two_users().await;
    let reply = get(&site, "/v3/auth/tokens", Some("T")).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text);
    assert_eq!(reply.headers["x-subject-token"], "T");
    let token = reply.json()["token"].clone();
    assert_eq!(token["user"]["id"], "a1");
    assert_eq!(token["user"]["name"], "ann");
    assert_eq!(token["project"]["id"], site.emulator.project_id());
    let reply = get(&site, "/v3/auth/tokens", Some("other")).await;
    assert_eq!(reply.status, StatusCode::NOT_FOUND, "{}", reply.text);
    let reply = get(&site, "/v3/auth/tokens", None).await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{}", reply.text);
}
