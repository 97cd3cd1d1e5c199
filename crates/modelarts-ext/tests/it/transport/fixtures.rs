//! Fixtures: responses, and access to request headers.

use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::support::server::{Reply, json_answer};

pub(super) const JOB: &str =
    r#"{"kind":"job","metadata":{"id":"j","name":"n"},"status":{"phase":"Running"}}"#;

pub(super) fn job() -> Reply {
    json_answer("200 OK", "", JOB)
}

pub(super) fn unavailable() -> Reply {
    json_answer("503 Service Unavailable", "", "{}")
}

/// Returns the value of a header in a request, by its lower-case name.
pub(super) fn header<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    let (head, _) = request.split_once("\r\n\r\n").unwrap();
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(": ")?;
        found.eq_ignore_ascii_case(name).then_some(value)
    })
}

/// Sends a response that leaves the connection open.
pub(super) async fn keep_alive(stream: &mut TcpStream, status: &str, body: &str) {
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await.unwrap();
}
