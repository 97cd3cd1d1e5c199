//! How many jobs fit what was asked for lately: counted once, and kept true as jobs come, change
//! and go.
//!
//! Names have to be looked at one by one to be counted. Whoever goes through the pages of a list,
//! or looks at its first page again and again, asks for the same count each time.

use std::collections::VecDeque;

use crate::{
    clock::timestamp::Timestamp,
    job::Job,
    store::selection::{Key, Selection, Test},
};

/// The number of counts in the cache.
const MAX_ENTRIES: usize = 32;
/// In bytes. Longer keys are not cached, so that the memory for them is bounded.
const MAX_KEY_LENGTH: usize = 4096;

/// The selection of a count, without its page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CountKey {
    project: String,
    tests: Vec<(Key, Test)>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
}

/// The counts; those that were asked for last are in front.
#[derive(Debug, Default)]
pub(super) struct CountCache(VecDeque<(CountKey, u64)>);

impl CountKey {
    /// `None` for what is not cached: tags and hosts are asked for with a span of time that
    /// moves on.
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
        self.project == job.project
            && self.from.is_none_or(|from| from <= job.created)
            && self.to.is_none_or(|to| job.created <= to)
            && self
                .tests
                .iter()
                .all(|(key, test)| test.passes(key.of(job)))
    }
}

impl CountCache {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The count, if it is known.
    pub(super) fn count(&mut self, key: &CountKey) -> Option<u64> {
        let at = self.0.iter().position(|(known, _)| known == key)?;
        let found = self.0.remove(at)?;
        let count = found.1;
        self.0.push_front(found);
        Some(count)
    }

    /// Remembers a count that was not known.
    pub(super) fn insert(&mut self, key: CountKey, count: u64) {
        self.0.push_front((key, count));
        self.0.truncate(MAX_ENTRIES);
    }

    /// A job has come.
    pub(super) fn add(&mut self, job: &Job) {
        for (key, count) in &mut self.0 {
            *count += u64::from(key.fits(job));
        }
    }

    /// A job goes, or is about to change.
    pub(super) fn subtract(&mut self, job: &Job) {
        for (key, count) in &mut self.0 {
            *count -= u64::from(key.fits(job));
        }
    }
}
