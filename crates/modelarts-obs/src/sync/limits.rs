//! Limits of the transfers of one synchronization.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use bytes::Bytes;
use modelarts_ext::{Error, ErrorKind};
use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{JoinError, JoinSet},
};

use crate::sync::concurrency::Concurrency;

/// Maximum number of concurrent requests that a caller can set.
pub(super) const MAX_TRANSFERS: usize = 1_000;
/// Maximum size of the contents that all transfers together hold in memory, in bytes.
const BYTES_IN_MEMORY: u32 = 32 << 20;

/// Limits that all transfers of a synchronization share.
pub(crate) struct Limits {
    requests: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    buffers: Arc<Buffers>,
    /// Number of requests of the connection that the service throttled.
    throttled: Arc<AtomicU64>,
}

/// Permit for a share of a limit, which is released on drop.
pub(crate) struct Permit {
    /// Permit of the semaphore; `None` if the semaphore is closed.
    _permit: Option<OwnedSemaphorePermit>,
}

impl Limits {
    pub(crate) fn new(concurrency: Concurrency, throttled: Arc<AtomicU64>) -> Self {
        Self {
            throttled,
            requests: Arc::new(Semaphore::new(concurrency.most())),
            bytes: Arc::new(Semaphore::new(BYTES_IN_MEMORY as usize)),
            buffers: Arc::default(),
        }
    }

    pub(crate) fn buffers(&self) -> &Arc<Buffers> {
        &self.buffers
    }

    /// Waits until a request may be sent.
    pub(crate) async fn request(&self) -> Permit {
        let permit = Arc::clone(&self.requests).acquire_owned().await;
        Permit { _permit: permit.ok() }
    }

    /// Waits until contents of this size may be held in memory. Contents larger than the limit wait
    /// until no other contents are held.
    ///
    /// A task acquires this permit before the permit of a request, and never holds two permits of
    /// this kind, which could cause a deadlock.
    pub(crate) async fn bytes(&self, size: u64) -> Permit {
        let size = u32::try_from(size).unwrap_or(BYTES_IN_MEMORY).min(BYTES_IN_MEMORY);
        let permit = Arc::clone(&self.bytes).acquire_many_owned(size).await;
        Permit { _permit: permit.ok() }
    }

    /// Runs futures as concurrent tasks. After the first error, no further task is started. Running
    /// tasks are completed, so that the next call need not repeat their work.
    pub(crate) async fn run_all<F>(
        &self,
        mut concurrency: Concurrency,
        futures: impl IntoIterator<Item = F>,
    ) -> Result<(), Error>
    where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        let mut tasks = JoinSet::new();
        let mut result = Ok(());
        let mut throttled = self.throttled.load(Ordering::Relaxed);
        for future in futures {
            while result.is_ok() && tasks.len() >= concurrency.number() {
                if let Some(joined) = tasks.join_next().await {
                    result = flatten(joined);
                    let before = throttled;
                    throttled = self.throttled.load(Ordering::Relaxed);
                    concurrency = concurrency.after_task(Instant::now(), throttled != before);
                }
            }
            if result.is_err() {
                break;
            }
            tasks.spawn(future);
        }
        while let Some(joined) = tasks.join_next().await {
            result = result.and(flatten(joined));
        }
        result
    }
}

/// Unused buffers. They are reused, because the allocator retains much of the memory of freed large
/// buffers.
#[derive(Default)]
pub(crate) struct Buffers(Mutex<Vec<Vec<u8>>>);

/// Minimum capacity of a buffer that is reused, in bytes.
const MIN_BUFFER: usize = 1 << 20;

/// Buffer of contents. A large buffer is reused after it is dropped.
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    buffers: Arc<Buffers>,
}

impl Buffers {
    /// Returns a buffer of at least this capacity, with arbitrary length and contents.
    pub(crate) fn take(self: &Arc<Self>, capacity: usize) -> Buffer {
        let fits =
            |buffer: &Vec<u8>| (capacity..=capacity + capacity / 4).contains(&buffer.capacity());
        let mut unused = self.0.lock();
        let bytes = match unused.iter().position(fits) {
            Some(index) => unused.swap_remove(index),
            None => {
                // The unused buffers are freed, so that they do not use memory in addition to the
                // new one.
                if capacity >= MIN_BUFFER {
                    unused.clear();
                }
                Vec::with_capacity(capacity)
            }
        };
        Buffer { bytes, buffers: Arc::clone(self) }
    }
}

impl Buffer {
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    pub(crate) fn freeze(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut unused = self.buffers.0.lock();
        let total: usize = unused.iter().map(Vec::capacity).sum();
        let is_large = self.bytes.capacity() >= MIN_BUFFER;
        if is_large && total + self.bytes.capacity() <= BYTES_IN_MEMORY as usize {
            unused.push(std::mem::take(&mut self.bytes));
        }
    }
}

/// Runs a blocking function on a thread of the blocking pool of tokio.
pub(crate) async fn blocking<T: Send + 'static>(
    function: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    flatten(tokio::task::spawn_blocking(function).await)
}

/// Returns the result of a task, or an error if the task panicked or was cancelled.
pub(crate) fn flatten<T>(joined: Result<Result<T, Error>, JoinError>) -> Result<T, Error> {
    joined.unwrap_or_else(|error| {
        let message = format!("a task of the transfer ended: {error}");
        Err(Error::new(ErrorKind::Unexpected, message).with_source(error))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[tokio::test]
    async fn running_tasks_complete_after_an_error_and_no_further_ones_start() {
        let done = Arc::new(AtomicUsize::new(0));
        let task = |number: usize| {
            let done = Arc::clone(&done);
            async move {
                if number == 2 {
                    return Err(Error::new(ErrorKind::Invalid, "second"));
                }
                // The first task completes after the error of the second.
                tokio::task::yield_now().await;
                tokio::task::yield_now().await;
                done.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        };
        let limits = Limits::new(Concurrency::Fixed(2), Arc::default());
        let result = limits.run_all(Concurrency::Fixed(2), (1..100).map(task)).await;
        assert_eq!(result.unwrap_err().to_string(), "second");
        assert_eq!(done.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn buffers_of_the_same_size_are_used_again() {
        let buffers = Arc::new(Buffers::default());
        let mut first = buffers.take(MIN_BUFFER);
        first.bytes().resize(MIN_BUFFER, 1);
        let address = first.as_ref().as_ptr();
        drop(first.freeze().slice(1..2));
        let mut second = buffers.take(MIN_BUFFER);
        assert_eq!(second.bytes().as_ptr(), address);
        drop(second);
        // A buffer of another size replaces the unused one.
        drop(buffers.take(2 * MIN_BUFFER));
        drop(buffers.take(10));
        let capacities: Vec<_> = buffers.0.lock().iter().map(Vec::capacity).collect();
        assert_eq!(capacities, [2 * MIN_BUFFER]);
    }

    #[tokio::test]
    async fn contents_above_the_limit_wait_until_nothing_else_is_held() {
        let limits = Limits::new(Concurrency::default(), Arc::default());
        let all = limits.bytes(u64::MAX).await;
        let mut next = Box::pin(limits.bytes(1));
        assert!(futures::poll!(&mut next).is_pending());
        drop(all);
        assert!(futures::poll!(&mut next).is_ready());
    }
}
