//! Notification of waiting tasks about changes of a job.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::sync::watch;

/// Signals by job id. Only ids with a listener have a signal.
#[derive(Debug, Default)]
pub(super) struct ChangeSignals(Mutex<HashMap<String, watch::Sender<()>>>);

/// Receiver of the signals for a job id. It receives signals sent after its creation.
#[derive(Debug)]
pub(crate) struct ChangeListener<'a> {
    signals: &'a ChangeSignals,
    id: String,
    receiver: watch::Receiver<()>,
}

impl ChangeSignals {
    pub(super) fn subscribe(&self, id: &str) -> ChangeListener<'_> {
        let mut signals = self.0.lock();
        let signal = signals.entry(id.to_owned()).or_default();
        ChangeListener { signals: self, id: id.to_owned(), receiver: signal.subscribe() }
    }

    pub(super) fn notify(&self, id: &str) {
        if let Some(signal) = self.0.lock().get(id) {
            signal.send_replace(());
        }
    }
}

impl ChangeListener<'_> {
    pub(crate) async fn changed(&mut self) {
        // The wait does not fail, because the sender lives as long as a listener.
        let _ = self.receiver.changed().await;
    }
}

impl Drop for ChangeListener<'_> {
    fn drop(&mut self) {
        let mut signals = self.signals.0.lock();
        // The count still includes this listener.
        if signals.get(&self.id).is_some_and(|signal| signal.receiver_count() <= 1) {
            signals.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_change_before_the_wait_is_noticed_and_nothing_is_left() {
        let signals = ChangeSignals::default();
        let mut first = signals.subscribe("a");
        let second = signals.subscribe("a");
        signals.notify("b");
        assert!(futures::poll!(std::pin::pin!(first.changed())).is_pending());
        signals.notify("a");
        first.changed().await;
        drop(first);
        assert_eq!(signals.0.lock().len(), 1);
        drop(second);
        assert_eq!(signals.0.lock().len(), 0);
    }
}
