//! Cache of recent counts of jobs, kept up to date as jobs are created, changed and deleted.
//!
//! Counting the jobs of a selection by name reads all matching jobs. Clients that page through a
//! list, or poll its first page, request the same count each time.

use std::collections::VecDeque;

use crate::{
    clock::timestamp::Timestamp,
    job::Job,
    store::selection::{Key, Selection, Test},
};

/// Maximum number of counts in the cache.
const MAX_ENTRIES: usize = 32;
/// Maximum size of a key in bytes, which limits the memory of the cache. Selections with longer
/// keys are not cached.
const MAX_KEY_LENGTH: usize = 4096;

/// Selection to which a count applies, without its page.
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
    /// Returns the key of a selection, or `None` if counts of such selections are not cached. This
    /// applies to selections by tags and hosts, because their time span moves.
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

    /// Returns the count if it is cached.
    pub(super) fn count(&mut self, key: &CountKey) -> Option<u64> {
        let at = self.0.iter().position(|(known, _)| known == key)?;
        let found = self.0.remove(at)?;
        let count = found.1;
        self.0.push_front(found);
        Some(count)
    }

    /// Adds a count to the cache.
    pub(super) fn insert(&mut self, key: CountKey, count: u64) {
        self.0.push_front((key, count));
        self.0.truncate(MAX_ENTRIES);
    }

    /// Adds a new job to the counts of all selections that it matches.
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
