//! Tests of proxies: requests to the local machine bypass them, and a program can set one.

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use modelarts_ext::{Client, ClientBuilder, Credentials, RetryPolicy};

use crate::{
    child::{child, is_child},
    support::{clock::TestClock, errors::refused, site::Site},
};

/// Starts a proxy that closes every connection. Returns its address, and a list of the first lines
/// that it received.
fn proxy() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&lines);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut line = String::new();
            let _ = BufReader::new(stream.unwrap()).read_line(&mut line);
            seen.lock().unwrap().push(line);
        }
    });
    (url, lines)
}

fn variables(proxy: &str) -> Vec<(&str, &str)> {
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        .map(|name| (name, proxy))
        .into_iter()
        .chain([("NO_PROXY", ""), ("no_proxy", "")])
        .collect()
}

/// Returns the builder of a client for another machine, which does not exist.
fn remote() -> ClientBuilder {
    Client::builder()
        .endpoint("https://modelarts.invalid")
        .project_id("p")
        .credentials(Credentials::keys("AK", "SK"))
        .clock(TestClock::new())
        .timeout(Duration::from_secs(3600))
        .retry(RetryPolicy::none())
}

#[tokio::test]
async fn loopback_goes_past_proxies() {
    if is_child() {
        let site = Site::start().await;
        let port = site.emulator.url().rsplit(':').next().unwrap_or_default();
        for host in ["127.0.0.1", "localhost"] {
            let client = site.client().endpoint(format!("http://{host}:{port}"));
            let client = client.build().unwrap();
            let jobs = client.training_jobs().list().collect(1).await.unwrap();
            assert_eq!(jobs.len(), 0);
        }
        assert_eq!(site.count("ListTrainingJobs"), (2, 2));
        return;
    }
    let (url, lines) = proxy();
    child("proxy::loopback_goes_past_proxies", &variables(&url));
    assert_eq!(*lines.lock().unwrap(), [""; 0]);
}

/// Tests that the proxy variables of the other test take effect.
#[tokio::test]
async fn other_hosts_are_reached_through_proxies() {
    if is_child() {
        let client = remote().build().unwrap();
        let error = refused(client.training_jobs().list().collect(1).await);
        assert_eq!(error.kind(), modelarts_ext::ErrorKind::Connection);
        // The password of the proxy is not in the message.
        let proxy = std::env::var("HTTPS_PROXY").unwrap();
        let proxy = proxy.replace("user:secret@", "");
        let text = error.to_string();
        let start = format!(
            "ListTrainingJobs: cannot connect to https://modelarts.invalid through the proxy \
             {proxy}: "
        );
        let end = "; check the proxy in HTTPS_PROXY, or add modelarts.invalid to NO_PROXY";
        assert!(text.starts_with(&start) && text.ends_with(end), "{text}");
        return;
    }
    let (url, lines) = proxy();
    let url = url.replace("://", "://user:secret@");
    child("proxy::other_hosts_are_reached_through_proxies", &variables(&url));
    assert_eq!(*lines.lock().unwrap(), ["CONNECT modelarts.invalid:443 HTTP/1.1\r\n"]);
}

#[tokio::test]
async fn a_proxy_of_the_program_takes_precedence_over_the_variables() {
    if is_child() {
        let url = std::env::var("TEST_PROXY").unwrap();
        let client = remote();
        for (wrong, shown) in [
            ("http://[", "http://["),
            ("socks://user:pa#s@127.0.0.1:1080", "127.0.0.1:1080"),
            ("127.0.0.1:3128", "127.0.0.1:3128"),
        ] {
            let error = client.clone().proxy(wrong).build().unwrap_err().to_string();
            let start = format!("the proxy {shown} must be a URL such as http://");
            assert!(error.starts_with(&start), "{error}");
        }
        let client = client.proxy(url.replace("://", "://user:secret@")).build().unwrap();
        let error = refused(client.training_jobs().list().collect(1).await).to_string();
        let end = "; check the proxy in proxy(), or add modelarts.invalid to NO_PROXY";
        assert!(error.contains(&format!(" through the proxy {url}: ")), "{error}");
        assert!(error.ends_with(end) && !error.contains("secret"), "{error}");
        return;
    }
    let ((other, unused), (url, lines)) = (proxy(), proxy());
    let mut variables = variables(&other);
    variables.push(("TEST_PROXY", &url));
    child("proxy::a_proxy_of_the_program_takes_precedence_over_the_variables", &variables);
    assert_eq!(*unused.lock().unwrap(), [""; 0]);
    assert_eq!(*lines.lock().unwrap(), ["CONNECT modelarts.invalid:443 HTTP/1.1\r\n"]);
}
