//! Tokio runtimes: the check that a call runs in one, and the background runtime of blocking calls.

use tokio::runtime::Handle;

use crate::error::Error;

/// Checks that the caller runs in a tokio runtime. Connections and timers of tokio panic without
/// one.
pub(crate) fn require() -> Result<(), Error> {
    match Handle::try_current() {
        Ok(_) => Ok(()),
        Err(_) => Err(missing()),
    }
}

#[cold]
fn missing() -> Error {
    Error::config(
        "calls must run in a tokio runtime, and there is none on this thread; start one with \
         #[tokio::main], or call block(), which the feature `blocking` of modelarts-ext adds",
    )
}

#[cfg(feature = "blocking")]
mod background {
    use std::{io, sync::LazyLock};

    use tokio::runtime::{Builder, Handle, Runtime};

    /// The background runtime of the process, with one thread for connections and timers. A program
    /// that makes no blocking call does not start it.
    static RUNTIME: LazyLock<io::Result<Runtime>> = LazyLock::new(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("modelarts-blocking")
            .enable_all()
            .build();
        if let Err(error) = &runtime {
            tracing::error!(%error, "the runtime of blocking calls cannot be started");
        }
        runtime
    });

    /// Returns the background runtime, or `None` if its thread could not be started; calls then
    /// fail for lack of a runtime.
    pub(crate) fn handle() -> Option<&'static Handle> {
        RUNTIME.as_ref().ok().map(Runtime::handle)
    }

    /// Returns `true` if the caller runs in the background runtime.
    pub(crate) fn is_current() -> bool {
        let id = handle().map(Handle::id);
        Handle::try_current().is_ok_and(|current| Some(current.id()) == id)
    }
}

#[cfg(feature = "blocking")]
pub(crate) use self::background::{handle as background, is_current as is_background};

/// Returns `false`, because there is no background runtime without the feature `blocking`.
#[cfg(not(feature = "blocking"))]
pub(crate) fn is_background() -> bool {
    false
}
