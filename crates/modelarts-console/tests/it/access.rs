//! Login, sessions, and requests that are rejected.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use modelarts_console::Console;
use modelarts_emulator::Emulator;
use reqwest::{Response, header::SET_COOKIE};
use ring::hmac;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{Fixture, browser, client};

/// Key of the sessions of the tests that make their own.
const KEY: &[u8] = b"key of the tests";

/// An address whose changes need no job.
const CHANGE: &str = "/emulator/faults/clear";

async fn text(response: Response, status: u16) -> String {
    let found = response.status();
    let text = response.text().await.unwrap();
    assert_eq!(found, status, "{text}");
    text
}

#[tokio::test]
async fn a_request_without_a_session_is_rejected() {
    let fixture = Fixture::start().await;
    let response = fixture.stranger("GET", "/jobs").send().await.unwrap();
    let policy = response.headers()["content-security-policy"].clone();
    let policy = policy.to_str().unwrap();
    assert!(policy.starts_with("default-src 'self';"), "{policy}");
    let page = text(response, 401).await;
    assert!(page.contains("<h1>Log in</h1>"), "{page}");
    // Other users of the machine learn nothing about the project.
    let project = fixture.emulator.project_id();
    assert!(!page.contains(project), "{page}");
    for path in ["/", "/create", "/emulator", "/jobs/1/stream", "/nothing"] {
        let response = fixture.stranger("GET", path).send().await.unwrap();
        text(response, 401).await;
    }
    let response = fixture.stranger("GET", "/jobs").header("accept", "application/json");
    let response = text(response.send().await.unwrap(), 401).await;
    let problem: Value = serde_json::from_str(&response).unwrap();
    assert_eq!(problem["error"]["title"], "Log in");
}

#[tokio::test]
async fn a_login_link_is_valid_once_and_the_next_one_is_reported() {
    let links = Arc::new(Mutex::new(Vec::new()));
    let used = Arc::clone(&links);
    let report = move |link: &str| used.lock().unwrap().push(link.to_owned());
    let emulator = Emulator::start().await.unwrap();
    let console = Console::builder(client(&emulator)).on_login_link(report);
    let console = console.start().await.unwrap();
    let (browser, first) = (browser(), console.login_url());
    // A program that looks at the link does not use it up.
    let head = browser.head(&first).send().await.unwrap();
    assert_eq!((head.status().as_u16(), head.headers().get(SET_COOKIE)), (204, None));
    let login = browser.get(&first).send().await.unwrap();
    let port = console.url().rsplit_once(':').unwrap().1.to_owned();
    let cookie = login.headers()[SET_COOKIE].to_str().unwrap().to_owned();
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    let name = format!("modelarts-console-{port}=");
    assert!(pair.starts_with(&name), "{pair}");
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict; Max-Age=43200");
    // A redirect would not have the cookie if a file or another site led to the login.
    let page = text(login, 200).await;
    assert!(page.contains("http-equiv=\"refresh\" content=\"0; url=/jobs\""), "{page}");

    let again = browser.get(&first).send().await.unwrap();
    assert!(!again.headers().contains_key(SET_COOKIE));
    text(again, 401).await;
    // The browser with the session goes on to the page.
    let again = browser.get(&first).header("cookie", pair).send().await.unwrap();
    assert_eq!(
        (again.status().as_u16(), &again.headers()["location"]),
        (303, &"/".parse().unwrap())
    );
    let reported = links.lock().unwrap().clone();
    assert_eq!(reported, [console.login_url()]);
    let next = browser.get(&reported[0]).send().await.unwrap();
    assert!(next.headers().contains_key(SET_COOKIE));
    for wrong in ["?token=", "", "?token=0", "?token=%00"] {
        let url = format!("{}/login{wrong}", console.url());
        text(browser.get(url).send().await.unwrap(), 401).await;
    }
}

/// Returns a session of the server with [`KEY`] at this port.
fn session(port: u16, key: &[u8], expiry: u64) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &[key, &port.to_be_bytes()].concat());
    let text = format!("id.{expiry}");
    let signature = hmac::sign(&key, text.as_bytes());
    let bytes = signature.as_ref().iter();
    let signature: String = bytes.map(|byte| format!("{byte:02x}")).collect();
    format!("modelarts-console-{port}={text}.{signature}")
}

#[tokio::test]
async fn a_session_ends_after_its_time_and_is_that_of_one_key_and_port() {
    let fixture = Fixture::with(|emulator| emulator, |console| console.session_key(KEY)).await;
    let url = fixture.console.url();
    let port: u16 = url.rsplit_once(':').unwrap().1.parse().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let valid = session(port, KEY, now + 3_600);
    let cases = [
        (valid.clone(), 200),
        (format!("other=1; {valid}; third=2"), 200),
        (session(port, KEY, now), 401),
        (session(port, b"other", now + 3_600), 401),
        (session(port, KEY, now + 3_600).replacen("id", "di", 1), 401),
        (
            session(port + 1, KEY, now + 3_600).replacen(
                &(port + 1).to_string(),
                &port.to_string(),
                1,
            ),
            401,
        ),
        (format!("x{valid}"), 401),
        (format!("modelarts-console-{port}="), 401),
        (format!("modelarts-console-{port}=..."), 401),
    ];
    for (cookie, status) in cases {
        let response = fixture.stranger("GET", "/jobs").header("cookie", &cookie);
        let response = response.send().await.unwrap();
        assert_eq!(response.status(), status, "{cookie}");
    }
    // The page states it, instead of a blank.
    let expired = session(port, KEY, now);
    let response = fixture.stranger("GET", "/jobs").header("cookie", expired);
    let page = text(response.send().await.unwrap(), 401).await;
    assert!(page.contains("or the session has expired"), "{page}");
}

#[tokio::test]
async fn a_change_must_contain_the_value_of_the_session() {
    let fixture = Fixture::start().await;
    let other = Fixture::start().await;
    let form = "application/x-www-form-urlencoded";
    let own = fixture.csrf.clone();
    let cases = [
        (None, form, String::new(), 403),
        (None, form, "csrf=".to_owned(), 403),
        (None, form, "csrf=0".to_owned(), 403),
        (None, form, format!("csrf={}", other.csrf), 403),
        (None, form, format!("a=1&csrf={own}"), 303),
        (None, "text/plain", format!("csrf={own}"), 403),
        (None, "multipart/form-data; boundary=b", format!("csrf={own}"), 403),
        (None, "application/json", format!("{{\"csrf\":\"{own}\"}}"), 403),
        (Some("0".to_owned()), form, format!("csrf={own}"), 403),
        (Some(other.csrf.clone()), form, String::new(), 403),
        (Some(own.clone()), "application/json", String::new(), 303),
    ];
    for (header, kind, body, status) in cases {
        let mut request = fixture.request("POST", CHANGE).header("content-type", kind);
        if let Some(header) = &header {
            request = request.header("x-csrf-token", header);
        }
        let response = request.body(body.clone()).send().await.unwrap();
        assert_eq!(response.status(), status, "{header:?} {kind} {body}");
    }
    // In the address, the value could reach logs and other sites.
    let request = fixture.request("POST", &format!("{CHANGE}?csrf={own}"));
    text(request.send().await.unwrap(), 403).await;
    let huge = format!("csrf={own}&a={}", "x".repeat(2 << 20));
    let request = fixture.request("POST", CHANGE).header("content-type", form);
    let page = text(request.body(huge).send().await.unwrap(), 400).await;
    assert!(page.contains("the form is too large"), "{page}");
}

#[tokio::test]
async fn a_change_from_another_site_is_rejected() {
    let fixture = Fixture::start().await;
    let own = fixture.console.url();
    let port = own.rsplit_once(':').unwrap().1;
    let cases = [
        (own.clone(), 303),
        (format!("http://localhost:{port}"), 303),
        (format!("http://[::1]:{port}"), 303),
        ("null".to_owned(), 403),
        ("http://127.0.0.1".to_owned(), 403),
        ("http://127.0.0.1:1".to_owned(), 403),
        (format!("https://127.0.0.1:{port}"), 403),
        (format!("http://evil.example:{port}"), 403),
        (format!("http://127.0.0.1.evil.example:{port}"), 403),
        (String::new(), 403),
    ];
    for (origin, status) in cases {
        let request = fixture.request("POST", CHANGE).header("origin", &origin);
        let request = request.header("x-csrf-token", &fixture.csrf);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status, "{origin:?}");
    }
}

/// Sends the bytes of a request. Returns the bytes of the response, which may be cut off.
async fn raw(fixture: &Fixture, request: String) -> String {
    let address = fixture.console.url().replace("http://", "");
    let response = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        // The server closes the connection before it has read a request that is too large.
        let _ = stream.write_all(request.as_bytes());
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response);
        String::from_utf8_lossy(&response).into_owned()
    });
    response.await.unwrap()
}

#[tokio::test]
async fn another_host_is_rejected() {
    let fixture = Fixture::start().await;
    let port = fixture.console.url().rsplit_once(':').unwrap().1.to_owned();
    let cookie = &fixture.cookie;
    let cases = [
        (format!("Host: 127.0.0.1:{port}\r\n"), 200),
        (format!("Host: LOCALHOST:{port}\r\n"), 200),
        (format!("Host: [::1]:{port}\r\n"), 200),
        (format!("Host: evil.example:{port}\r\n"), 403),
        (format!("Host: 127.0.0.1.evil.example:{port}\r\n"), 403),
        ("Host: 127.0.0.1\r\n".to_owned(), 403),
        ("Host: 127.0.0.1:1\r\n".to_owned(), 403),
        (format!("Host: 127.0.0.1:{port}\r\nHost: 127.0.0.1:{port}\r\n"), 403),
        (format!("Host: 10.0.0.1:{port}\r\n"), 403),
        (format!("Host: 127.0.0.2:{port}\r\n"), 403),
        (String::new(), 403),
    ];
    for (host, status) in cases {
        let head =
            format!("GET /jobs HTTP/1.1\r\n{host}Cookie: {cookie}\r\nConnection: close\r\n\r\n");
        let response = raw(&fixture, head).await;
        let expected = format!("HTTP/1.1 {status} ");
        assert!(response.starts_with(&expected), "{host:?}: {response}");
    }
}

#[tokio::test]
async fn huge_headers_do_not_end_the_server() {
    let fixture = Fixture::start().await;
    let address = fixture.console.url().replace("http://", "");
    for header in [
        format!("X-Big: {}\r\n", "x".repeat(4 << 20)),
        "X-Many: 1\r\n".repeat(20_000),
        format!("Cookie: {}\r\n", "a=1; ".repeat(50_000)),
    ] {
        let head =
            format!("GET /jobs HTTP/1.1\r\nHost: {address}\r\n{header}Connection: close\r\n\r\n");
        let response = raw(&fixture, head).await;
        let is_rejected = response.is_empty()
            || response.starts_with("HTTP/1.1 431 ")
            || response.starts_with("HTTP/1.1 401 ");
        assert!(is_rejected, "{}", &response[..200.min(response.len())]);
    }
    fixture.page("/jobs").await;
}

#[tokio::test]
async fn other_methods_change_nothing_and_allow_no_other_site() {
    let fixture = Fixture::start().await;
    for method in ["OPTIONS", "PUT", "PATCH", "DELETE", "TRACE"] {
        let response = fixture.stranger(method, "/jobs").send().await.unwrap();
        text(response, 401).await;
        let response = fixture.request(method, "/jobs").send().await.unwrap();
        text(response, 403).await;
        let request = fixture.request(method, "/emulator").header("x-csrf-token", &fixture.csrf);
        let response = request.send().await.unwrap();
        let is_allowed =
            response.headers().keys().any(|name| name.as_str().starts_with("access-control"));
        assert!(!is_allowed, "{method}");
        text(response, 405).await;
    }
    let head = fixture.request("HEAD", "/emulator").send().await.unwrap();
    assert_eq!(head.status(), 200);
    assert_eq!(head.headers()["cross-origin-resource-policy"], "same-origin");
    assert_eq!(head.headers()["cross-origin-opener-policy"], "same-origin");
    assert_eq!(head.headers()["x-frame-options"], "DENY");
    assert_eq!(head.headers()["cache-control"], "no-store");
    // A form that is sent again after a login.
    let page = text(fixture.request("GET", CHANGE).send().await.unwrap(), 405).await;
    assert!(page.contains("<h1>Not possible</h1>"), "{page}");
}

/// All routes that are not only read.
const CHANGES: [(&str, &str); 17] = [
    ("DELETE", "/create/files/{draft}/{slot}"),
    ("POST", "/create"),
    ("POST", "/create/check"),
    ("POST", "/create/files/{draft}/{slot}/{*path}"),
    ("POST", "/emulator/clock"),
    ("POST", "/emulator/faults"),
    ("POST", "/emulator/faults/clear"),
    ("POST", "/emulator/reset"),
    ("POST", "/jobs/delete"),
    ("POST", "/jobs/stop"),
    ("POST", "/jobs/{id}/algorithm"),
    ("POST", "/jobs/{id}/delete"),
    ("POST", "/jobs/{id}/description"),
    ("POST", "/jobs/{id}/priority"),
    ("POST", "/jobs/{id}/stop"),
    ("POST", "/jobs/{id}/tags"),
    ("POST", "/logout"),
];

/// Adds the routes in the sources that are not only read, as methods with paths.
fn collect_changes(directory: &Path, changes: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_changes(&path, changes);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for route in text.split(".route(").skip(1) {
            let mut depth = 1;
            let end = route.find(|character| {
                match character {
                    '(' => depth += 1,
                    ')' => depth -= 1,
                    _ => {}
                }
                depth == 0
            });
            let (address, methods) = route[..end.unwrap()].split_once(',').unwrap();
            for method in ["post", "delete", "put", "patch", "any", "on"] {
                let is_used =
                    [" ", "."].iter().any(|before| methods.contains(&format!("{before}{method}(")));
                if is_used {
                    let address = address.trim().trim_matches('"').to_owned();
                    changes.push((method.to_uppercase(), address));
                }
            }
        }
    }
}

#[tokio::test]
async fn a_read_only_page_rejects_all_changes() {
    let mut found = Vec::new();
    collect_changes(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    found.sort();
    let listed = CHANGES.map(|(method, path)| (method.to_owned(), path.to_owned()));
    assert_eq!(found, listed, "each route must be in the list");

    let fixture = Fixture::with(|emulator| emulator, |console| console.read_only(true)).await;
    for (method, path) in CHANGES {
        let path = path.replace("{id}", "1").replace("{draft}", "1");
        let path = path.replace("{slot}", "code").replace("{*path}", "a/b.py");
        let request = fixture.request(method, &path);
        let request = request.header("x-csrf-token", &fixture.csrf);
        let response = request.send().await.unwrap();
        // The check of a form changes nothing, so it only shows what is wrong. The last one logs
        // out.
        if path == "/create/check" || path == "/logout" {
            text(response, 200).await;
            continue;
        }
        let page = text(response, 403).await;
        assert!(page.contains("this page is read-only"), "{path}: {page}");
    }
    let fixture = Fixture::with(|emulator| emulator, |console| console.read_only(true)).await;
    let forms = |page: &str| page.matches("method=\"post\"").count();
    let page = fixture.page("/emulator").await;
    assert!(page.contains("<strong>read-only</strong>"), "{page}");
    // Only that of the end of the session.
    assert_eq!(forms(&page), 1, "{page}");
    assert_eq!(forms(&fixture.page("/jobs").await), 1);
}

#[tokio::test]
async fn only_loopback_addresses_are_listened_on() {
    let emulator = Emulator::start().await.unwrap();
    let console = Console::builder(client(&emulator)).listen("0.0.0.0:0".parse().unwrap());
    let error = console.start().await.err().unwrap();
    assert_eq!(error.to_string(), "the address must be a loopback address, and is 0.0.0.0");
}

#[tokio::test]
async fn logging_out_ends_the_session_with_its_streams() {
    for is_read_only in [false, true] {
        let fixture = Fixture::with(|emulator| emulator, |page| page.read_only(is_read_only)).await;
        let page = fixture.page("/jobs").await;
        assert!(page.contains("<form method=\"post\" action=\"/logout\">"), "{page}");
        assert_eq!(fixture.request("GET", "/logout").send().await.unwrap().status(), 405);
        let forged = fixture.request("POST", "/logout").send().await.unwrap();
        assert_eq!(forged.status(), 403);
        fixture.page("/jobs").await;
        let mut stream = fixture.stream("/jobs/stream", "").await;
        stream.next().await.unwrap();

        let response = fixture.form("/logout", &[]).await;
        let cookie = response.headers()[SET_COOKIE].to_str().unwrap().to_owned();
        let (name, _) = fixture.cookie.split_once('=').unwrap();
        let expired = format!("{name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
        assert_eq!(cookie, expired);
        let page = text(response, 200).await;
        assert!(page.contains("<h1>Logged out</h1>"), "{page}");
        assert!(page.contains("open the newest link that the program printed"), "{page}");
        assert!(!page.contains(fixture.emulator.project_id()), "{page}");
        stream.until_end().await;
        // A copy of the cookie is not valid, also with its signature in capital letters.
        let (text, signature) = fixture.cookie.rsplit_once('.').unwrap();
        let capital = format!("{text}.{}", signature.to_uppercase());
        for cookie in [&fixture.cookie, &capital] {
            let request = fixture.stranger("GET", "/jobs").header("cookie", cookie);
            assert_eq!(request.send().await.unwrap().status(), 401);
        }
        let next = browser().get(fixture.console.login_url()).send().await.unwrap();
        assert!(next.headers().contains_key(SET_COOKIE));
    }
}

#[tokio::test]
async fn a_request_whose_head_does_not_arrive_ends_after_30_seconds() {
    let fixture = Fixture::start().await;
    let address = fixture.console.url().replace("http://", "");
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /jobs HTTP/1.1\r\nHost: 127").await.unwrap();
    // The page accepts connections in their order, so it has begun to read the first one.
    assert_eq!(fixture.stranger("GET", "/jobs").send().await.unwrap().status(), 401);
    tokio::time::pause();
    let begin = tokio::time::Instant::now();
    let mut reply = Vec::new();
    let read = stream.read_to_end(&mut reply);
    let closed = tokio::time::timeout(Duration::from_secs(3_600), read).await;
    closed.expect("the connection stays open").unwrap();
    // The server began to count before the clock stood still.
    let elapsed = begin.elapsed().as_secs_f64();
    assert!((20.0..31.0).contains(&elapsed), "{elapsed}");
    assert_eq!(reply, b"");
}
