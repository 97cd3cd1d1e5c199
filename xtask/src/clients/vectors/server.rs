//! Local HTTP server that computes each response by a function.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    thread,
};

use anyhow::{Context, Result};

/// Response of the server.
pub struct Reply {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Reply {
    pub fn json(body: impl ToString) -> Self {
        let kind = ("Content-Type".into(), "application/json".into());
        Self {
            status: 200,
            headers: BTreeMap::from([kind]),
            body: body.to_string(),
        }
    }
}

/// Starts a server, which computes responses from path and query until this program ends. Returns
/// its address.
pub fn serve(answer: impl Fn(&str) -> Result<Reply> + Send + 'static) -> Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let url = format!("http://{}", listener.local_addr()?);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Errors of a connection are ignored, because the check examines the output of the
            // client.
            let _ = handle(&stream, &answer);
        }
    });
    Ok(url)
}

/// Serves one request of a connection, and closes the connection.
fn handle(mut stream: &TcpStream, answer: &impl Fn(&str) -> Result<Reply>) -> Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
    }
    reader.take(length).read_to_end(&mut Vec::new())?;
    let target = line.split(' ').nth(1).context("no request line")?;
    let reply = answer(target)?;
    let mut head = format!("HTTP/1.1 {} -\r\nConnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head += &format!("{name}: {value}\r\n");
    }
    if reply.status != 204 {
        head += &format!("Content-Length: {}\r\n", reply.body.len());
    }
    write!(stream, "{head}\r\n{}", reply.body)?;
    Ok(())
}

/// Returns the project id of a path, `/v2/<project>/...`.
pub fn project(target: &str) -> &str {
    target.split('/').nth(2).unwrap_or_default()
}
