//! The emulator of the service, in the process of Python.

use std::{
    collections::HashMap,
    io,
    path::PathBuf,
    sync::{Mutex, OnceLock, PoisonError},
};

use modelarts_emulator::{Emulator, program};
use pyo3::{PyResult, Python, exceptions::PyRuntimeError, pyclass, pyfunction, pymethods};
use tokio::runtime::{self, Runtime};
use tracing_subscriber::filter::LevelFilter;

use crate::runtime::wait;

/// Maximum size of the log that is kept, in bytes.
const MAX_LOG: usize = 16 << 20;

/// A running emulator.
#[pyclass(frozen, module = "modelarts_tools")]
pub(crate) struct Server {
    /// `None` after the end.
    emulator: Mutex<Option<Emulator>>,
    #[pyo3(get)]
    url: String,
    #[pyo3(get)]
    obs_url: String,
    #[pyo3(get)]
    project_id: String,
    #[pyo3(get)]
    access_key: String,
    #[pyo3(get)]
    secret_key: String,
    #[pyo3(get)]
    obs_root: PathBuf,
    #[pyo3(get)]
    environment: HashMap<&'static str, String>,
    /// Process that started the emulator. A fork of it must not end the jobs.
    process: u32,
}

#[pymethods]
impl Server {
    /// Starts an emulator with arguments of `modelarts-emulator serve`.
    #[new]
    fn new(py: Python<'_>, arguments: Vec<String>) -> PyResult<Self> {
        keep_log();
        let wrong = |error: String| PyRuntimeError::new_err(error);
        let builder = program::builder(arguments).map_err(wrong)?;
        let start = runtime()?.spawn(builder.start());
        let started = wait(py, start)?.map_err(|error| wrong(error.to_string()))?;
        let emulator = started.map_err(|error| wrong(error.to_string()))?;
        Ok(Self {
            url: emulator.url().to_owned(),
            obs_url: emulator.obs_url().to_owned(),
            project_id: emulator.project_id().to_owned(),
            access_key: emulator.access_key().to_owned(),
            secret_key: emulator.secret_key().to_owned(),
            obs_root: emulator.obs_root().to_owned(),
            environment: emulator.envs().into_iter().collect(),
            process: std::process::id(),
            emulator: Mutex::new(Some(emulator)),
        })
    }

    /// Ends the emulator with its jobs. The second call has no effect, nor has one of a fork.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.process != std::process::id() {
            return Ok(());
        }
        let emulator = self.emulator.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(emulator) = emulator else {
            return Ok(());
        };
        let end = runtime()?.spawn(emulator.shutdown());
        wait(py, end)?.map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let emulator = self.emulator.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if self.process != std::process::id() {
            std::mem::forget(emulator);
            return;
        }
        // Its tasks need the runtime.
        let _context = runtime().ok().map(Runtime::enter);
        drop(emulator);
    }
}

/// Returns what the emulators of this process have logged from a position on, and the next position.
#[pyfunction]
pub(crate) fn emulator_log(start: usize) -> (String, usize) {
    let log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    let end = log.skipped + log.bytes.len();
    let from = start.clamp(log.skipped, end) - log.skipped;
    (String::from_utf8_lossy(&log.bytes[from..]).into_owned(), end)
}

/// Returns the runtime of the emulators. Waiting clients have another one.
fn runtime() -> PyResult<&'static Runtime> {
    static RUNTIME: OnceLock<io::Result<Runtime>> = OnceLock::new();
    let start = || {
        let mut builder = runtime::Builder::new_multi_thread();
        builder.worker_threads(2).thread_name("modelarts-emulator").enable_all().build()
    };
    let runtime = RUNTIME.get_or_init(start);
    runtime.as_ref().map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

struct Log {
    bytes: Vec<u8>,
    /// Number of bytes before them that are not kept.
    skipped: usize,
}

static LOG: Mutex<Log> = Mutex::new(Log { bytes: Vec::new(), skipped: 0 });

/// Appends to the log, and forgets its older half if it is too large.
struct LogWriter;

impl io::Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
        log.bytes.extend_from_slice(bytes);
        if log.bytes.len() > MAX_LOG {
            log.bytes.drain(..MAX_LOG / 2);
            log.skipped += MAX_LOG / 2;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn keep_log() {
    // The second call fails, and has no effect.
    let _ = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::INFO)
        .with_writer(|| LogWriter)
        .with_ansi(false)
        .try_init();
}
