//! `TrainingJobs`: the handle of the training jobs of a project.

use crate::{client::Client, error::Error, jobs::job::Job};

impl Client {
    /// Returns the handle of the project's training jobs.
    #[must_use]
    pub fn training_jobs(&self) -> TrainingJobs {
        TrainingJobs {
            client: self.clone(),
        }
    }
}

/// Handle of the training jobs of a project.
#[derive(Clone, Debug)]
pub struct TrainingJobs {
    client: Client,
}

impl TrainingJobs {
    /// Reads a job with its details.
    ///
    /// # Errors
    /// [`Error::is_not_found`] if the job does not exist.
    pub async fn get(&self, id: impl AsRef<str>) -> Result<Job, Error> {
        let id = id.as_ref();
        let id = id.parse().map_err(|_| {
            Error::invalid(format!(
                "the job id {id:?} is wrong; it has 1 to 128 letters, digits, and -_.~, and does \
                 not begin with a dot"
            ))
        })?;
        Job::fetch(self.client.clone(), id).await
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }
}
