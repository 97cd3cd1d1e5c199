//! The operations that the emulator models, by the names the service gives them.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;

/// One operation of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    CreateTrainingJob,
    ListTrainingJobs,
    ShowTrainingJobDetails,
    DeleteTrainingJob,
    StopTrainingJob,
    ListTrainingJobEvents,
    ShowTrainingJobLogsPreview,
}

impl Operation {
    pub(crate) const ALL: [Self; 7] = [
        Self::CreateTrainingJob,
        Self::ListTrainingJobs,
        Self::ShowTrainingJobDetails,
        Self::DeleteTrainingJob,
        Self::StopTrainingJob,
        Self::ListTrainingJobEvents,
        Self::ShowTrainingJobLogsPreview,
    ];

    /// The operationId.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::CreateTrainingJob => "CreateTrainingJob",
            Self::ListTrainingJobs => "ListTrainingJobs",
            Self::ShowTrainingJobDetails => "ShowTrainingJobDetails",
            Self::DeleteTrainingJob => "DeleteTrainingJob",
            Self::StopTrainingJob => "StopTrainingJob",
            Self::ListTrainingJobEvents => "ListTrainingJobEvents",
            Self::ShowTrainingJobLogsPreview => "ShowTrainingJobLogsPreview",
        }
    }
}

/// What became of the requests for one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RequestCount {
    /// Requests with a valid signature for the right project.
    pub received: u64,
    /// Those that were executed with success, whether or not their answer arrived.
    pub executed: u64,
}

/// Counts per operation since the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts(Arc<Mutex<BTreeMap<&'static str, RequestCount>>>);

impl Counts {
    pub(crate) fn received(&self, operation: Operation) {
        self.0.lock().entry(operation.id()).or_default().received += 1;
    }

    pub(crate) fn executed(&self, operation: Operation) {
        self.0.lock().entry(operation.id()).or_default().executed += 1;
    }

    /// All operations, also those never asked for.
    pub(crate) fn all(&self) -> BTreeMap<&'static str, RequestCount> {
        let counts = self.0.lock();
        Operation::ALL
            .iter()
            .map(|operation| {
                (
                    operation.id(),
                    counts.get(operation.id()).copied().unwrap_or_default(),
                )
            })
            .collect()
    }
}
