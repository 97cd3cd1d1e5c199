//! Logs of tasks: pages of their lines, and download links.

pub(crate) mod index;
pub(crate) mod lines;

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use uuid::Uuid;

use crate::{clock::timestamp::Timestamp, job::worker::Worker};

/// Number of bytes of a log that are read in one operation.
pub(crate) const LOG_CHUNK: u64 = 256 << 10;
/// Time for which a link is valid. A link requires no authentication token and no signature.
const LINK_LIFE: Duration = Duration::from_secs(5 * 60);

/// Issued links by the token in the link, with the worker and the time of issue.
#[derive(Debug, Default)]
pub(crate) struct LogLinks(Mutex<HashMap<String, (Worker, Timestamp)>>);

impl LogLinks {
    /// Creates a link to the log of a worker, and returns the token of the link.
    pub(crate) fn create(&self, worker: Worker, now: Timestamp) -> String {
        let token = Uuid::new_v4().simple().to_string();
        let mut links = self.0.lock();
        links.retain(|_, (_, made)| now.since(*made) < LINK_LIFE);
        links.insert(token.clone(), (worker, now));
        token
    }

    pub(crate) fn resolve(&self, token: &str, now: Timestamp) -> Option<Worker> {
        let links = self.0.lock();
        let (worker, made) = links.get(token)?;
        (now.since(*made) < LINK_LIFE).then(|| worker.clone())
    }
}
