//! Barrier at which a training script waits for the test.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

pub(crate) struct ScriptBarrier(TcpListener);

/// Script that waits at the barrier. The script continues when this value is dropped.
pub(crate) struct BlockedScript(TcpStream);

impl ScriptBarrier {
    pub(crate) async fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    /// Returns a script that runs `before`, waits at the barrier, and runs `after`.
    pub(crate) fn script(&self, before: &str, after: &str) -> String {
        let port = self.0.local_addr().unwrap().port();
        format!(
            "import socket\n{before}\ns = socket.create_connection(('127.0.0.1', {port}))\n\
             s.sendall(b'x')\ns.recv(1)\n{after}\n"
        )
    }

    /// Waits until a script has reached the barrier.
    pub(crate) async fn reached(&self) -> BlockedScript {
        let reached = async {
            let (mut stream, _) = self.0.accept().await.unwrap();
            stream.read_exact(&mut [0]).await.unwrap();
            BlockedScript(stream)
        };
        // With the time limit, a test fails instead of hanging.
        tokio::time::timeout(Duration::from_secs(60), reached)
            .await
            .expect("the script has not reached the barrier")
    }
}

impl BlockedScript {
    pub(crate) async fn release(mut self) {
        self.0.write_all(b"y").await.unwrap();
    }
}
