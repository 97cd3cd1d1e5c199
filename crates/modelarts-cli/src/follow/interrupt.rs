//! `Interrupt`: Ctrl-C while a job continues elsewhere.

use tokio::task::JoinHandle;

/// Reception of Ctrl-C. From its creation on, Ctrl-C does not end the process.
///
/// It is created before a job, so that Ctrl-C during the request that creates the job is not lost:
/// the id of the job is printed in any case.
pub(crate) struct Interrupt {
    signal: JoinHandle<()>,
    is_received: bool,
}

impl Interrupt {
    /// Starts the reception.
    pub(crate) async fn new() -> Self {
        let signal = tokio::spawn(async {
            if let Err(error) = tokio::signal::ctrl_c().await {
                tracing::debug!(%error, "Ctrl-C ends the process");
                std::future::pending::<()>().await;
            }
        });
        // The handler is installed when the task runs for the first time.
        tokio::task::yield_now().await;
        Self {
            signal,
            is_received: false,
        }
    }

    /// Waits for Ctrl-C. Returns at once if it was received before.
    pub(crate) async fn received(&mut self) {
        if !self.is_received {
            // The task ends only after Ctrl-C.
            let _ = (&mut self.signal).await;
            self.is_received = true;
        }
    }

    /// Runs work until its end; `None` if Ctrl-C arrives before.
    pub(crate) async fn unless<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.received() => None,
            result = work => Some(result),
        }
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.signal.abort();
    }
}
