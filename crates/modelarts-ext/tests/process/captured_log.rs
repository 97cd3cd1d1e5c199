//! Captured log of the whole process.

use std::{
    io,
    sync::{Arc, Mutex},
};

use tracing_subscriber::{filter::LevelFilter, fmt::format::FmtSpan};

/// Captured log of this process. A process can have only one, because `tracing` caches for all
/// threads whether a call site has a subscriber; tests that use it therefore run in a child
/// process.
#[derive(Clone, Default)]
pub(crate) struct CapturedLog(Arc<Mutex<Vec<u8>>>);

impl CapturedLog {
    pub(crate) fn start() -> Self {
        let log = Self::default();
        let writer = log.clone();
        tracing_subscriber::fmt()
            .with_max_level(LevelFilter::TRACE)
            .with_span_events(FmtSpan::FULL)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .init();
        log
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// Returns the messages of the warnings.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let text = self.text();
        text.lines()
            .filter_map(|line| Some(line.split_once("WARN")?.1.split_once(": ")?.1.to_owned()))
            .collect()
    }

    pub(crate) fn clear(&self) {
        self.0.lock().unwrap().clear();
    }
}

impl io::Write for CapturedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
