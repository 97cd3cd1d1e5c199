//! A server that answers every request with the same job, in a process of its own
//! so that its time is not counted.

use std::{
    convert::Infallible,
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// A job as the details operation answers it, with the parts that most jobs have.
pub const JOB: &str = include_str!("job.json");

/// Serves until the process is ended.
#[tokio::main(flavor = "current_thread")]
pub async fn run() -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("http://{}", listener.local_addr()?);
    std::io::stdout().flush()?;
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        tokio::spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(socket), service_fn(answer));
            // A client that goes away is no matter here.
            let _ = connection.await;
        });
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let _ = request.into_body().collect().await;
    let mut response = Response::new(Full::new(Bytes::from_static(JOB.as_bytes())));
    let headers = response.headers_mut();
    headers.insert(
        "content-type",
        hyper::header::HeaderValue::from_static("application/json"),
    );
    headers.insert(
        "x-request-id",
        hyper::header::HeaderValue::from_static("bench"),
    );
    Ok(response)
}

/// A running server; dropping it ends it.
pub struct Server {
    child: Child,
    pub url: String,
}

impl Server {
    pub fn start() -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("serve")
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().context("the server has no output")?;
        let mut url = String::new();
        BufReader::new(out).read_line(&mut url)?;
        let url = url.trim().to_owned();
        Ok(Self { child, url })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
