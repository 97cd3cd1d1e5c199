//! Detection of the moment when all tasks are idle, at which a manual clock may advance. Processes
//! and other threads run in real time, so a task that waits for them counts as idle.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures::task::AtomicWaker;
use tokio::sync::Notify;

#[derive(Clone, Debug, Default)]
pub(crate) struct IdleTracker(Arc<BusyCount>);

#[derive(Debug, Default)]
struct BusyCount {
    count: AtomicUsize,
    none: Notify,
}

impl BusyCount {
    fn increment(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    fn decrement(&self) {
        if self.count.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.none.notify_waiters();
        }
    }
}

impl IdleTracker {
    /// Tracks a future, which counts as busy until it first waits.
    pub(crate) fn watch<F: Future<Output = ()> + Send>(&self, work: F) -> WatchedTask<F> {
        self.0.increment();
        let task_waker = Arc::new(TaskWaker {
            busy: Arc::clone(&self.0),
            state: AtomicU8::new(RUNNABLE),
            task: AtomicWaker::new(),
        });
        WatchedTask {
            waker: Waker::from(Arc::clone(&task_waker)),
            task_waker,
            work: Box::pin(work),
        }
    }

    pub(crate) async fn wait_until_idle(&self) {
        loop {
            let notified = self.0.none.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if self.0.count.load(Ordering::SeqCst) == 0 {
                return;
            }
            notified.await;
        }
    }
}

/// State of a task that was polled and has not been woken since.
const WAITING: u8 = 0;
/// State of a task that was woken and has not been polled yet. Such a task counts as busy.
const RUNNABLE: u8 = 1;
/// State of a task that has finished or was dropped. Such a task ignores further wake-ups.
const DONE: u8 = 2;

struct TaskWaker {
    busy: Arc<BusyCount>,
    state: AtomicU8,
    /// Waker of the task that polls the future.
    task: AtomicWaker,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The count is incremented before the state changes, so that the count is never too low.
        self.busy.increment();
        let woken =
            self.state.compare_exchange(WAITING, RUNNABLE, Ordering::SeqCst, Ordering::SeqCst);
        if woken.is_err() {
            self.busy.decrement();
        }
        self.task.wake();
    }
}

pub(crate) struct WatchedTask<F> {
    task_waker: Arc<TaskWaker>,
    waker: Waker,
    work: Pin<Box<F>>,
}

impl<F: Future<Output = ()>> Future for WatchedTask<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.task_waker.task.register(context.waker());
        if this.task_waker.state.swap(WAITING, Ordering::SeqCst) != RUNNABLE {
            // The runtime may poll a task without a wake-up.
            this.task_waker.busy.increment();
        }
        let polled = this.work.as_mut().poll(&mut Context::from_waker(&this.waker));
        if polled.is_ready() {
            this.task_waker.end();
        }
        this.task_waker.busy.decrement();
        polled
    }
}

impl TaskWaker {
    fn end(&self) {
        if self.state.swap(DONE, Ordering::SeqCst) == RUNNABLE {
            self.busy.decrement();
        }
    }
}

impl<F> Drop for WatchedTask<F> {
    fn drop(&mut self) {
        self.task_waker.end();
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use futures::FutureExt;
    use tokio::sync::oneshot;

    use super::*;
    use crate::clock::{Clock, ManualClock};

    #[tokio::test]
    async fn work_is_busy_until_it_waits_and_again_when_it_is_woken() {
        let idle = IdleTracker::default();
        idle.wait_until_idle().await;
        let clock = ManualClock::at(UNIX_EPOCH);
        let (sleep, next) =
            (clock.sleep(Duration::from_secs(1)), clock.sleep(Duration::from_secs(9)));
        let work = idle.watch(async {
            sleep.await;
            next.await;
        });
        assert!(idle.wait_until_idle().now_or_never().is_none());
        let work = tokio::spawn(work);
        idle.wait_until_idle().await;
        clock.advance(Duration::from_secs(1));
        // The task has been woken, but not polled yet.
        assert!(idle.wait_until_idle().now_or_never().is_none());
        idle.wait_until_idle().await;
        assert_eq!(clock.sleepers(), 1);
        clock.advance(Duration::from_secs(9));
        work.await.unwrap();
        idle.wait_until_idle().await;
    }

    #[tokio::test]
    async fn work_that_is_dropped_is_no_longer_busy_and_cannot_be_woken() {
        let idle = IdleTracker::default();
        let (send, receive) = oneshot::channel::<()>();
        drop(idle.watch(async {}));
        idle.wait_until_idle().await;
        let mut kept = None;
        let mut receive = Box::pin(receive);
        let work = idle.watch(std::future::poll_fn(|context| {
            kept = Some(context.waker().clone());
            receive.as_mut().poll(context).map(|_| ())
        }));
        let mut work = Box::pin(work);
        assert!(futures::poll!(work.as_mut()).is_pending());
        drop(work);
        kept.unwrap().wake();
        idle.wait_until_idle().await;
        drop(send);
    }
}
