//! Waits for futures without the GIL, which a signal ends.

use std::{future::Future, sync::OnceLock, time::Duration};

use modelarts_ext::{Error, blocking::BlockingExt};
use pyo3::{Bound, PyAny, PyResult, Python, exceptions::PyRuntimeError};

use crate::errors::to_exception;

/// Time until a wait runs the signal handlers of Python, such as that of Ctrl-C.
const SIGNAL_CHECK: Duration = Duration::from_millis(100);

/// Waits for a call of the SDK, and raises its error.
pub(crate) fn call<T: Send>(
    py: Python<'_>,
    future: impl Future<Output = Result<T, Error>> + Send,
) -> PyResult<T> {
    wait(py, future)?.map_err(|error| to_exception(py, &error))
}

/// Waits for a future. An exception of a signal handler drops the future, and is raised.
pub(crate) fn wait<F: Future<Output: Send> + Send>(
    py: Python<'_>,
    future: F,
) -> PyResult<F::Output> {
    require_same_process()?;
    let mut future = Box::pin(future);
    loop {
        let slice = async { tokio::time::timeout(SIGNAL_CHECK, future.as_mut()).await };
        if let Ok(output) = py.detach(|| slice.block()) {
            return Ok(output);
        }
        if let Err(exception) = py.check_signals() {
            discard(future);
            return Err(exception);
        }
    }
}

/// Drops a future or a stream whose connections return to the pool of the runtime.
pub(crate) fn discard<T>(value: T) {
    async { drop(value) }.block();
}

/// Returns an error in a process that was forked after the first wait: its runtime has no threads.
fn require_same_process() -> PyResult<()> {
    static PROCESS: OnceLock<u32> = OnceLock::new();
    let process = std::process::id();
    if *PROCESS.get_or_init(|| process) == process {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(
        "this process was forked from one that used modelarts_tools; processes must be started by \
         the method \"spawn\": multiprocessing.get_context(\"spawn\")",
    ))
}

/// Returns an awaitable of asyncio, whose cancellation drops the future.
pub(crate) fn call_async<'py, T: Send + 'static>(
    py: Python<'py>,
    future: impl Future<Output = Result<T, Error>> + Send + 'static,
    convert: impl for<'a> FnOnce(Python<'a>, T) -> PyResult<Bound<'a, PyAny>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    require_same_process()?;
    pyo3_async_runtimes::tokio::future_into_py(py, async move {
        let result = future.await;
        Python::attach(|py| {
            let value = result.map_err(|error| to_exception(py, &error))?;
            Ok(convert(py, value)?.unbind())
        })
    })
}
