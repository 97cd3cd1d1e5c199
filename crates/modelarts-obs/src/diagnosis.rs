//! Reading of the service's own diagnosis of a job.

use futures::{StreamExt, TryStreamExt};
use modelarts_ext::{Error, Job, jobs::diagnosis::PlatformDiagnosis};

use crate::{address::ObsPath, obs::Obs};

/// Name of the file, as a user of the service names it (`openapi/attested/evidence.md`, row 70).
const FILE: &str = "diagnosis.json";
/// Maximum numbers of objects that are listed, and of files that are read.
const MAX_LISTED: usize = 1000;
const MAX_READ: usize = 3;
/// Maximum size of a file that is read, in bytes.
const MAX_SIZE: u64 = 1 << 20;

impl Obs {
    /// Reads the service's own diagnosis of a job: the file `diagnosis.json` in the directory of
    /// its logs (`log_export_path`), if one of the first 1,000 objects is such a file and belongs to
    /// the job: its key or its content must contain the id of the job. Otherwise returns a diagnosis
    /// without causes.
    ///
    /// ```no_run
    /// # async fn run(obs: modelarts_obs::Obs, job: modelarts_ext::Job)
    /// #     -> Result<(), modelarts_ext::Error> {
    /// let platform = obs.platform_diagnosis(&job).await?;
    /// println!("{}", job.explain_with(&platform).await?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the errors of lists and reads, and an error if the file is no JSON.
    pub async fn platform_diagnosis(&self, job: &Job) -> Result<PlatformDiagnosis, Error> {
        let spec = job.details().spec.as_deref();
        let logs = spec.and_then(|spec| spec.log_export_path.as_ref()?.obs_url.as_deref());
        let Some(directory) = logs.filter(|url| !url.is_empty()) else {
            return Ok(PlatformDiagnosis::default());
        };
        let directory: ObsPath = directory.parse()?;
        let bucket = self.bucket(directory.bucket())?;
        let listed = bucket.list(directory.key()).take(MAX_LISTED);
        let is_diagnosis = |key: &str| key.rsplit('/').next() == Some(FILE);
        let mut files: Vec<_> = listed
            .try_filter(|object| {
                let is_read = is_diagnosis(object.key()) && object.size() <= MAX_SIZE;
                std::future::ready(is_read)
            })
            .try_collect()
            .await?;
        files.sort_by_key(|object| !object.key().contains(job.id()));
        for object in files.into_iter().take(MAX_READ) {
            let content = bucket.get(object.key()).await?;
            let is_of_job = object.key().contains(job.id())
                || String::from_utf8_lossy(&content).contains(job.id());
            if is_of_job {
                return PlatformDiagnosis::from_json(&content);
            }
        }
        Ok(PlatformDiagnosis::default())
    }
}
