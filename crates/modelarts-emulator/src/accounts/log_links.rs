//! Links to logs, for whoever has them, for five minutes.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use uuid::Uuid;

use crate::{clock::timestamp::Timestamp, job::worker::Worker};

const LIFE: Duration = Duration::from_secs(5 * 60);

/// All links that were given out.
#[derive(Debug, Default)]
pub(crate) struct LogLinks(Mutex<HashMap<String, (Worker, Timestamp)>>);

impl LogLinks {
    /// A new link to the log of a worker.
    pub(crate) fn make(&self, worker: Worker, now: Timestamp) -> String {
        let token = Uuid::new_v4().simple().to_string();
        let mut links = self.0.lock();
        links.retain(|_, (_, made)| now.since(*made) < LIFE);
        links.insert(token.clone(), (worker, now));
        token
    }

    /// What a link leads to, if it still leads anywhere.
    pub(crate) fn follow(&self, token: &str, now: Timestamp) -> Option<Worker> {
        let links = self.0.lock();
        let (worker, made) = links.get(token)?;
        (now.since(*made) < LIFE).then(|| worker.clone())
    }
}
