//! Users: logins, temporary keys, locked keys, permissions, and separate projects.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use hmac::{Hmac, KeyInit, Mac};
use modelarts_api::hex;
use modelarts_emulator::{
    User,
    clock::{Clock, ManualClock},
};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{Client, Reply, Site};

fn login(name: &str, password: &str, project: Value) -> Value {
    json!({"auth": {
        "identity": {
            "methods": ["password"],
            "password": {"user": {"name": name, "password": password,
                "domain": {"name": "emulator"}}},
        },
        "scope": {"project": project},
    }})
}

async fn log_in(site: &Site, body: &Value) -> Reply {
    let url = format!("{}/v3/auth/tokens?nocatalog=true", site.emulator.url());
    let request = site.client.http.post(url).body(body.to_string());
    Reply::of(request.send().await.unwrap()).await
}

async fn with_token(site: &Site, token: &str, path: &str) -> Reply {
    let url = format!("{}{path}", site.emulator.url());
    let request = site.client.http.get(url).header("x-auth-token", token);
    Reply::of(request.send().await.unwrap()).await
}

#[tokio::test]
async fn a_password_gives_a_token_for_a_day() {
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let site =
        Site::with(|builder| builder.clock(Arc::clone(&clock) as _).password("secret")).await;
    let reply = log_in(&site, &login("emulator", "secret", json!({"name": "cn-north-4"}))).await;
    assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text);
    let token = reply.headers["x-subject-token"].to_str().unwrap().to_owned();
    let body = reply.json()["token"].clone();
    assert_eq!(body["project"]["id"], site.emulator.project_id());
    let expires = body["expires_at"].as_str().unwrap().to_owned();
    assert!(expires.len() == 27 && expires.ends_with("000Z"), "{expires}");

    let jobs = format!("/v2/{}/training-job-engines", site.emulator.project_id());
    assert_eq!(with_token(&site, &token, &jobs).await.status, 200);
    let projects = with_token(&site, &token, "/v3/projects?name=cn-north-4").await.json();
    assert_eq!(projects["projects"][0]["id"], site.emulator.project_id());
    assert_eq!(projects["projects"][0]["name"], "cn-north-4");
    let none = with_token(&site, &token, "/v3/projects?name=eu-nl").await.json();
    assert_eq!(none["projects"], json!([]));

    clock.advance(Duration::from_secs(24 * 60 * 60));
    let reply = with_token(&site, &token, &jobs).await;
    reply.refused(401, "APIGW.0301");
    assert_eq!(
        reply.json()["error_msg"],
        format!("Incorrect IAM authentication information: token expires, expires_at:{expires}")
    );
}

#[tokio::test]
async fn a_wrong_login_is_refused_as_iam_does_it() {
    let site = Site::with(|builder| builder.password("secret")).await;
    let project = || json!({"name": "cn-north-4"});
    for (body, status, message) in [
        (login("emulator", "guess", project()), 401, "The username or password is wrong."),
        (login("nobody", "secret", project()), 401, "The username or password is wrong."),
        (
            login("emulator", "secret", json!({"name": "eu-nl"})),
            401,
            "The project of the scope is not one of the user.",
        ),
        (json!({}), 400, "Request parameter 'methods' must be [\"password\"]."),
    ] {
        let reply = log_in(&site, &body).await;
        assert_eq!(reply.status.as_u16(), status);
        assert_eq!(reply.json()["error"]["code"], status);
        assert_eq!(reply.json()["error"]["message"], message);
        assert!(reply.headers.contains_key("x-iam-trace-id"));
    }
    // A user without a password cannot log in.
    let site = Site::start().await;
    assert_eq!(log_in(&site, &login("emulator", "", project())).await.status, 401);
}

#[tokio::test]
async fn temporary_keys_go_with_their_token_and_end() {
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| builder.clock(Arc::clone(&clock) as _).token("t")).await;
    let url = format!("{}/v3.0/OS-CREDENTIAL/securitytokens", site.emulator.url());
    let issue = async |seconds: u64| {
        let body = json!({"auth": {"identity": {"methods": ["token"],
            "token": {"duration_seconds": seconds}}}});
        let request =
            site.client.http.post(&url).header("x-auth-token", "t").body(body.to_string());
        Reply::of(request.send().await.unwrap()).await
    };
    assert_eq!(issue(899).await.status, 400);
    let issued = issue(900).await.json()["credential"].clone();
    let text = |name: &str| issued[name].as_str().unwrap().to_owned();
    let client = Client {
        http: site.client.http.clone(),
        url: site.client.url.clone(),
        project_id: site.client.project_id.clone(),
        access_key: text("access"),
        secret_key: text("secret"),
        checks: false,
    };
    let ask = async |security_token: Option<String>| {
        let target = format!("/v2/{}/training-job-engines", client.project_id);
        let mut request = client.signed(Method::GET, &target, Vec::new(), clock.now());
        if let Some(token) = security_token {
            request = request.header("x-security-token", token);
        }
        Reply::of(request.send().await.unwrap()).await
    };
    assert_eq!(ask(Some(text("securitytoken"))).await.status, 200);
    for token in [None, Some("other".to_owned())] {
        ask(token).await.refused(401, "APIGW.0301");
    }
    clock.advance(Duration::from_secs(900));
    let reply = ask(Some(text("securitytoken"))).await;
    assert!(reply.text.contains("token expires, expires_at:"), "{}", reply.text);
}

#[tokio::test]
async fn five_wrong_signatures_lock_a_key_for_five_minutes() {
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| builder.clock(Arc::clone(&clock) as _)).await;
    let target = format!("/v2/{}/training-job-engines", site.emulator.project_id());
    let wrong = Client {
        http: site.client.http.clone(),
        url: site.client.url.clone(),
        project_id: site.client.project_id.clone(),
        access_key: site.client.access_key.clone(),
        secret_key: "wrong".into(),
        checks: false,
    };
    let ask = async |client: &Client| {
        let request = client.signed(Method::GET, &target, Vec::new(), clock.now());
        Reply::of(request.send().await.unwrap()).await
    };
    for _ in 0..4 {
        assert_eq!(ask(&wrong).await.status, 401);
    }
    // An intermediate request with a valid signature resets the count of consecutive failures.
    assert_eq!(ask(&site.client).await.status, 200);
    for _ in 0..5 {
        assert!(ask(&wrong).await.text.contains("verify aksk signature fail"));
    }
    clock.advance(Duration::from_secs(299));
    let reply = ask(&site.client).await;
    assert_eq!(
        reply.json()["error_msg"],
        "Incorrect IAM authentication information: AK access failed to reach the limit,forbidden"
    );
    clock.advance(Duration::from_secs(1));
    assert_eq!(ask(&site.client).await.status, 200);
}

#[tokio::test]
async fn a_project_does_not_see_anothers_jobs() {
    let users = User::list_from_json(
        r#"[{"name": "ann", "project_id": "p1", "may_set_high_priority": true},
            {"name": "bob", "project_id": "p2"}]"#,
    )
    .unwrap();
    let bob = users[1].clone();
    let site = Site::with(|builder| users.into_iter().fold(builder, |b, user| b.user(user))).await;
    let theirs = Client {
        http: site.client.http.clone(),
        url: site.client.url.clone(),
        project_id: "p2".into(),
        access_key: bob.access_key.clone(),
        secret_key: bob.secret_key.clone(),
        checks: false,
    };
    let id = site.run(&site.script("mine", "")).await;
    assert_eq!(site.details(&id).await["metadata"]["user_name"], "ann");
    let path = format!("/training-jobs/{id}");
    for reply in [
        theirs.get(&path).await,
        theirs.delete(&path).await,
        theirs.get(&format!("{path}/events")).await,
        theirs.get(&format!("{path}/tasks/worker-0/logs/preview")).await,
        theirs.post(&format!("{path}/actions"), &json!({"action_type": "terminate"})).await,
    ] {
        reply.refused(400, "ModelArts.2775");
    }
    let list = theirs.post("/training-job-searches", &json!({})).await.json();
    assert_eq!((&list["total"], &list["items"]), (&json!(0), &json!([])));
    // Jobs in different projects may have the same name.
    let created = theirs.post("/training-jobs", &site.script("mine", "")).await;
    assert_eq!(created.status, StatusCode::CREATED);
    // A user cannot sign requests for another project.
    let other = Client { project_id: "p1".into(), ..theirs };
    other.get(&path).await.refused(404, "ModelArts.2786");
    let theirs = Client { project_id: "p2".into(), ..other };
    let mut urgent = site.script("urgent", "");
    urgent["spec"] =
        json!({"resource": {"pool_id": "pool-cpu"}, "schedule_policy": {"priority": 3}});
    let reply = theirs.post("/training-jobs", &urgent).await;
    reply.refused(403, "ModelArts.0108");
    urgent["spec"]["schedule_policy"]["priority"] = 2.into();
    let created = theirs.post("/training-jobs", &urgent).await;
    let path = format!("/training-jobs/{}", created.json()["metadata"]["id"].as_str().unwrap());
    let higher = json!({"spec": {"schedule_policy": {"priority": 3}}}).to_string();
    let reply = theirs.send(Method::PUT, &path, higher.into_bytes()).await;
    reply.refused(403, "ModelArts.0108");
    // The users file grants this user the permission for priority 3.
    urgent["metadata"]["name"] = "granted".into();
    urgent["spec"]["schedule_policy"]["priority"] = 3.into();
    let created = site.post("/training-jobs", &urgent).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
}

#[tokio::test]
async fn frozen_and_unauthorised_accounts_create_nothing() {
    for (member, status, code) in
        [("frozen", 400, "ModelArts.2837"), ("authorized", 403, "ModelArts.2785")]
    {
        let user = json!([{"name": "ann", member: member == "frozen"}]);
        let user = User::list_from_json(&user.to_string()).unwrap().remove(0);
        let site = Site::with(|builder| builder.user(user)).await;
        let reply = site.post("/training-jobs", &site.script("x", "")).await;
        assert_eq!(reply.error(), (status, code.to_owned()));
        assert_eq!(site.get("/training-job-engines").await.status, 200);
    }
    assert!(User::list_from_json("[]").is_err());
    assert!(User::list_from_json(r#"[{"name": "a", "colour": 1}]"#).is_err());
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.chain_update(text).finalize().into_bytes().to_vec()
}

/// The `Credential=` dialect is that of the Go SDK of Open Telekom Cloud.
#[tokio::test]
async fn scoped_signatures_are_accepted() {
    let site = Site::start().await;
    let path = format!("/v2/{}/training-job-engines", site.emulator.project_id());
    let host = site.client.url.strip_prefix("http://").unwrap().to_owned();
    let date = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let ask = async |scope_day: &str, region: &str, service: &str, break_it: bool| {
        let scope = format!("{scope_day}/{region}/{service}/sdk_request");
        let canonical = format!(
            "GET\n{path}/\n\nhost:{host}\nx-sdk-date:{date}\n\nhost;x-sdk-date\n{}",
            hex::encode(&Sha256::digest(""))
        );
        let to_sign = format!(
            "SDK-HMAC-SHA256\n{date}\n{scope}\n{}",
            hex::encode(&Sha256::digest(canonical))
        );
        let secret = format!("SDK{}", site.client.secret_key);
        let mut key = secret.into_bytes();
        for part in [scope_day, region, service, "sdk_request"] {
            key = mac(&key, part);
        }
        if break_it {
            key[0] ^= 1;
        }
        let signature = hex::encode(&mac(&key, &to_sign));
        let request = site
            .client
            .http
            .get(format!("{}{path}", site.client.url))
            .header("x-sdk-date", &date)
            // That SDK adds the header after signing.
            .header("x-project-id", site.emulator.project_id())
            .header(
                "authorization",
                format!(
                    "SDK-HMAC-SHA256 Credential={}/{scope}, SignedHeaders=host;x-sdk-date, \
                     Signature={signature}",
                    site.client.access_key
                ),
            );
        Reply::of(request.send().await.unwrap()).await
    };
    let day = &date[..8];
    for (region, service) in [("", ""), ("", "ec2"), ("eu-de", "modelarts")] {
        let reply = ask(day, region, service, false).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
    }
    assert!(ask(day, "", "", true).await.text.contains("verify aksk signature fail"));
    let reply = ask("20150907", "", "", false).await;
    assert!(reply.text.contains("the date of the credential is not the one"), "{}", reply.text);
}

#[tokio::test]
async fn bodies_above_twelve_megabytes_are_refused() {
    let site = Site::start().await;
    let ask = async |size: usize| {
        let body = vec![b' '; size];
        site.send(Method::POST, "/training-job-searches", body).await
    };
    let most = 12 * 1024 * 1024;
    ask(most).await.refused(400, "ModelArts.2787");
    let reply = ask(most + 1).await;
    reply.refused(413, "ModelArts.4104");
    assert_eq!(reply.json()["error_solution"], "Use a request body smaller than 12 MB.");
}

#[tokio::test]
async fn answers_of_iam_have_one_id_and_large_bodies_are_refused() {
    let site = Site::start().await;
    let url = site.emulator.url();
    let one_id = |reply: &Reply| {
        let header = |name: &str| reply.headers[name].to_str().unwrap().to_owned();
        assert_eq!(header("x-request-id"), header("x-iam-trace-id"));
        header("x-request-id")
    };
    for request in [
        site.client.http.get(format!("{url}/v3/projects")),
        site.client.http.post(format!("{url}/v3.0/OS-CREDENTIAL/securitytokens")),
    ] {
        let reply = Reply::of(request.send().await.unwrap()).await;
        assert_eq!(reply.status, 401, "{}", reply.text);
        assert_eq!(reply.json()["request_id"], one_id(&reply));
    }
    let large = vec![b' '; 12 * 1024 * 1024 + 1];
    let login = site.client.http.post(format!("{url}/v3/auth/tokens"));
    let reply = Reply::of(login.body(large).send().await.unwrap()).await;
    reply.refused(413, "ModelArts.4104");
    one_id(&reply);
}
