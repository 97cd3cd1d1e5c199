//! Protection against web pages, which must not be able to start a job, and protection of the file
//! system.

use std::{
    fs::Permissions,
    net::SocketAddr,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    time::{Duration, SystemTime},
};

use modelarts_emulator::{Emulator, StartError, Timing};
use reqwest::{
    Method,
    header::{HOST, ORIGIN},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, timeout},
};

use crate::support::{Reply, Site};

#[tokio::test]
async fn it_listens_on_loopback_only() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let address: SocketAddr = address.parse().unwrap();
        let error = Emulator::builder().listen(address).start().await.unwrap_err();
        assert!(matches!(error, StartError::NotLoopback(_)));
        assert_eq!(
            error.to_string(),
            format!(
                "cannot listen on {address}: the emulator executes what it is sent, so it listens \
                 on loopback addresses only, for example 127.0.0.1:0"
            )
        );
    }
}

#[tokio::test]
async fn the_host_must_be_a_loopback_name() {
    let site = Site::start().await;
    let url = site.emulator.url();
    let ask = async |path: &str, host: &str| {
        let request = site.client.http.get(format!("{url}{path}")).header(HOST, host);
        Reply::of(request.send().await.unwrap()).await
    };
    for host in [
        "evil.example",
        "127.0.0.1.evil.example:80",
        "10.0.0.1",
        "0.0.0.0",
        "[::1].evil",
        "[::1].evil:80",
    ] {
        for path in ["/_emulator/health", "/v2/x/training-jobs", "/"] {
            let reply = ask(path, host).await;
            assert_eq!(reply.status, 403, "{host} {path}");
            assert_eq!(
                reply.json(),
                json!({
                    "error_code": "Emulator.0403",
                    "error_msg": format!("This emulator runs jobs on this machine, so it answers \
                         only as 127.0.0.1, localhost or [::1]: the request asks for the host \
                         {host:?}."),
                })
            );
        }
    }
    for host in ["localhost", "127.0.0.1:1", "[::1]:65535", "127.1.2.3"] {
        assert_eq!(ask("/_emulator/health", host).await.status, 200, "{host}");
    }
}

/// Sends raw bytes, for requests that reqwest does not send. Returns the response.
async fn raw(site: &Site, request: &str) -> String {
    let address = site.emulator.url().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.unwrap();
    reply
}

#[tokio::test]
async fn no_host_two_hosts_and_foreign_absolute_targets_are_refused() {
    let site = Site::start().await;
    for request in [
        "GET /_emulator/health HTTP/1.0\r\n\r\n",
        "GET /_emulator/health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        "GET http://evil.example/_emulator/health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ] {
        let reply = raw(&site, request).await;
        assert!(reply.contains(" 403 ") && reply.contains("Emulator.0403"), "{request}{reply}");
    }
}

/// Starts an emulator that accepts the token `t`.
async fn with_token() -> Emulator {
    let emulator = Emulator::builder().project_id("p").token("t");
    emulator.timing(Timing::instant()).start().await.unwrap()
}

/// Sends the beginning of a request. Returns the response after the server has closed the
/// connection, and the time until then. Returns `None` if the connection stays open for an hour.
async fn answer_to(emulator: &Emulator, beginning: &str) -> Option<(String, Duration)> {
    let address = emulator.url().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let sent = Instant::now();
    stream.write_all(beginning.as_bytes()).await.unwrap();
    let mut reply = String::new();
    let read = stream.read_to_string(&mut reply);
    let closed = timeout(Duration::from_secs(3600), read).await;
    closed.ok()?.unwrap();
    Some((reply, sent.elapsed()))
}

/// The emulator validates the token, the access key and its lock, the path, and the length of the
/// body before it receives the body.
#[tokio::test]
async fn a_request_is_refused_by_its_head() {
    let emulator = with_token().await;
    let date = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let signed = |key: &str| {
        format!(
            "X-Sdk-Date: {date}\r\nAuthorization: SDK-HMAC-SHA256 Access={key}, \
             SignedHeaders=x-sdk-date, Signature=00"
        )
    };
    let token = "X-Auth-Token: t".to_owned();
    let beginning = |path: &str, length: usize, credentials: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\n{credentials}\r\nContent-Length: \
             {length}\r\n\r\n"
        )
    };
    // Five wrong signatures lock an access key.
    let own = signed(emulator.access_key());
    let search = "/v2/p/training-job-searches";
    for _ in 0..5 {
        let whole = beginning(search, 2, &format!("{own}\r\nConnection: close")) + "{}";
        let (reply, _) = answer_to(&emulator, &whole).await.unwrap();
        assert!(reply.contains("verify aksk signature fail"), "{reply}");
    }
    for (path, length, credentials, status, text) in [
        (search, 2, "X-Auth-Token: x".to_owned(), 401, "APIGW.0301"),
        (search, 2, "X-Other: x".to_owned(), 401, "x-auth-token not found"),
        (search, 2, signed("nobody"), 401, "ak nobody not exist"),
        (search, 2, own.clone(), 401, "AK access failed to reach the limit"),
        (search, (12 << 20) + 1, token.clone(), 413, "ModelArts.4104"),
        ("/x", 2, token.clone(), 501, "Emulator.0501"),
        ("/v3.0/OS-CREDENTIAL/securitytokens", 2, own, 401, "AK access failed"),
        ("/v3/auth/tokens", (12 << 20) + 1, token.clone(), 413, "ModelArts.4104"),
        ("/_emulator/seeds", (12 << 20) + 1, token, 413, "ModelArts.4104"),
    ] {
        let beginning = beginning(path, length, &credentials);
        let (reply, after) = answer_to(&emulator, &beginning).await.unwrap();
        let start = format!("HTTP/1.1 {status} ");
        assert!(reply.starts_with(&start), "{path} {credentials}: {reply}");
        assert!(reply.contains(text), "{path} {credentials}: {reply}");
        assert!(after < Duration::from_secs(20), "{path} {credentials}: {after:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_arrive_ends_after_30_seconds() {
    let emulator = with_token().await;
    for path in [
        "/v2/p/training-job-searches",
        "/v3/auth/tokens",
        "/v3.0/OS-CREDENTIAL/securitytokens",
        "/_emulator/faults",
    ] {
        let beginning = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: t\r\nContent-Length: \
             10\r\n\r\n{{\"lim"
        );
        let (reply, after) = answer_to(&emulator, &beginning).await.unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 408 "), "{path}: {head}");
        assert!(head.contains("\r\nconnection: close\r\n"), "{path}: {head}");
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(
            body,
            json!({
                "error_code": "Emulator.0408",
                "error_msg": "The body of a request must arrive within 30 s after its head.",
            })
        );
        assert_eq!(after.as_secs(), 30, "{path}");
    }
    let beginning = "POST /_emulator/faults HTTP/1.1\r\nHost: loc";
    let (reply, after) = answer_to(&emulator, beginning).await.unwrap();
    assert_eq!((reply.as_str(), after.as_secs()), ("", 30));
}

/// A client that is still sending its body can read the response that rejects the request.
#[tokio::test]
async fn a_refused_large_body_gets_its_response() {
    let emulator = with_token().await;
    let body = "x".repeat(8 << 20);
    for _ in 0..10 {
        let whole = format!(
            "POST /v2/p/training-job-searches HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: \
             x\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let (reply, _) = answer_to(&emulator, &whole).await.unwrap();
        assert!(reply.starts_with("HTTP/1.1 401 "), "{reply}");
    }
}

#[tokio::test]
async fn a_foreign_origin_is_refused() {
    let site = Site::start().await;
    let job = site.script("no-page", "");
    let target = format!("/v2/{}/training-jobs", site.emulator.project_id());
    let own_port = site.emulator.url().rsplit(':').next().unwrap();
    let ask = async |origin: &str| {
        let body = job.to_string().into_bytes();
        let request = site.signed(Method::POST, &target, body, SystemTime::now());
        Reply::of(request.header(ORIGIN, origin).send().await.unwrap()).await
    };
    for origin in [
        "https://evil.example",
        "null",
        "http://127.0.0.1:3000",
        "http://localhost",
        &format!("https://127.0.0.1:{own_port}"),
        &format!("http://evil.example:{own_port}"),
    ] {
        let reply = ask(origin).await;
        assert_eq!(reply.status, 403, "{origin}");
        assert_eq!(
            reply.json()["error_msg"],
            format!(
                "This emulator runs jobs on this machine, so it answers no web page: the request \
                 comes from the origin {origin:?}."
            )
        );
        let control = site.client.http.post(format!("{}/_emulator/faults", site.emulator.url()));
        let control = control.header(ORIGIN, origin).body("{}").send().await.unwrap();
        assert_eq!(control.status(), 403, "{origin}");
    }
    assert_eq!(site.emulator.requests()["CreateTrainingJob"].received, 0);
    assert_eq!(ask(site.emulator.url()).await.status, 201);
}

#[tokio::test]
async fn obs_keys_do_not_leave_the_root_by_dots() {
    let site = Site::start().await;
    let bad = |field: &str, url: &str| {
        let mut job = site.script("dots", "");
        let channel = json!([{"name": "c", "remote": {"obs": {"obs_url": url}}}]);
        match field {
            "inputs" | "outputs" => job["algorithm"][field] = channel,
            "log" => job["spec"]["log_export_path"] = json!({"obs_url": url}),
            _ => job["algorithm"][field] = url.into(),
        }
        job
    };
    for field in ["code_dir", "boot_file", "inputs", "outputs", "log"] {
        for (url, reason) in [
            ("obs://bucket/../../etc", "the steps . and .. are not allowed"),
            ("/../etc/passwd", "the steps . and .. are not allowed"),
            ("obs:///etc", "it names no bucket"),
            ("etc", "it must start with obs:// or /"),
        ] {
            let reply = site.post("/training-jobs", &bad(field, url)).await;
            assert_eq!(
                reply.json(),
                json!({
                    "error_code": "ModelArts.2791",
                    "error_msg": format!("Invalid obs path: {url}, reason: {reason}."),
                    "error_solution": "Check the obs path.",
                }),
                "{field}"
            );
        }
    }
    // An absolute path consists of a bucket and a key; it is not a path on this machine.
    let reply = site.post("/training-jobs", &bad("code_dir", "/etc/")).await;
    reply.refused(400, "ModelArts.2792");
}

#[tokio::test]
async fn obs_keys_do_not_leave_the_root_by_links() {
    let site = Site::start().await;
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    site.put("bucket/x", "");
    symlink(outside.path(), site.emulator.obs_root().join("bucket/door")).unwrap();

    // The emulator rejects a create request for a job with a path that is a link to the outside.
    for field in ["inputs", "outputs"] {
        let mut job = site.script("links", "");
        job["algorithm"][field] =
            json!([{"name": "c", "remote": {"obs": {"obs_url": "/bucket/door/"}}}]);
        let reply = site.post("/training-jobs", &job).await;
        assert_eq!(
            reply.json()["error_msg"],
            "Invalid obs path: /bucket/door/, reason: 'bucket/door' is a link that leads out of \
             its root directory."
        );
    }

    // A link to the outside within the input directory is rejected while the input is copied.
    let mut job = site.script("deep-link", "");
    site.put("bucket/data/ok", "");
    symlink(outside.path().join("secret"), site.emulator.obs_root().join("bucket/data/link"))
        .unwrap();
    job["algorithm"]["inputs"] =
        json!([{"name": "data_url", "remote": {"obs": {"obs_url": "/bucket/data/"}}}]);
    let id = site.run(&job).await;
    assert_eq!(site.phase(&id).await, "Abnormal");
    let messages = site.messages(&id).await;
    assert!(
        messages
            .iter()
            .any(|m| m
                .ends_with("Failure cause: 'link' is a link that leads out of its root directory")),
        "{messages:?}"
    );

    // The job itself creates the link to which it writes, after its create request was accepted.
    let door = site.emulator.obs_root().join("bucket/late");
    let script = format!(
        "import os, sys\nos.symlink({:?}, {:?})\nout = sys.argv[1].split('=')[1]\nopen(out + \
         '/stolen', 'w').write('x')\n",
        outside.path(),
        door
    );
    let mut job = site.script("late-link", &script);
    job["algorithm"]["outputs"] =
        json!([{"name": "train_url", "remote": {"obs": {"obs_url": "/bucket/late/"}}}]);
    let id = site.run(&job).await;
    assert_eq!(site.phase(&id).await, "Completed");
    assert!(!outside.path().join("stolen").exists());

    // A link to the outside in an output is skipped, and the log reports it.
    let script = format!(
        "import os, sys\nout = sys.argv[1].split('=')[1]\nos.symlink({:?}, out + \
         '/link')\nos.mkfifo(out + '/pipe')\nopen(out + '/model', 'w').write('m')\n",
        outside.path().join("secret"),
    );
    let mut job = site.script("link-out", &script);
    job["algorithm"]["outputs"] =
        json!([{"name": "train_url", "remote": {"obs": {"obs_url": "/bucket/out/"}}}]);
    let id = site.run(&job).await;
    assert_eq!(site.read("bucket/out/model"), "m");
    assert!(!site.emulator.obs_root().join("bucket/out/link").exists());
    assert_eq!(
        site.log(&id).await,
        "[ModelArts Service Log] output train_url: not uploaded, because 'link' is a link that \
         leads out of its root directory\n\
         [ModelArts Service Log] output train_url: not uploaded, because 'pipe' is neither a file \
         nor a directory\n"
    );
}

/// Returns a search over a parameter with this name. Its charts are stored in `/bucket/<job>/out/`.
fn search(site: &Site, job: &str, parameter: &str) -> Value {
    let mut body = site.script(job, "print('loss=1')");
    body["algorithm"]["outputs"] = json!([{
        "name": "train_url",
        "remote": {"obs": {"obs_url": format!("/bucket/{job}/out/")}},
    }]);
    body["algorithm"]["policies"] = json!({"auto_search": {
        "reward_attrs": [{"name": "loss", "mode": "min", "regex": r"loss=(\d)"}],
        "search_params": [{"name": parameter, "discrete_values": ["1"]}],
        "algo_configs": [{
            "name": "bayes_opt_search",
            "params": [{"key": "num_samples", "value": "1", "type": "Integer"}],
        }],
    }});
    body
}

#[tokio::test]
async fn charts_of_a_search_do_not_leave_the_root() {
    let site = Site::start().await;
    let outside = tempfile::tempdir().unwrap();
    let absolute = outside.path().join("x");
    for name in [absolute.to_str().unwrap(), "../../../x", "..", "a/b", ""] {
        let reply = site.post("/training-jobs", &search(&site, "names", name)).await;
        assert_eq!(reply.error(), (400, "ModelArts.2788".to_owned()), "{name}");
        assert!(reply.text.contains("search_params[0].name"), "{}", reply.text);
    }
}

#[tokio::test]
async fn jobs_see_nothing_of_the_emulators_environment() {
    let site = Site::with(|builder| builder.token("a-token")).await;
    let script = "import json, os\nprint(json.dumps(dict(os.environ)))\n";
    let id = site.run(&site.script("env", script)).await;
    let environment: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&site.log(&id).await).unwrap();
    let mut names: Vec<&str> = environment.keys().map(String::as_str).collect();
    // Python sets this variable itself if no locale is set (PEP 538).
    names.retain(|name| *name != "LC_CTYPE");
    names.sort_unstable();
    let is_of_obs = |name: &&str| name.starts_with("AWS_") || name.starts_with("S3_");
    let (of_obs, names): (Vec<&str>, Vec<&str>) = names.into_iter().partition(is_of_obs);
    let served: &[&str] = if cfg!(feature = "obs") { &["S3_ENDPOINT"] } else { &[] };
    assert_eq!(of_obs, served);
    assert_eq!(
        names,
        [
            "HOME",
            "MA_APIGW_ENDPOINT",
            "MA_CODE_DIR",
            "MA_CURRENT_INSTANCE_NAME",
            "MA_CURRENT_IP",
            "MA_DETECT_TRAIN_INJECT_CODE",
            "MA_HANG_DETECT_TIME",
            "MA_HOME",
            "MA_JOB_DIR",
            "MA_LOG_DIR",
            "MA_MOUNT_PATH",
            "MA_NUM_GPUS",
            "MA_NUM_HOSTS",
            "MA_SCRIPT_INTERPRETER",
            "MA_TASK_INDEX",
            "MA_TASK_NAME",
            "MA_VJ_NAME",
            "MODELARTS_EMULATOR_OBS",
            "MODELARTS_EMULATOR_RUN",
            "PATH",
            "PYTHONPATH",
            "PYTHONUNBUFFERED",
            "TMPDIR",
            "VC_TASK_INDEX",
            "VC_WORKER_HOSTS",
            "VC_WORKER_NUM",
            "VK_TASK_INDEX",
            "WORKSPACE",
        ]
    );
    let text = serde_json::to_string(&environment).unwrap();
    for secret in [site.emulator.secret_key(), site.emulator.access_key(), "a-token"] {
        assert!(!text.contains(secret));
    }
    let worker = site.worker(&id);
    let inside =
        |name: &str| environment[name].as_str().unwrap().starts_with(worker.to_str().unwrap());
    assert!(inside("HOME") && inside("TMPDIR"));
}

#[tokio::test]
async fn nothing_prints_the_secret_key() {
    let site = Site::with(|builder| builder.token("a-token")).await;
    let debug = format!(
        "{:?} {:?}",
        site.emulator,
        Emulator::builder().secret_key("a-secret").token("a-token")
    );
    assert!(!debug.contains(site.emulator.secret_key()));
    assert!(!debug.contains("a-secret") && !debug.contains("a-token"), "{debug}");
}

/// Only the current user can access directories that the emulator creates; existing directories
/// keep their modes.
#[tokio::test]
async fn directories_that_it_makes_are_for_its_user_alone() {
    let place = tempfile::tempdir().unwrap();
    let mode = |path: &Path| {
        let metadata = std::fs::metadata(path).unwrap();
        format!("{:o}", metadata.permissions().mode() & 0o777)
    };
    let run = async |data: &Path, obs: &Path| {
        let site = Site::with(|builder| builder.data_dir(data).obs_root(obs)).await;
        let id = site.run(&site.script("private", "")).await;
        let worker = site.worker(&id);
        worker.ancestors().take(4).map(mode).collect::<Vec<_>>()
    };
    let (data, obs) = (place.path().join("a/data"), place.path().join("b/obs"));
    assert_eq!(run(&data, &obs).await, ["700"; 4]);
    for made in
        [&data, &data.join("running"), &place.path().join("a"), &obs, &place.path().join("b")]
    {
        assert_eq!(mode(made), "700", "{}", made.display());
    }
    let (data, obs) = (place.path().join("data"), place.path().join("obs"));
    for given in [&data, &obs] {
        std::fs::create_dir(given).unwrap();
        std::fs::set_permissions(given, Permissions::from_mode(0o755)).unwrap();
    }
    assert_eq!(run(&data, &obs).await, ["700", "700", "700", "755"]);
    assert_eq!(mode(&obs), "755");
    assert_eq!(mode(&data.join("running")), "700");
}
