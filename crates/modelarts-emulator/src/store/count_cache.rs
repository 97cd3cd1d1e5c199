//! Cache of recent counts of jobs, which clients request again with each page of a list.

use std::collections::VecDeque;

use crate::{
    clock::timestamp::Timestamp,
    job::Job,
    store::selection::{Key, Selection, Test},
};

const MAX_ENTRIES: usize = 32;
/// Maximum size of a key in bytes. Selections with longer keys are not cached.
const MAX_KEY_LENGTH: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CountKey {
    project: String,
    tests: Vec<(Key, Test)>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
}

/// Counts of selections, ordered from the most to the least recently used.
#[derive(Debug, Default)]
pub(super) struct CountCache(VecDeque<(CountKey, u64)>);

impl CountKey {
    /// Creates a key. Returns `None` for long selections, and for tags and hosts, whose span moves.
    pub(super) fn new(project: &str, selection: &Selection) -> Option<Self> {
        let length = |(_, test): &(Key, Test)| match test {
            Test::Contains(part) => part.len(),
            Test::In(values) | Test::NotIn(values) => values.iter().map(String::len).sum(),
        };
        let short = selection.tests.iter().map(length).sum::<usize>() <= MAX_KEY_LENGTH;
        let lasting = selection.tags.is_empty() && selection.hosts.is_none();
        (short && lasting).then(|| Self {
            project: project.to_owned(),
            tests: selection.tests.clone(),
            from: selection.from,
            to: selection.to,
        })
    }

    fn fits(&self, job: &Job) -> bool {
        self.project == job.owner.project
            && self.from.is_none_or(|from| from <= job.history.created)
            && self.to.is_none_or(|to| job.history.created <= to)
            && self.tests.iter().all(|(key, test)| test.accepts(key.of(job)))
    }
}

impl CountCache {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn count(&mut self, key: &CountKey) -> Option<u64> {
        let at = self.0.iter().position(|(known, _)| known == key)?;
        let found = self.0.remove(at)?;
        let count = found.1;
        self.0.push_front(found);
        Some(count)
    }

    pub(super) fn insert(&mut self, key: CountKey, count: u64) {
        self.0.push_front((key, count));
        self.0.truncate(MAX_ENTRIES);
    }

    pub(super) fn add(&mut self, job: &Job) {
        for (key, count) in &mut self.0 {
            *count += u64::from(key.fits(job));
        }
    }

    /// Subtracts a job from the counts, before it is deleted or changed.
    pub(super) fn subtract(&mut self, job: &Job) {
        for (key, count) in &mut self.0 {
            *count -= u64::from(key.fits(job));
        }
    }
}
