//! Scripted server that sends one response per connection.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use modelarts_ext::{Client, ClientBuilder, Credentials};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use super::clock::TestClock;

/// Text in replies that stands for the random token in the first request. Both have 32 characters.
pub(crate) const TOKEN_OF_FIRST: &str = "<the token in the first request>";

/// Project id of all clients of a [`Server`].
pub(crate) const PROJECT: &str = "0123456789abcdef0123456789abcdef";

#[derive(Clone)]
pub(crate) enum Reply {
    /// Sends these bytes and closes the connection.
    Bytes(Vec<u8>),
    /// Sends these bytes and resets the connection.
    Reset(Vec<u8>),
    /// Sends these bytes, and nothing more while the clock advances by an hour.
    HangAnHour(Vec<u8>, TestClock),
}

pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
    replies: Arc<Mutex<VecDeque<Reply>>>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let replies = Arc::new(Mutex::new(replies.into_iter().collect::<VecDeque<_>>()));
        let (seen, script) = (Arc::clone(&requests), Arc::clone(&replies));
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(answer(stream, Arc::clone(&seen), Arc::clone(&script)));
            }
        });
        Self { url, requests, replies, task }
    }

    /// Returns a client builder that is configured for this server.
    pub(crate) fn client(&self, clock: &TestClock) -> ClientBuilder {
        Client::builder()
            .endpoint(&self.url)
            .project_id(PROJECT)
            .credentials(Credentials::keys("AK", "SK"))
            .clock(clock.clone())
            .timeout(Duration::from_secs(3600))
    }

    /// Returns the requests received so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// Adds responses to the script.
    pub(crate) fn add(&self, replies: impl IntoIterator<Item = Reply>) {
        self.replies.lock().unwrap().extend(replies);
    }

    /// Returns the number of unused responses in the script.
    pub(crate) fn left(&self) -> usize {
        self.replies.lock().unwrap().len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Returns a complete response with a JSON body.
pub(crate) fn json_answer(status: &str, headers: &str, body: &str) -> Reply {
    Reply::Bytes(
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             connection: close\r\n{headers}\r\n{body}",
            body.len()
        )
        .into_bytes(),
    )
}

/// Returns the error message of the operating system for a connection that was reset.
pub(crate) async fn words_for_a_reset() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    stream.set_zero_linger().unwrap();
    drop(stream);
    client.read(&mut [0]).await.unwrap_err().to_string()
}

async fn answer(
    mut stream: TcpStream,
    seen: Arc<Mutex<Vec<String>>>,
    script: Arc<Mutex<VecDeque<Reply>>>,
) {
    let Some(request) = read_request(&mut stream).await else {
        return;
    };
    seen.lock().unwrap().push(request);
    let reply = script.lock().unwrap().pop_front();
    let reply = reply.unwrap_or_else(|| {
        json_answer("418 Not in the script", "", r#"{"error_msg":"not in the script"}"#)
    });
    // Clients may stop reading at any time, so errors are ignored.
    match reply {
        Reply::Bytes(mut bytes) => {
            let first = seen.lock().unwrap()[0].clone();
            if let Some((_, rest)) = first.split_once(r#""MODELARTS_SUBMISSION_TOKEN":""#) {
                let text = String::from_utf8_lossy(&bytes).replace(TOKEN_OF_FIRST, &rest[..32]);
                bytes = text.into_bytes();
            }
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
            // The client must close the connection first; otherwise the end would become a reset.
            let _ = stream.read(&mut [0]).await;
        }
        Reply::Reset(bytes) => {
            let _ = stream.write_all(&bytes).await;
            stream.set_zero_linger().unwrap();
        }
        Reply::HangAnHour(bytes, clock) => {
            let _ = stream.write_all(&bytes).await;
            clock.advance(Duration::from_secs(3600));
            let _ = stream.read(&mut [0]).await;
        }
    }
}

/// Reads the head of a request, and a body of the length that the head states.
pub(crate) async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    name.eq_ignore_ascii_case("content-length")
                        .then(|| value.trim().parse().unwrap())
                })
                .unwrap_or(0);
            if body.len() >= length {
                return Some(text.into_owned());
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
