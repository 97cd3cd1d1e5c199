//! Text of the service with markup.

use std::{collections::BTreeSet, net::Ipv4Addr};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    response::Response,
};
use modelarts_console::Console;
use modelarts_emulator::{Emulator, Timing, seeds::Seeds};
use modelarts_ext::ClientBuilder;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::support::{Fixture, browser};

/// Markup that is added to each text of the service.
const MARKUP: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>";
/// Beginning of the markup as a page shows it.
const SHOWN: &str = "&#60;script&#62;alert(1)";
/// Members whose texts are addresses of requests or positions, which the SDK must be able to use.
/// The text of the log has markup of its own.
const KEPT: [&str; 4] = ["obs_url", "start_line", "end_line", "content"];

/// A service between the page and an emulator that adds markup to every text of a response.
#[derive(Clone)]
struct Proxy {
    http: reqwest::Client,
    emulator: String,
    /// Id of the job, which stays as it is, so that its pages are found.
    id: String,
    /// `true` if the names of the workers stay as they are, so that their logs are found.
    keeps_workers: bool,
}

impl Proxy {
    /// Starts the service. Returns its address.
    async fn start(self) -> String {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(forward).with_state(self);
        tokio::spawn(axum::serve(listener, router).into_future());
        endpoint
    }

    /// Adds markup to the texts of a value.
    fn poison(&self, value: &mut Value) {
        match value {
            Value::String(text) if *text != self.id => text.push_str(MARKUP),
            Value::Array(items) => items.iter_mut().for_each(|item| self.poison(item)),
            Value::Object(members) => {
                let members = members.iter_mut();
                let members = members.filter(|(name, _)| {
                    !(KEPT.contains(&name.as_str()) || self.keeps_workers && *name == "tasks")
                });
                members.for_each(|(_, member)| self.poison(member));
            }
            _ => {}
        }
    }
}

async fn forward(State(proxy): State<Proxy>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let url = format!("{}{}", proxy.emulator, parts.uri);
    // The signature contains the host.
    let request = proxy.http.request(parts.method, url).headers(parts.headers);
    let response = request.body(body).send().await.unwrap();
    let mut copy = Response::builder().status(response.status());
    for (name, value) in response.headers() {
        if name != "content-length" && name != "transfer-encoding" {
            copy = copy.header(name, value);
        }
    }
    let body = response.bytes().await.unwrap();
    let body = match serde_json::from_slice::<Value>(&body) {
        Ok(mut value) if !parts.uri.path().starts_with("/_emulator") => {
            proxy.poison(&mut value);
            Bytes::from(value.to_string())
        }
        _ => body,
    };
    copy.body(Body::from(body)).unwrap()
}

/// A job with a value in as many fields as possible.
fn seeds() -> String {
    let job = json!({
        "kind": "job",
        "metadata": {
            "name": "markup", "description": "about", "workspace_id": "0",
            "annotations": { "fault-tolerance/job-retry-num": "1" },
        },
        "algorithm": {
            "engine": { "image_url": "own/image:1" },
            "code_dir": "obs://bucket/code/",
            "command": "python train.py",
            "parameters": [{ "name": "rate", "value": "0.1", "description": "speed" }],
            "inputs": [{ "name": "data_url", "remote": { "obs": { "obs_url": "/bucket/data/" } } }],
            "outputs": [{ "name": "train_url",
                          "remote": { "obs": { "obs_url": "/bucket/out/" } } }],
            "environments": { "LEVEL": "debug" },
        },
        "spec": { "resource": { "flavor_id": "modelarts.vm.cpu.2u", "node_count": 1 } },
    });
    let event =
        |level: &str| json!({ "time": "2026-01-15T08:31:00Z", "message": MARKUP, "level": level });
    let seed = json!({
        "job": job, "phase": "Failed", "exit_code": 2, "task": "worker-0",
        "events": [event("Info"), event("Warning"), event("Error")],
        "logs": { "worker-0": format!("ERROR {MARKUP}\n{MARKUP}\n") },
        "tags": { "team": "vision" },
    });
    json!({ "jobs": [seed] }).to_string()
}

#[tokio::test]
async fn no_text_of_the_service_is_markup_of_a_page() {
    visit_all(true).await;
}

#[tokio::test]
async fn no_name_of_a_worker_is_markup_of_a_page() {
    visit_all(false).await;
}

/// Visits all pages and streams.
async fn visit_all(keeps_workers: bool) {
    let emulator = Emulator::builder().timing(Timing::instant()).id_seed(1);
    let emulator = emulator.start().await.unwrap();
    for key in ["code/train.py", "data/a.csv", "out/old.txt"] {
        emulator.put(&format!("bucket/{key}"), "").unwrap();
    }
    let ids = emulator.seed(&Seeds::from_json(&seeds()).unwrap()).await.unwrap();
    let id = ids[0].clone();
    let proxy = Proxy {
        http: browser(),
        emulator: emulator.url().to_owned(),
        id: id.clone(),
        keeps_workers,
    };
    let client = ClientBuilder::from_vars(emulator.vars()).endpoint(proxy.start().await);
    let console = Console::builder(client.build().unwrap());
    let fixture = Fixture::of(emulator, console).await;
    let mut shown = BTreeSet::new();
    let job = format!("/jobs/{id}");
    for (path, event) in [
        ("/jobs/stream".to_owned(), "rows"),
        (format!("{job}/stream?view=overview"), "head"),
        (format!("{job}/stream?view=events"), "events"),
        (format!("{job}/stream?view=logs"), "log"),
    ] {
        let mut stream = fixture.stream(&path, "").await;
        loop {
            let message = stream.next().await.expect("the stream has ended");
            // The lines are data for scripts. At first, none was read.
            if message.event == "log" {
                match keeps_workers && message.data.contains("\"lines\":0") {
                    true => continue,
                    false => break,
                }
            }
            // The reason is shown as text.
            if message.event != "interrupted" {
                check(&path, &message.data);
            }
            if message.event == event {
                if message.data.contains(SHOWN) {
                    shown.insert(path.clone());
                }
                break;
            }
        }
    }
    // Other names of workers are not part of an address, so their logs and values are not found.
    let (of_worker, found) = if keeps_workers { (200, 303) } else { (422, 200) };
    for (path, status) in [
        ("/jobs".to_owned(), 200),
        ("/jobs/@latest".to_owned(), 307),
        (format!("/jobs/@latest/{MARKUP}"), 307),
        (format!("/jobs?search={MARKUP}"), 200),
        (format!("/jobs/confirm?action=stop&id={id}"), 200),
        (format!("/jobs/confirm?action=delete&id={id}"), 200),
        (job.clone(), 200),
        (format!("{job}/parts"), 200),
        (format!("{job}/events"), 200),
        (format!("{job}/events?source={MARKUP}"), 200),
        (format!("{job}/logs"), 200),
        (format!("{job}/logs?q={MARKUP}&find=next"), found),
        (format!("{job}/logs?task={MARKUP}"), 404),
        (format!("{job}/usage"), 200),
        (format!("{job}/usage?task={MARKUP}"), 400),
        (format!("{job}/usage/data"), 200),
        (format!("{job}/usage/file"), of_worker),
        (format!("{job}/request"), 200),
        (format!("{job}/stop"), 200),
        (format!("{job}/delete"), 200),
        (format!("/jobs/{MARKUP}"), 404),
        ("/create".to_owned(), 200),
        (format!("/create?from={id}"), 200),
        (format!("/create?from={MARKUP}"), 404),
        ("/emulator".to_owned(), 200),
        (format!("/emulator?operation={MARKUP}"), 200),
        (format!("/nothing{MARKUP}"), 404),
    ] {
        let path = path.replace(' ', "%20");
        for accept in ["text/html", "application/json"] {
            let request = fixture.request("GET", &path).header("accept", accept);
            let response = request.send().await.unwrap();
            let got = response.status();
            let kind = response.headers().get("content-type");
            let kind = kind.map(|kind| kind.to_str().unwrap().to_owned());
            let text = response.text().await.unwrap();
            assert_eq!(got, status, "{path} {accept}: {text}");
            // Data for scripts, which show it as text; the parts of a job are HTML.
            let is_data = ["application/json", "text/csv; charset=utf-8"];
            if kind.is_some_and(|kind| is_data.contains(&&*kind)) && !path.ends_with("/parts") {
                continue;
            }
            check(&path, &text);
            if text.contains(SHOWN) {
                shown.insert(path.clone());
            }
        }
    }
    for path in [
        "/jobs".to_owned(),
        job.clone(),
        format!("{job}/parts"),
        format!("{job}/events"),
        format!("{job}/request"),
        format!("/create?from={id}"),
        "/jobs/stream".to_owned(),
        format!("{job}/stream?view=overview"),
        format!("{job}/stream?view=events"),
    ] {
        assert!(shown.contains(&path), "{path} shows no text: {shown:?}");
    }
    if keeps_workers {
        let logs = fixture.page(&format!("{job}/logs")).await;
        let (_, lines) = logs.split_once("id=\"line-1\"").unwrap();
        assert!(lines.contains(SHOWN), "{logs}");
    }
}

/// Rejects the markup of the service in a page or a part of it.
fn check(path: &str, text: &str) {
    for markup in ["<script>alert", "<img src=x"] {
        assert!(!text.contains(markup), "{path}: {text}");
    }
}
