//! Blocking calls, for programs without async.
//!
//! Requires the feature `blocking`. [`BlockingExt`] adds two methods to every future and stream:
//! [`block`](BlockingExt::block) returns the result of a call or a wait, and
//! [`blocking_iter`](BlockingExt::blocking_iter) converts a stream into an iterator.
//!
//! ```toml
//! [dependencies]
//! modelarts-ext = { version = "0.1", features = ["blocking"] }
//! ```
//!
//! # Submit a job, follow its log, and wait for it
//!
//! This program runs without a cloud account, because it starts the emulator of the crate
//! [modelarts-emulator](https://docs.rs/modelarts-emulator), which is an additional dependency.
//!
//! ```
//! use modelarts_emulator::Emulator;
//! use modelarts_ext::{ClientBuilder, blocking::BlockingExt};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // On the service: let client = Client::from_env()?; the script is in a bucket of OBS.
//!     let emulator = Emulator::builder()
//! #       .timing(modelarts_emulator::Timing::instant())
//!         .start()
//!         .block()?;
//!     emulator.put("bucket/code/train.py", "print('hello')\n")?;
//!     let client = ClientBuilder::from_vars(emulator.vars()).build()?;
//!
//!     let job = client
//!         .training_jobs()
//!         .create("submit")
//!         .preset_image("PyTorch", "pytorch_1.8.0")
//!         .code_dir("obs://bucket/code/")
//!         .boot_file("obs://bucket/code/train.py")
//!         .flavor("modelarts.vm.cpu.2u")
//!         .submit()
//!         .block()?;
//!     for item in job.logs("worker-0").follow().blocking_iter() {
//!         println!("{:?}", item?);
//!     }
//!     let end = job.wait().block()?;
//!     println!("{} ended: {:?}", job.name(), end.outcome());
//! #   assert!(end.is_completed());
//!     emulator.shutdown().block();
//!     Ok(())
//! }
//! ```
//!
//! # Threads and runtimes
//!
//! A future is polled on the calling thread, so it may borrow, and need not be `Send`. Connections
//! and timers belong to a background runtime with one thread, `modelarts-blocking`, which all
//! blocking calls share. Clones of one client can be used in several threads.
//!
//! Blocking calls also work in async code, where they block the thread of the task. Do not block
//! the only thread of a runtime if the call depends on another task of it, such as an emulator that
//! the same `#[tokio::test]` has started.
//!
//! Blocking calls and async calls of one client use separate connections, unless the client has a
//! custom [connector](crate::connector).

use std::{
    fmt,
    future::IntoFuture,
    iter::FusedIterator,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::Duration,
};

use futures::{Stream, StreamExt};
use tokio::{
    runtime::{EnterGuard, Handle},
    task::{unconstrained, yield_now},
};

use crate::http::runtime;

/// Pause before a future is polled again, if deferred wakers cannot be detected.
const REPOLL_PAUSE: Duration = Duration::from_millis(20);

/// Methods that block the calling thread. See the [module](self).
pub trait BlockingExt: Sized {
    /// Runs a future to completion, and returns its output.
    ///
    /// ```no_run
    /// # fn example(client: modelarts_ext::Client) -> Result<(), modelarts_ext::Error> {
    /// use modelarts_ext::blocking::BlockingExt;
    ///
    /// let project = client.project_id();
    /// let call = client.call(|api| api.show_training_quotas().project_id(project).send());
    /// let quotas = call.block()?;
    /// println!("request {:?}", quotas.call().request_id());
    /// # Ok(()) }
    /// ```
    fn block(self) -> Self::Output
    where
        Self: IntoFuture,
    {
        run(|| self.into_future())
    }

    /// Converts a stream into an iterator, which waits for each item and ends with the stream.
    ///
    /// Dropping the iterator drops the stream, and with it the requests in progress.
    fn blocking_iter(self) -> BlockingIter<Self>
    where
        Self: Stream,
    {
        BlockingIter { stream: Some(Box::pin(self)) }
    }
}

impl<T> BlockingExt for T {}

/// Iterator over the items of a stream; see [`BlockingExt::blocking_iter`].
#[must_use = "an iterator does nothing unless it is read"]
pub struct BlockingIter<S> {
    stream: Option<Pin<Box<S>>>,
}

impl<S> fmt::Debug for BlockingIter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingIter").finish_non_exhaustive()
    }
}

impl<S: Stream> Iterator for BlockingIter<S> {
    type Item = S::Item;

    fn next(&mut self) -> Option<S::Item> {
        let stream = self.stream.as_mut()?;
        let item = run(|| stream.next());
        if item.is_none() {
            self.close();
        }
        item
    }
}

impl<S: Stream> FusedIterator for BlockingIter<S> {}

impl<S> BlockingIter<S> {
    fn close(&mut self) {
        // A connection that returns to its pool needs the runtime.
        let _context = enter();
        self.stream = None;
    }
}

impl<S> Drop for BlockingIter<S> {
    fn drop(&mut self) {
        self.close();
    }
}

/// Enters the background runtime, also inside another. Returns `None` if it could not be started.
fn enter() -> Option<EnterGuard<'static>> {
    runtime::background().map(Handle::enter)
}

/// Runs a future without an executor, because a nested `block_on` of tokio or of futures panics.
fn run<F: Future>(start: impl FnOnce() -> F) -> F::Output {
    let _context = enter();
    // The cooperative budget of an enclosing tokio task is not reset while this thread blocks.
    let mut future = pin!(unconstrained(start()));
    let wake_up = Arc::new(WakeUp { thread: thread::current(), is_due: AtomicBool::new(false) });
    let waker = Waker::from(Arc::clone(&wake_up));
    let mut context = Context::from_waker(&waker);
    let kept_wakers = KeptWakers::new();
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        if kept_wakers.have_grown() {
            continue;
        }
        while !wake_up.is_due.swap(false, Ordering::Acquire) {
            if kept_wakers.are_detectable {
                thread::park();
            } else {
                thread::park_timeout(REPOLL_PAUSE);
                break;
            }
        }
    }
}

/// Waker of a blocked thread. Stores `is_due`, because the future may consume the `park` token.
struct WakeUp {
    thread: Thread,
    is_due: AtomicBool,
}

impl Wake for WakeUp {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_due.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Detects wakers that the tokio runtime of this thread defers, such as that of `yield_now`.
struct KeptWakers {
    marker: Arc<Marker>,
    waker: Waker,
    /// `true` if the runtime wakes the marker at once, or defers it as `have_grown` expects.
    are_detectable: bool,
}

impl KeptWakers {
    fn new() -> Self {
        let marker = Arc::<Marker>::default();
        let waker = Waker::from(Arc::clone(&marker));
        let mut wakers = Self { marker, waker, are_detectable: false };
        let is_added = wakers.have_grown();
        // Outside of a runtime, the marker is woken at once, as are all other wakers.
        let are_woken = wakers.marker.is_woken.load(Ordering::Acquire);
        wakers.are_detectable = are_woken || is_added && !wakers.have_grown();
        wakers
    }

    /// Defers the marker. Returns `true` if the marker was not already the last deferred waker.
    fn have_grown(&self) -> bool {
        let before = Arc::strong_count(&self.marker);
        let mut context = Context::from_waker(&self.waker);
        let _ = pin!(yield_now()).poll(&mut context);
        Arc::strong_count(&self.marker) > before
    }
}

#[derive(Default)]
struct Marker {
    is_woken: AtomicBool,
}

impl Wake for Marker {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
    }
}
