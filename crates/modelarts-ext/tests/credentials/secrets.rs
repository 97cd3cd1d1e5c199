//! What nobody may see.

use super::*;

#[test]
#[cfg(unix)]
fn files_that_others_can_read_are_warned_of() {
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_max_level(tracing::Level::TRACE)
        .without_time()
        .with_ansi(false)
        .finish();
    let warnings = |place: &Place, path: &str, mode| {
        set_mode(&place.path(path), mode);
        lines.0.lock().unwrap().clear();
        assert_eq!(found(place), "found");
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert!(!text.contains(MARK), "{text}");
        let warnings = text.lines().filter(|line| line.contains("WARN"));
        warnings
            .map(|line| place.short(line.split_once(": ").unwrap().1))
            .collect::<Vec<_>>()
    };
    tracing::subscriber::with_default(subscriber, || {
        let path = "home/.huaweicloud/credentials";
        let place = Place::new().file(path, "[basic]\nak = AK\nsk = SK-s3cr3t\n");
        assert_eq!(warnings(&place, path, 0o600), [""; 0]);
        assert_eq!(
            warnings(&place, path, 0o644),
            [format!(
                "{path} holds secrets and others can use it (mode 644); run: chmod 600 {path}"
            )]
        );
        let path = "here/secure.yaml";
        let place = Place::new()
            .file("here/clouds.yaml", "clouds: {a: {auth: {ak: AK}}}")
            .file(path, "clouds: {a: {auth: {sk: SK-s3cr3t}}}");
        // The open one has no secret in it.
        set_mode(&place.path("here/clouds.yaml"), 0o644);
        assert_eq!(warnings(&place, path, 0o400), [""; 0]);
        assert_eq!(
            warnings(&place, path, 0o640),
            [format!(
                "{path} holds secrets and others can use it (mode 640); run: chmod 600 {path}"
            )]
        );
    });
}

#[tokio::test]
async fn nothing_shows_a_secret() {
    let place = Place::new().file("token", "ID-s3cr3t");
    let cloud = Fake::start(|asked| match asked.target.as_str() {
        "/v3/auth/tokens?nocatalog=true" => token("TK-s3cr3t", start()),
        _ => said(200, temporary("1", start() + hours(1))),
    })
    .await;
    let providers = [
        password(&cloud.url).renewing(),
        oidc(&cloud.url, &place.path("token")).renewing(),
        Oidc::from_token(&cloud.url, "p", "a", "ID-s3cr3t").renewing(),
        Metadata::new().address(&cloud.url).renewing(),
    ];
    for provider in providers {
        let bench = Bench::new(provider);
        let credentials = bench.get().await.unwrap();
        let builder = Client::builder()
            .environment(Place::new().variable("OS_TOKEN", "TK-s3cr3t").environment())
            .credentials(bench.provider.clone());
        let all = format!(
            "{:?} {:#?} {credentials:?} {credentials:#?} {builder:?} {builder:#?} {:?}",
            bench.provider, bench.provider, bench.tools
        );
        assert!(!all.contains(MARK), "{all}");
    }
    let fetchers = format!(
        "{:?} {:?} {:?}",
        password(&cloud.url),
        oidc(&cloud.url, &place.path("token")),
        Oidc::from_token(&cloud.url, "p", "a", "ID-s3cr3t"),
    );
    let url = "https://user:PW-s3cr3t@iam.test";
    let fetchers = format!(
        "{fetchers} {:?} {:?} {:?}",
        password(url),
        oidc(url, &place.path("token")),
        Metadata::new().address(url),
    );
    assert!(!fetchers.contains(MARK), "{fetchers}");
}

/// A provider may wrap another.
#[tokio::test]
async fn providers_can_be_wrapped() {
    let day = Day::new().await;
    let shared: Arc<dyn ProvideCredentials> = Arc::new(day.bench.provider.clone());
    assert_eq!(
        sent(Arc::clone(&shared)).await.header("x-auth-token"),
        Some("TK-s3cr3t-1")
    );
    assert_eq!(shared.project_id().as_deref(), Some(PROJECT));
    shared.check().unwrap();
    // They share what they have.
    assert_eq!(day.token().await, "TK-s3cr3t-1");
    assert!(shared.renew(&Credentials::token("other")));
    assert_eq!(day.asked(), 1);
}

/// Secrets that IAM, STS and the metadata service repeat from a request are masked.
#[tokio::test]
async fn what_a_service_says_again_is_masked() {
    type Echo = fn(&str) -> Said;
    let echoes: [Echo; 8] = [
        |text| said(401, json!({"error": {"code": text, "message": text}})),
        |text| said(400, text),
        |text| said(202, json!({"error": {"code": text, "message": text}})),
        |text| said(203, json!({"error_msg": "m"})).with("x-request-id", text),
        |text| said(503, format!("{}{text}", "x".repeat(293))),
        |text| said(403, json!({"error_msg": "m"})).with("x-request-id", text),
        |text| {
            said(
                200,
                json!({"expiration": text, "access": "a", "secret": "b", "securitytoken": "c"}),
            )
        },
        |text| {
            said(
                200,
                json!({"projects": [{"id": text, "name": text}, {"id": "2", "name": "p"}]}),
            )
        },
    ];
    for echo in echoes {
        // The password, the identity token, a token, keys.
        let cloud = Fake::start(move |asked| {
            let header = |name: &str| asked.header(name).map(str::to_owned);
            let signature = header("authorization")
                .and_then(|value| Some(value.split_once("Signature=")?.1.to_owned()));
            let texts = [
                header("x-auth-token"),
                header("x-security-token"),
                signature,
            ];
            let texts = texts.into_iter().flatten().collect::<Vec<_>>().join(" ");
            let body = match asked.body.is_empty() {
                true => String::new(),
                false => {
                    let body = asked.json();
                    let password = body.pointer("/auth/identity/password/user/password");
                    password
                        .or(body.get("id_token"))
                        .unwrap()
                        .as_str()
                        .unwrap()
                        .to_owned()
                }
            };
            echo(format!("{texts}{body}").trim())
        })
        .await;
        let mut errors = vec![
            Bench::new(password(&cloud.url).renewing()).fails().await,
            Bench::new(Oidc::from_token(&cloud.url, "p", "a", "ID-s3cr3t/1").renewing())
                .fails()
                .await,
        ];
        for credentials in [
            Credentials::token("TK-s3cr3t+1"),
            Credentials::temporary_keys("AK", "SK-s3cr3t", "ST-s3cr3t"),
        ] {
            let found = Client::builder()
                .endpoint("https://modelarts.test")
                .iam_endpoint(&cloud.url)
                .credentials(credentials)
                .clock(Hands::still())
                .retry(RetryPolicy::none())
                .connect()
                .await;
            errors.extend(found.err());
        }
        for error in &errors {
            let all = format!(
                "{} {:?} {:?}",
                told(error),
                error.code(),
                error.request_id()
            );
            assert!(!all.contains(MARK), "{all}");
            for asked in cloud.asked() {
                let signature = asked.header("authorization");
                let signature = signature.and_then(|value| value.split_once("Signature="));
                assert!(signature.is_none_or(|(_, one)| !all.contains(one)), "{all}");
            }
        }
        assert!(errors.iter().any(|error| told(error).contains("***")
            || error.request_id().is_some_and(|id| id.contains("***"))));
    }
}
