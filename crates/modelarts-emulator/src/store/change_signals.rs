//! One bell for each job that somebody waits for. It rings when the job changes.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::sync::watch;

/// The bells, by id. There are as many as there are ids that are waited for.
#[derive(Debug, Default)]
pub(crate) struct ChangeSignals(Mutex<HashMap<String, watch::Sender<()>>>);

/// Hears the bell of one id, from the moment it was made.
#[derive(Debug)]
pub(crate) struct Listener<'a> {
    bells: &'a ChangeSignals,
    id: String,
    receiver: watch::Receiver<()>,
}

impl ChangeSignals {
    pub(crate) fn listen(&self, id: &str) -> Listener<'_> {
        let mut bells = self.0.lock();
        let bell = bells.entry(id.to_owned()).or_default();
        Listener {
            bells: self,
            id: id.to_owned(),
            receiver: bell.subscribe(),
        }
    }

    pub(crate) fn notify(&self, id: &str) {
        if let Some(bell) = self.0.lock().get(id) {
            bell.send_replace(());
        }
    }
}

impl Listener<'_> {
    /// Waits until the bell has changed since the last time.
    pub(crate) async fn changed(&mut self) {
        // The sender stays as long as somebody listens.
        let _ = self.receiver.changed().await;
    }
}

impl Drop for Listener<'_> {
    fn drop(&mut self) {
        let mut bells = self.bells.0.lock();
        // This one is still counted.
        if bells
            .get(&self.id)
            .is_some_and(|bell| bell.receiver_count() <= 1)
        {
            bells.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_ring_before_the_wait_is_heard_and_nothing_is_left() {
        let bells = ChangeSignals::default();
        let mut first = bells.listen("a");
        let second = bells.listen("a");
        bells.notify("b");
        assert!(futures::poll!(std::pin::pin!(first.changed())).is_pending());
        bells.notify("a");
        first.changed().await;
        drop(first);
        assert_eq!(bells.0.lock().len(), 1);
        drop(second);
        assert_eq!(bells.0.lock().len(), 0);
    }
}
