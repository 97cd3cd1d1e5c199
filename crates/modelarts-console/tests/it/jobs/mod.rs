//! List of jobs.

mod bulk;
mod latest;
mod list;
mod live;
mod rejected;

use std::{sync::Arc, time::Duration};

use modelarts_console::Console;
use modelarts_emulator::Emulator;
use modelarts_ext::{ClientBuilder, RetryPolicy};
use reqwest::{Response, header::SET_COOKIE, redirect::Policy};
use serde_json::Value;

/// Maximum time to the next event of a stream; more than any test takes.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A page without repeated requests to the service, and a browser that is logged in.
struct Site {
    console: Console,
    browser: reqwest::Client,
    cookie: String,
}

impl Site {
    /// Starts the page for an emulator.
    async fn of(emulator: &Emulator) -> Self {
        Self::start(ClientBuilder::from_vars(emulator.vars())).await
    }

    async fn start(client: ClientBuilder) -> Self {
        let client = client.retry(RetryPolicy::none()).build().unwrap();
        let console = Console::builder(client).interval(Duration::from_millis(10));
        let console = console.start().await.unwrap();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let browser = reqwest::Client::builder().redirect(Policy::none()).no_proxy();
        let browser = browser.build().unwrap();
        let login = browser.get(console.login_url()).send().await.unwrap();
        let cookie = login.headers()[SET_COOKIE].to_str().unwrap();
        let cookie = cookie.split_once(';').unwrap().0.to_owned();
        Self { console, browser, cookie }
    }

    async fn get(&self, path: &str) -> Response {
        let url = format!("{}{path}", self.console.url());
        let request = self.browser.get(url).header("cookie", &self.cookie);
        request.send().await.unwrap()
    }

    async fn page(&self, path: &str) -> String {
        let response = self.get(path).await;
        assert_eq!(response.status(), 200);
        response.text().await.unwrap()
    }
}

/// Returns the text of the page between two marks, which must be there.
fn between<'a>(page: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = page.split_once(start).expect(page);
    rest.split_once(end).expect(page).0
}

/// Returns the names of the jobs in the rows, in their order.
fn names(page: &str) -> Vec<&str> {
    let rows = page.split("<th role=\"rowheader\" scope=\"row\"><a href=\"/jobs/").skip(1);
    rows.map(|row| between(row, ">", "</a>")).collect()
}

/// Returns the number of rows after an event `rows`, and the names of the jobs in the rows that have
/// changed.
fn changed_rows(event: &Event) -> (usize, Vec<String>) {
    let data: Value = serde_json::from_str(&event.data).unwrap();
    let names = names(data["html"].as_str().unwrap()).into_iter().map(str::to_owned);
    (data["ids"].as_array().unwrap().len(), names.collect())
}

fn stream_address(page: &str) -> String {
    between(page, "data-stream=\"", "\"").replace("&#38;", "&")
}

/// Server-sent events of a response.
struct Events {
    response: Response,
    text: String,
}

/// A server-sent event.
#[derive(Debug, Default, PartialEq, Eq)]
struct Event {
    name: String,
    id: String,
    data: String,
}

impl Events {
    async fn open(site: &Site, address: &str) -> Self {
        let response = site.get(address).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, text: String::new() }
    }

    /// Returns the next event; `None` at the end of the stream.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let mut read = Event::default();
                for line in event.lines() {
                    let (field, value) = line.split_once(':').unwrap();
                    let value = value.strip_prefix(' ').unwrap_or(value);
                    match field {
                        "event" => value.clone_into(&mut read.name),
                        "id" => value.clone_into(&mut read.id),
                        "data" => read.data.push_str(&format!("{value}\n")),
                        _ => {}
                    }
                }
                self.text = rest.to_owned();
                if !read.name.is_empty() {
                    return Some(read);
                }
                continue;
            }
            let chunk = tokio::time::timeout(MAX_WAIT, self.response.chunk()).await;
            let chunk = chunk.expect("the next event must arrive").ok()??;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    async fn next_named(&mut self, name: &str) -> Event {
        loop {
            let event = self.next().await.expect("the stream must not end");
            if event.name == name {
                return event;
            }
        }
    }
}

/// A service that returns the result of this function for the body of each request.
async fn service(respond: impl Fn(Value) -> Value + Send + Sync + 'static) -> ClientBuilder {
    let respond = Arc::new(respond);
    let router = axum::Router::new().fallback(move |request: axum::Json<Value>| {
        let respond = Arc::clone(&respond);
        async move { axum::Json(respond(request.0)) }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let client = modelarts_ext::Client::builder().endpoint(endpoint);
    let client = client.project_id("0123456789abcdef0123456789abcdef");
    client.credentials(modelarts_ext::Credentials::token("t"))
}
