//! `modelarts console`.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    os::unix::fs::PermissionsExt,
    path::Path,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::support::{Fixture, Running, assert, assert_schema, isolated};

/// A running `modelarts console`.
struct ConsoleProcess {
    running: Running,
    ready: Value,
}

impl ConsoleProcess {
    /// Starts it, and waits until it is ready.
    fn start(fixture: &Fixture, arguments: &str) -> Self {
        Self::start_in(fixture, arguments, &std::env::temp_dir())
    }

    /// Starts it with another directory of temporary files.
    fn start_in(fixture: &Fixture, arguments: &str, temporary: &Path) -> Self {
        let mut running = fixture.spawn_in(&format!("console -o json {arguments}"), temporary);
        let line = running.line();
        if line.is_empty() {
            panic!("the page has not started: {}", running.end().2);
        }
        let ready = serde_json::from_str(&line).unwrap();
        assert_schema(&ready, "console");
        Self { running, ready }
    }

    fn text(&self, field: &str) -> &str {
        self.ready[field].as_str().unwrap()
    }

    /// Ends it as Ctrl-C does. Returns stderr.
    fn end(self) -> String {
        self.running.signal("INT");
        let (code, stdout, stderr) = self.running.end();
        assert_eq!((code, stdout.as_str()), (Some(130), ""), "{stderr}");
        stderr
    }
}

/// Sends a request as a browser does. Returns status, cookie and text.
async fn get(fixture: &Fixture, url: &str, cookie: &str) -> (u16, Option<String>, String) {
    let http = fixture.client().provider_context().http.clone();
    let response = http.get(url).header("cookie", cookie).send().await.unwrap();
    let status = response.status().as_u16();
    let set = response.headers().get("set-cookie");
    let set = set.map(|cookie| cookie.to_str().unwrap().split(';').next().unwrap().to_owned());
    (status, set, response.text().await.unwrap())
}

/// Logs in. Returns the cookie.
async fn log_in(fixture: &Fixture, page: &ConsoleProcess) -> String {
    get(fixture, page.text("login_url"), "").await.1.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_served_until_ctrl_c() {
    let fixture = Fixture::start().await;
    fixture.seed(json!([{ "name": "shown" }])).await;
    let page = ConsoleProcess::start(&fixture, "--listen 127.0.0.1:0");
    let (url, login) = (page.text("url").to_owned(), page.text("login_url").to_owned());
    let (endpoint, project) = (page.text("endpoint").to_owned(), fixture.emulator.project_id());
    assert_eq!(
        page.ready,
        json!({
            "schema_version": 1,
            "url": url,
            "login_url": login,
            "endpoint": format!("{}/", fixture.emulator.url()),
            "project_id": project,
            "context": null,
            "read_only": false,
        })
    );
    assert_eq!(get(&fixture, &url, "").await.0, 401);
    let cookie = log_in(&fixture, &page).await;
    let (status, _, jobs) = get(&fixture, &format!("{url}/jobs"), &cookie).await;
    assert_eq!(status, 200);
    assert!(jobs.contains(">shown</a>") && jobs.contains(project), "{jobs}");
    let stderr = page.end();
    let next = stderr.rsplit_once("token=").unwrap().1.trim();
    assert_eq!(
        stderr,
        format!(
            "Jobs of the project {project} on {endpoint}\nLink for a browser, valid once:\n  \
             {login}\nCtrl-C ends the page; jobs continue\nNext link for a browser: \
             {url}/login?token={next}\n"
        )
    );
    assert!(!login.ends_with(next), "{stderr}");
}

/// Returns the number of files below a directory.
fn count_files(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let counts = entries.map(|entry| match entry.path() {
        path if path.is_dir() => count_files(&path),
        // The lock is no dropped file.
        path => usize::from(path.file_name().is_some_and(|name| name != "lock")),
    });
    counts.sum()
}

/// Waits until a condition holds.
async fn until(condition: impl Fn() -> bool) {
    let wait = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), wait).await;
    waited.expect("the condition does not hold");
}

/// Drops a file on the form, and begins with a second one and with another request.
async fn drop_files(fixture: &Fixture, page: &ConsoleProcess) -> [TcpStream; 2] {
    let cookie = log_in(fixture, page).await;
    let url = page.text("url");
    let (_, _, text) = get(fixture, &format!("{url}/jobs"), &cookie).await;
    let (_, csrf) = text.split_once("csrf-token\" content=\"").unwrap();
    let csrf = csrf.split_once('"').unwrap().0;
    let host = url.strip_prefix("http://").unwrap();
    let upload = async |name: &str, close: &str| {
        let head = format!(
            "POST /create/files/{}/code/{name} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\
             X-CSRF-Token: {csrf}\r\nContent-Length: 5\r\n{close}\r\nhell",
            "0".repeat(32)
        );
        let mut connection = TcpStream::connect(host).await.unwrap();
        connection.write_all(head.as_bytes()).await.unwrap();
        connection
    };
    let mut complete = upload("train.py", "Connection: close\r\n").await;
    complete.write_all(b"o").await.unwrap();
    let mut answer = String::new();
    complete.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
    let mut half = TcpStream::connect(host).await.unwrap();
    half.write_all(b"GET /jobs HTTP/1.1\r\nHo").await.unwrap();
    [upload("data.csv", "").await, half]
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_files_are_deleted_at_the_end_and_after_a_kill() {
    let fixture = Fixture::start().await;
    let directory = TempDir::new().unwrap();
    let start = || ConsoleProcess::start_in(&fixture, "--listen 127.0.0.1:0", directory.path());
    let is_empty = || fs::read_dir(directory.path()).unwrap().next().is_none();
    let page = start();
    let _open = drop_files(&fixture, &page).await;
    until(|| count_files(directory.path()) == 2).await;
    page.end();
    assert!(is_empty());

    let killed = start();
    let _open = drop_files(&fixture, &killed).await;
    until(|| count_files(directory.path()) == 2).await;
    // Another page leaves the files of one that runs.
    start().end();
    assert_eq!(count_files(directory.path()), 2);
    killed.running.signal("KILL");
    killed.running.end();
    assert_eq!(count_files(directory.path()), 2);
    let next = start();
    until(|| count_files(directory.path()) == 0).await;
    next.end();
    until(is_empty).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_survives_a_restart_for_the_same_project_only() {
    let fixture = Fixture::start().await;
    let page = ConsoleProcess::start(&fixture, "--listen 127.0.0.1:0");
    let url = page.text("url").to_owned();
    let jobs = format!("{url}/jobs");
    let cookie = log_in(&fixture, &page).await;
    page.end();
    let key = fixture.path().join("state/console.key");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let listen = format!("--listen {}", url.replace("http://", ""));
    let page = ConsoleProcess::start(&fixture, &listen);
    assert_eq!(get(&fixture, &jobs, &cookie).await.0, 200);
    page.end();
    // A page for another project at the same address does not take changes of the old one.
    let other =
        Fixture { emulator: Fixture::with(|builder| builder.id_seed(2)).await.emulator, ..fixture };
    let page = ConsoleProcess::start(&other, &listen);
    assert_eq!(get(&other, &jobs, &cookie).await.0, 401);
    page.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_others_could_read_is_replaced() {
    let fixture = Fixture::start().await;
    let key = fixture.path().join("state/console.key");
    fs::create_dir(fixture.path().join("state")).unwrap();
    let weak = [7; 32];
    fs::write(&key, weak).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    ConsoleProcess::start(&fixture, "--listen 127.0.0.1:0").end();
    assert_ne!(fs::read(&key).unwrap(), weak);
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    // A state directory that cannot be written only shortens sessions.
    fs::remove_dir_all(fixture.path().join("state")).unwrap();
    fs::write(fixture.path().join("state"), "no directory").unwrap();
    ConsoleProcess::start(&fixture, "--listen 127.0.0.1:0").end();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_pages_without_an_address_get_two_ports() {
    let fixture = Fixture::start().await;
    let first = ConsoleProcess::start(&fixture, "");
    let second = ConsoleProcess::start(&fixture, "--read-only");
    assert_ne!(first.text("url"), second.text("url"));
    assert_eq!(
        (&first.ready["read_only"], &second.ready["read_only"]),
        (&json!(false), &json!(true))
    );
    first.end();
    let stderr = second.end();
    assert!(stderr.contains(", read-only\n"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_addresses_are_refused() {
    let fixture = Fixture::start().await;
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = taken.local_addr().unwrap();
    let cases = [
        (
            "0.0.0.0:8900".to_owned(),
            2,
            "error: --listen 0.0.0.0:8900: it must be a loopback address, such as 127.0.0.1:8900; \
             `ssh -L` forwards the port to another machine\n"
                .to_owned(),
        ),
        (
            address.to_string(),
            1,
            format!(
                "error: --listen: cannot listen on {address} for the page: Address already in use \
                 (os \
                 error [..]); port 0 selects a free port\n"
            ),
        ),
    ];
    for (address, code, expected) in cases {
        let output = fixture.run(&format!("console --listen {address}")).await;
        output.code(code).stdout_eq("").stderr_eq(expected);
    }
    let output = fixture.run("console --listen 8900").await.code(2);
    let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(text.contains("invalid value '8900' for '--listen"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_opens_on_a_desktop() {
    let fixture = Fixture::start().await;
    let bin = fixture.path().join("bin");
    let opener = fixture.write("bin/xdg-open", "#!/bin/sh\ncat \"$1\" > \"$HOME/opened\"\n");
    fs::set_permissions(opener, fs::Permissions::from_mode(0o755)).unwrap();
    // Reads what the browser gets, ends the page, and prints what it has printed.
    let script = r#"
import os, pty, sys
os.mkfifo("opened")
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
opened = open("opened").read()
os.write(terminal, b"\x03")
printed = b""
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError:
        break
    if not part:
        break
    printed += part
print(opened)
print(printed.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let program = snapbox::cmd::cargo_bin!("modelarts");
    let mut command = snapbox::cmd::Command::new("python3")
        .args(["-c", script, program.to_str().unwrap(), "console"])
        .args(["--listen", "127.0.0.1:0"])
        .env_clear()
        .env("PATH", path)
        .env("HOME", fixture.path())
        .env("TERM", "xterm")
        .env("DISPLAY", ":0")
        .env("MODELARTS_CONFIG", fixture.path().join("config.toml"))
        .env("MODELARTS_STATE_DIR", fixture.path().join("state"))
        .current_dir(fixture.path());
    for (name, value) in fixture.emulator.envs() {
        command = command.env(name, value);
    }
    let output = assert(command).await.code(130);
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    let (opened, printed) = text.split_once("</a>").unwrap();
    let link = printed.split_whitespace().find(|word| word.contains("/login?token="));
    let link = link.unwrap();
    assert!(opened.contains(&format!("content=\"0; url={link}\"")), "{text}");
    // The file with the link is deleted at the end.
    let files = fs::read_dir(fixture.path().join("state")).unwrap();
    let names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    assert_eq!(names, ["console.key"]);
}

#[test]
fn settings_are_those_of_all_commands() {
    let home = TempDir::new().unwrap();
    let run = |arguments: &str| {
        let command = isolated(home.path()).args(arguments.split_whitespace());
        let output = command.assert();
        let output = output.get_output();
        let text = String::from_utf8(output.stderr.clone()).unwrap();
        (output.status.code(), text)
    };
    let (code, text) = run("console");
    assert_eq!(code, Some(1));
    assert!(text.contains("no endpoint; set MODELARTS_REGION"), "{text}");
    let (code, text) = run("console --context none");
    assert_eq!(code, Some(2));
    assert!(text.contains("no context is named \"none\""), "{text}");
}
