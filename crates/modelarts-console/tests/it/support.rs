//! An emulator with the page, and a browser that is logged in.

use std::{net::TcpListener, time::Duration};

use modelarts_console::{Console, ConsoleBuilder};
use modelarts_emulator::{Builder, Emulator, Timing, seeds::Seeds};
use modelarts_ext::{Client, ClientBuilder};
use reqwest::{RequestBuilder, Response, header::SET_COOKIE, redirect::Policy};

/// An emulator whose jobs take no time, and the page for it.
pub(crate) struct Fixture {
    pub(crate) emulator: Emulator,
    pub(crate) console: Console,
    /// Socket of the page, which stays open during a restart.
    socket: TcpListener,
    browser: reqwest::Client,
    /// Cookie of the session, as `NAME=VALUE`.
    pub(crate) cookie: String,
    /// Value that changes of the session must contain.
    pub(crate) csrf: String,
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        Self::with(|emulator| emulator, |console| console).await
    }

    /// Starts both with other settings, and logs in.
    pub(crate) async fn with(
        emulator: impl FnOnce(Builder) -> Builder,
        console: impl FnOnce(ConsoleBuilder) -> ConsoleBuilder,
    ) -> Self {
        Self::with_client(emulator, |client| client, console).await
    }

    /// Starts both with other settings, also of the client, and logs in.
    pub(crate) async fn with_client(
        emulator: impl FnOnce(Builder) -> Builder,
        set_client: impl FnOnce(ClientBuilder) -> ClientBuilder,
        console: impl FnOnce(ConsoleBuilder) -> ConsoleBuilder,
    ) -> Self {
        let builder = Emulator::builder().timing(Timing::instant()).id_seed(1);
        let emulator = emulator(builder).start().await.unwrap();
        let client = set_client(ClientBuilder::from_vars(emulator.vars()));
        let client = client.build().unwrap();
        Self::of(emulator, console(Console::builder(client))).await
    }

    /// Starts a page with its settings, and logs in.
    pub(crate) async fn of(emulator: Emulator, console: ConsoleBuilder) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let console = console.listener(socket.try_clone().unwrap());
        let console = console.start().await.unwrap();
        let browser = browser();
        let login = browser.get(console.login_url()).send().await.unwrap();
        let cookie = login.headers()[SET_COOKIE].to_str().unwrap();
        let cookie = cookie.split_once(';').unwrap().0.to_owned();
        let mut fixture = Self { emulator, console, socket, browser, cookie, csrf: String::new() };
        let page = fixture.page("/jobs").await;
        let (_, rest) = page.split_once("csrf-token\" content=\"").unwrap();
        fixture.csrf = rest.split_once('"').unwrap().0.to_owned();
        fixture
    }

    /// Ends the server of the page, and starts another one on the same port. The browser keeps its
    /// session, so both need the same key.
    pub(crate) async fn restart(&mut self, console: impl FnOnce(ConsoleBuilder) -> ConsoleBuilder) {
        let listener = || self.socket.try_clone().unwrap();
        let builder = console(Console::builder(self.client())).listener(listener());
        let spare = Console::builder(self.client()).start().await.unwrap();
        std::mem::replace(&mut self.console, spare).shutdown().await;
        self.console = builder.start().await.unwrap();
    }

    /// Opens a stream of server-sent events after the event with this id.
    pub(crate) async fn stream(&self, path: &str, last: &str) -> Stream {
        let mut request = self.request("GET", path);
        if !last.is_empty() {
            request = request.header("last-event-id", last);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Stream { response, text: String::new() }
    }

    /// Returns a client of the emulator.
    pub(crate) fn client(&self) -> Client {
        client(&self.emulator)
    }

    /// Returns the cookie of the session, and the value that changes must contain.
    pub(crate) fn credentials(&self) -> (&str, &str) {
        (&self.cookie, &self.csrf)
    }

    /// Adds jobs. Returns their ids.
    pub(crate) async fn seed(&self, jobs: serde_json::Value) -> Vec<String> {
        let seeds = Seeds::from_json(&serde_json::json!({ "jobs": jobs }).to_string()).unwrap();
        self.emulator.seed(&seeds).await.unwrap()
    }

    /// Returns a request without a session.
    pub(crate) fn stranger(&self, method: &str, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.console.url());
        self.browser.request(method.parse().unwrap(), url)
    }

    /// Returns a request of the user.
    pub(crate) fn request(&self, method: &str, path: &str) -> RequestBuilder {
        self.stranger(method, path).header("cookie", &self.cookie)
    }

    /// Reads a page, which must exist.
    pub(crate) async fn page(&self, path: &str) -> String {
        let response = self.request("GET", path).send().await.unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        assert_eq!(status, 200, "{text}");
        text
    }

    /// Sends a change as a script of the page does.
    pub(crate) async fn change(&self, path: &str, body: impl Into<reqwest::Body>) -> Response {
        let request = self.request("POST", path).header("x-csrf-token", &self.csrf);
        request.body(body).send().await.unwrap()
    }

    /// Sends a form, as a browser without scripts does.
    pub(crate) async fn form(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("csrf", &self.csrf).extend_pairs(fields);
        let request = self.request("POST", path);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        request.body(form.finish()).send().await.unwrap()
    }
}

/// Returns an HTTP client that follows no redirects.
pub(crate) fn browser() -> reqwest::Client {
    // The client needs a provider, although no test uses TLS.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder().redirect(Policy::none());
    builder.no_proxy().build().unwrap()
}

pub(crate) fn client(emulator: &Emulator) -> Client {
    ClientBuilder::from_vars(emulator.vars()).build().unwrap()
}

/// Maximum time for the next event of a stream. With it, a test fails instead of hanging.
const LIMIT: Duration = Duration::from_secs(60);

/// Stream of server-sent events.
pub(crate) struct Stream {
    response: Response,
    text: String,
}

/// Server-sent event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) event: String,
    pub(crate) id: String,
    pub(crate) data: String,
}

impl Stream {
    /// Returns the next event; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let message = Message::parse(block);
                self.text = rest.to_owned();
                // A comment keeps the connection alive.
                if !message.event.is_empty() {
                    return Some(message);
                }
                continue;
            }
            let chunk = tokio::time::timeout(LIMIT, self.response.chunk()).await;
            let chunk = chunk.expect("no event arrived").ok().flatten()?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// Reads to the end of the stream. Returns the number of events.
    pub(crate) async fn until_end(&mut self) -> usize {
        let mut events = 0;
        while self.next().await.is_some() {
            events += 1;
        }
        events
    }

    /// Returns the next event with this name.
    pub(crate) async fn until(&mut self, event: &str) -> Message {
        loop {
            let message = self.next().await.expect("the stream has ended");
            if message.event == event {
                return message;
            }
        }
    }
}

impl Message {
    fn parse(block: &str) -> Self {
        let mut message = Self::default();
        let mut data = Vec::new();
        for line in block.lines() {
            let (field, value) = line.split_once(": ").unwrap_or((line, ""));
            match field {
                "event" => value.clone_into(&mut message.event),
                "id" => value.clone_into(&mut message.id),
                "data" => data.push(value),
                _ => {}
            }
        }
        message.data = data.join("\n");
        message
    }
}
