//! A door in a training script, so that a test knows where the script is.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

pub(crate) struct Gate(TcpListener);

/// A script that stands at the gate. It goes on when this is dropped.
pub(crate) struct Waiting(TcpStream);

impl Gate {
    pub(crate) async fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    /// A script that runs `before`, waits at the gate, and runs `after`.
    pub(crate) fn script(&self, before: &str, after: &str) -> String {
        let port = self.0.local_addr().unwrap().port();
        format!(
            "import socket\n{before}\ns = socket.create_connection(('127.0.0.1', {port}))\n\
             s.sendall(b'x')\ns.recv(1)\n{after}\n"
        )
    }

    /// Waits until a script stands at the gate.
    pub(crate) async fn reached(&self) -> Waiting {
        let reached = async {
            let (mut stream, _) = self.0.accept().await.unwrap();
            stream.read_exact(&mut [0]).await.unwrap();
            Waiting(stream)
        };
        // A bound for the worst case, so that a test fails instead of hanging.
        tokio::time::timeout(Duration::from_secs(60), reached)
            .await
            .expect("the script has not come to the gate")
    }
}

impl Waiting {
    pub(crate) async fn let_through(mut self) {
        self.0.write_all(b"y").await.unwrap();
    }
}
