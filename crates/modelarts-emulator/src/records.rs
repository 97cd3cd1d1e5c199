//! Things that are stored as JSON: algorithms and experiments.

use parking_lot::Mutex;
use serde_json::Value;

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) id: String,
    pub(crate) project: String,
    pub(crate) name: String,
    /// As it is shown.
    pub(crate) value: Value,
}

/// All of a kind, in the order of their creation.
#[derive(Debug, Default)]
pub(crate) struct Records(Mutex<Vec<Record>>);

impl Records {
    /// Adds one, unless the project has one of this name.
    pub(crate) fn insert(&self, record: Record) -> bool {
        let mut records = self.0.lock();
        let taken = records
            .iter()
            .any(|other| other.project == record.project && other.name == record.name);
        if !taken {
            records.push(record);
        }
        !taken
    }

    pub(crate) fn find(&self, project: &str, id: &str) -> Option<Record> {
        let records = self.0.lock();
        records
            .iter()
            .find(|record| record.project == project && record.id == id)
            .cloned()
    }

    /// Changes one; nothing if it is not there.
    pub(crate) fn update<R>(
        &self,
        project: &str,
        id: &str,
        change: impl FnOnce(&mut Record) -> R,
    ) -> Option<R> {
        let mut records = self.0.lock();
        records
            .iter_mut()
            .find(|record| record.project == project && record.id == id)
            .map(change)
    }

    pub(crate) fn remove(&self, project: &str, id: &str) -> bool {
        let mut records = self.0.lock();
        let before = records.len();
        records.retain(|record| !(record.project == project && record.id == id));
        records.len() < before
    }

    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }

    /// Those of a project.
    pub(crate) fn all(&self, project: &str) -> Vec<Record> {
        let records = self.0.lock();
        let own = records.iter().filter(|record| record.project == project);
        own.cloned().collect()
    }
}
