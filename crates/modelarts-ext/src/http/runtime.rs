//! Tokio runtimes: check for the current runtime, and background runtime of blocking calls.

use tokio::runtime::Handle;

use crate::error::Error;

/// Returns an error outside of a tokio runtime, where connections and timers would panic.
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

    /// Background runtime with one thread. The first blocking call starts the runtime.
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

    /// Returns a handle of the background runtime. Returns `None` if it could not be started.
    pub(crate) fn handle() -> Option<&'static Handle> {
        RUNTIME.as_ref().ok().map(Runtime::handle)
    }

    pub(crate) fn is_current() -> bool {
        let id = handle().map(Handle::id);
        Handle::try_current().is_ok_and(|current| Some(current.id()) == id)
    }
}

#[cfg(feature = "blocking")]
pub(crate) use self::background::{handle as background, is_current as is_background};

#[cfg(not(feature = "blocking"))]
pub(crate) fn is_background() -> bool {
    false
}
