//! `Pool`: pollers that run while pages show their state.

use std::{collections::HashMap, ops::Deref, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::watch, task::AbortHandle};

/// Pollers by key. All pages that show the same state share one poller, which ends some time after
/// the last page was closed.
pub(crate) struct Pool<W> {
    linger: Duration,
    entries: Arc<Mutex<Entries<W>>>,
}

type Entries<W> = HashMap<String, (Arc<Entry<W>>, AbortHandle)>;

struct Entry<W> {
    watch: Arc<W>,
    /// Number of pages that show the state.
    viewers: watch::Sender<usize>,
}

/// Viewer of a state. The pool does not end the poller as idle before this value is dropped.
pub(crate) struct Viewer<W>(Arc<Entry<W>>);

impl<W: Send + Sync + 'static> Pool<W> {
    /// Creates an empty pool. A poller ends `linger` after its last viewer has left.
    pub(crate) fn new(linger: Duration) -> Self {
        Self { linger, entries: Arc::default() }
    }

    /// Returns a viewer of the poller with this key. If no such poller runs, creates the state and
    /// starts the poller.
    pub(crate) fn view<F>(
        &self,
        key: &str,
        make: impl FnOnce() -> W,
        poll: impl FnOnce(Arc<W>) -> F,
    ) -> Viewer<W>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut entries = self.entries.lock();
        if let Some((entry, _)) = entries.get(key) {
            return Viewer::new(entry);
        }
        let entry = Arc::new(Entry { watch: Arc::new(make()), viewers: watch::Sender::new(0) });
        let viewer = Viewer::new(&entry);
        let polls = poll(Arc::clone(&entry.watch));
        let idle = remove_when_idle(
            Arc::clone(&self.entries),
            key.to_owned(),
            Arc::clone(&entry),
            self.linger,
        );
        let task = tokio::spawn(async move {
            tokio::pin!(idle);
            tokio::select! {
                () = polls => idle.await,
                () = &mut idle => {}
            }
        });
        entries.insert(key.to_owned(), (entry, task.abort_handle()));
        viewer
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.entries.lock().len()
    }

    pub(crate) fn close(&self) {
        for (_, (_, task)) in self.entries.lock().drain() {
            task.abort();
        }
    }
}

/// Waits until a poller has had no viewers for `linger`, and removes the poller.
async fn remove_when_idle<W>(
    entries: Arc<Mutex<Entries<W>>>,
    key: String,
    entry: Arc<Entry<W>>,
    linger: Duration,
) {
    let mut viewers = entry.viewers.subscribe();
    while viewers.wait_for(|viewers| *viewers == 0).await.is_ok() {
        tokio::select! {
            _ = viewers.changed() => {}
            () = tokio::time::sleep(linger) => {
                let mut entries = entries.lock();
                // New viewers are counted only while the entries are locked.
                if *entry.viewers.borrow() == 0 {
                    entries.remove(&key);
                    return;
                }
            }
        }
    }
}

impl<W> Viewer<W> {
    fn new(entry: &Arc<Entry<W>>) -> Self {
        entry.viewers.send_modify(|viewers| *viewers += 1);
        Self(Arc::clone(entry))
    }
}

impl<W> Drop for Viewer<W> {
    fn drop(&mut self) {
        self.0.viewers.send_modify(|viewers| *viewers -= 1);
    }
}

impl<W> Deref for Viewer<W> {
    type Target = W;

    fn deref(&self) -> &W {
        &self.0.watch
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Returns a viewer of a poller that counts its starts and never ends by itself.
    fn view(pool: &Pool<&'static str>, starts: &Arc<AtomicUsize>) -> Viewer<&'static str> {
        let starts = Arc::clone(starts);
        let poll = |_| async move {
            starts.fetch_add(1, Ordering::Relaxed);
            std::future::pending::<()>().await;
        };
        pool.view("key", || "state", poll)
    }

    #[tokio::test(start_paused = true)]
    async fn all_viewers_share_a_poller_that_ends_after_the_last_of_them() {
        let pool = Pool::new(Duration::from_secs(30));
        let starts = Arc::new(AtomicUsize::new(0));
        let (first, second) = (view(&pool, &starts), view(&pool, &starts));
        assert_eq!((*first, *second), ("state", "state"));
        drop(first);
        tokio::time::advance(Duration::from_secs(60)).await;
        tokio::task::yield_now().await;
        assert_eq!((pool.len(), starts.load(Ordering::Relaxed)), (1, 1));

        drop(second);
        tokio::task::yield_now().await;
        tokio::time::advance(Duration::from_secs(29)).await;
        tokio::task::yield_now().await;
        // A page that is loaded again within the time keeps the poller.
        drop(view(&pool, &starts));
        tokio::task::yield_now().await;
        tokio::time::advance(Duration::from_secs(29)).await;
        tokio::task::yield_now().await;
        assert_eq!((pool.len(), starts.load(Ordering::Relaxed)), (1, 1));
        tokio::time::advance(Duration::from_secs(2)).await;
        tokio::task::yield_now().await;
        assert_eq!(pool.len(), 0);

        let _third = view(&pool, &starts);
        tokio::task::yield_now().await;
        assert_eq!((pool.len(), starts.load(Ordering::Relaxed)), (1, 2));
    }

    #[tokio::test]
    async fn a_closed_pool_ends_its_pollers() {
        let pool = Pool::new(Duration::from_secs(30));
        let state = Arc::new(());
        let held = Arc::clone(&state);
        let poll = |_| async move {
            let _held = held;
            std::future::pending::<()>().await;
        };
        let viewer = pool.view("key", || "state", poll);
        tokio::task::yield_now().await;
        pool.close();
        drop(viewer);
        while Arc::strong_count(&state) > 1 {
            tokio::task::yield_now().await;
        }
        assert_eq!(pool.len(), 0);
    }
}
