//! Trace of a simulation, for the analysis of failures.

use crate::prelude::*;

/// Trace of a simulation: its requests, calls and failures, in order, with numbers instead of the
/// random ids of jobs. Clones share the same trace.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    clock: ServiceClock,
    record: Arc<Mutex<Record>>,
}

#[derive(Debug, Default)]
struct Record {
    lines: Vec<String>,
    failures: Vec<String>,
    numbers: HashMap<u128, usize>,
}

impl Trace {
    pub(crate) fn new(clock: ServiceClock) -> Self {
        let record = Arc::default();
        Self { clock, record }
    }

    pub(crate) fn note(&self, line: impl fmt::Display) {
        let mut record = self.record.lock().unwrap();
        let line = record.without_ids(&line.to_string());
        let at = self.clock.elapsed().as_secs_f64();
        record.lines.push(format!("{at:>10.3}  {line}"));
    }

    pub(crate) fn fail(&self, failure: impl fmt::Display) {
        self.note(format_args!("FAILURE {failure}"));
        let mut record = self.record.lock().unwrap();
        let failure = record.without_ids(&failure.to_string());
        record.failures.push(failure);
    }

    pub(crate) fn lines(&self) -> (Vec<String>, Vec<String>) {
        let record = self.record.lock().unwrap();
        (record.lines.clone(), record.failures.clone())
    }
}

impl Record {
    /// Replaces each id in a string by a number, such as `job#1`.
    fn without_ids(&mut self, text: &str) -> String {
        let is_part = |c: char| c.is_ascii_hexdigit() || c == '-';
        let mut plain = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(is_part) {
            plain.push_str(&rest[..start]);
            rest = &rest[start..];
            let word = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
            match u128::from_str_radix(&word.replace('-', ""), 16) {
                Ok(id) if word.len() >= 32 => {
                    let next = self.numbers.len() + 1;
                    let number = self.numbers.entry(id).or_insert(next);
                    plain += &format!("#{number}");
                }
                _ => plain.push_str(word),
            }
            rest = &rest[word.len()..];
        }
        plain.push_str(rest);
        plain
    }
}
