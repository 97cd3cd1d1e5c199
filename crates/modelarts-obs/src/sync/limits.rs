//! Limits of the transfers of one synchronization.

use std::sync::Arc;

use bytes::Bytes;
use modelarts_ext::{Error, ErrorKind};
use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{JoinError, JoinSet},
};

/// The contents that all transfers hold in memory, in bytes.
const IN_FLIGHT: u32 = 32 << 20;

/// Limits that all transfers of a synchronization share.
pub(crate) struct Limits {
    requests: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    buffers: Arc<Buffers>,
}

/// A share of a limit, until it is dropped.
pub(crate) struct Permit {
    /// `None` if the limit does not exist any more.
    _permit: Option<OwnedSemaphorePermit>,
}

impl Limits {
    pub(crate) fn new(transfers: usize) -> Self {
        Self {
            requests: Arc::new(Semaphore::new(transfers)),
            bytes: Arc::new(Semaphore::new(IN_FLIGHT as usize)),
            buffers: Arc::default(),
        }
    }

    /// Returns the buffers of the transfers.
    pub(crate) fn buffers(&self) -> &Arc<Buffers> {
        &self.buffers
    }

    /// Waits until a request may be sent.
    pub(crate) async fn request(&self) -> Permit {
        let permit = Arc::clone(&self.requests).acquire_owned().await;
        Permit {
            _permit: permit.ok(),
        }
    }

    /// Waits until contents of this size may be held in memory. Contents above the limit wait until
    /// nothing else is held.
    ///
    /// A task acquires this permit before that of a request, and never two of them.
    pub(crate) async fn bytes(&self, size: u64) -> Permit {
        let size = u32::try_from(size).unwrap_or(IN_FLIGHT).min(IN_FLIGHT);
        let permit = Arc::clone(&self.bytes).acquire_many_owned(size).await;
        Permit {
            _permit: permit.ok(),
        }
    }
}

/// Buffers that are not in use. They are used again, because the allocator keeps much of the memory
/// of large buffers that were freed.
#[derive(Default)]
pub(crate) struct Buffers(Mutex<Vec<Vec<u8>>>);

/// Size from which buffers are used again, in bytes.
const MIN_BUFFER: usize = 1 << 20;

/// A buffer, which returns to the others when it is dropped.
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    buffers: Arc<Buffers>,
}

impl Buffers {
    /// Returns a buffer of this capacity. Its contents are of any length.
    pub(crate) fn take(self: &Arc<Self>, capacity: usize) -> Buffer {
        let fits =
            |buffer: &Vec<u8>| (capacity..=capacity + capacity / 4).contains(&buffer.capacity());
        let mut unused = self.0.lock();
        let bytes = match unused.iter().position(fits) {
            Some(index) => unused.swap_remove(index),
            None => {
                // Unused buffers and the new one must not add up.
                if capacity >= MIN_BUFFER {
                    unused.clear();
                }
                Vec::with_capacity(capacity)
            }
        };
        Buffer {
            bytes,
            buffers: Arc::clone(self),
        }
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
        if is_large && total + self.bytes.capacity() <= IN_FLIGHT as usize {
            unused.push(std::mem::take(&mut self.bytes));
        }
    }
}

/// Runs futures as tasks, up to `limit` at once. After the first error no further one is started,
/// but those that run are completed, so that their work is not lost.
pub(crate) async fn run_all<F>(
    limit: usize,
    futures: impl IntoIterator<Item = F>,
) -> Result<(), Error>
where
    F: Future<Output = Result<(), Error>> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    let mut result = Ok(());
    for future in futures {
        while result.is_ok() && tasks.len() >= limit {
            if let Some(joined) = tasks.join_next().await {
                result = flatten(joined);
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

/// Calls a function that blocks.
pub(crate) async fn blocking<T: Send + 'static>(
    function: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    flatten(tokio::task::spawn_blocking(function).await)
}

/// Returns the result of a task.
pub(crate) fn flatten<T>(joined: Result<Result<T, Error>, JoinError>) -> Result<T, Error> {
    joined.unwrap_or_else(|error| {
        let message = format!("a task of the transfer ended: {error}");
        Err(Error::new(ErrorKind::Unexpected, message).with_source(error))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

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
                // Both tasks of the first round end after the error.
                tokio::task::yield_now().await;
                tokio::task::yield_now().await;
                done.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        };
        let result = run_all(2, (1..100).map(task)).await;
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
        let limits = Limits::new(16);
        let all = limits.bytes(u64::MAX).await;
        let mut next = Box::pin(limits.bytes(1));
        assert!(futures::poll!(&mut next).is_pending());
        drop(all);
        assert!(futures::poll!(&mut next).is_ready());
    }
}
