//! Local directories that a job file names in place of addresses.

use std::path::{Path, PathBuf};

use modelarts_ext::{CreateJob, Error};
use serde_json::Value;

use crate::staging::StageJob;

/// Placeholder address of channels whose directories are not staged yet.
const UNSTAGED: &str = "obs://staged";

/// Local directories of a job, and outputs without an address, which [`StageJob`] stages.
///
/// In a job file, `code_dir` and the addresses of inputs may be relative paths, and an output may
/// have no address:
///
/// ```
/// # fn main() -> Result<(), modelarts_ext::Error> {
/// # use modelarts_ext::{Client, Credentials};
/// # let client = Client::builder().endpoint("https://modelarts.example.com").project_id("p");
/// # let client = client.credentials(Credentials::token("t")).build()?;
/// use modelarts_obs::staging::LocalPlaces;
///
/// let file = "
/// metadata: {name: leaves}
/// algorithm:
///   code_dir: ./src
///   boot_file: train.py
///   inputs: [{name: data_url, remote: {obs: {obs_url: data/leaves}}}]
///   outputs: [{name: train_url}]
/// ";
/// let job = client.training_jobs().from_yaml(file)?;
/// let (job, places) = LocalPlaces::take(job, "jobs".as_ref())?;
/// assert_eq!(places.code, Some(("jobs/./src".into(), Some("train.py".to_owned()))));
/// assert_eq!(places.data[0].directory.to_str(), Some("jobs/data/leaves"));
/// assert_eq!(places.outputs, ["train_url"]);
/// # let _ = job;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LocalPlaces {
    /// Code directory, and the script in it that the job starts.
    pub code: Option<(PathBuf, Option<String>)>,
    /// Inputs with local directories.
    pub data: Vec<LocalInput>,
    /// Names of the outputs without an address.
    pub outputs: Vec<String>,
}

/// Input whose address is a local directory.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LocalInput {
    /// Name of the input.
    pub name: String,
    /// Local directory.
    pub directory: PathBuf,
    /// Path of the field with the directory, for messages.
    pub field: String,
}

impl LocalPlaces {
    /// Takes the local places out of a job. Paths are relative to `directory`, that of the job file.
    /// The job returned has no code, and placeholders for the addresses of the channels. No file is
    /// read.
    ///
    /// # Errors
    /// Returns an error if a placeholder cannot be set, because a channel has a wrong type.
    pub fn take(mut job: CreateJob, directory: &Path) -> Result<(CreateJob, Self), Error> {
        let mut places = Self::default();
        let body = job.body();
        let algorithm = &body["algorithm"];
        if let Some(code) = local_path(&algorithm["code_dir"]) {
            let boot_file = algorithm["boot_file"].as_str();
            let boot_file = boot_file.map(|file| file.trim_start_matches("./").to_owned());
            places.code = Some((directory.join(code), boot_file));
            job = job.without_field("algorithm.code_dir").without_field("algorithm.boot_file");
        }
        for (list, place) in [("inputs", "data"), ("outputs", "out")] {
            for (index, channel) in algorithm[list].as_array().into_iter().flatten().enumerate() {
                let name = channel["name"].as_str().unwrap_or_default().to_owned();
                let field = format!("algorithm.{list}[{index}].remote.obs.obs_url");
                let address = format!("{UNSTAGED}/{place}/{name}/");
                match local_path(&channel["remote"]["obs"]["obs_url"]) {
                    Some(path) if list == "inputs" => {
                        let directory = directory.join(path);
                        places.data.push(LocalInput { name, directory, field: field.clone() });
                    }
                    None if list == "outputs" && channel["remote"].is_null() => {
                        places.outputs.push(name);
                    }
                    _ => continue,
                }
                job = job.set_field(&field, &address)?;
            }
        }
        Ok((job, places))
    }
}

impl StageJob {
    /// Sets the code, the inputs and the outputs of a job file.
    pub fn local_places(mut self, places: LocalPlaces) -> Self {
        if let Some((directory, boot_file)) = places.code {
            self = self.code(directory, boot_file.as_deref());
        }
        for input in places.data {
            self = self.data(input.name, input.directory);
        }
        places.outputs.into_iter().fold(self, Self::output)
    }
}

/// Returns the path of a local directory. Addresses of OBS begin with `obs://` or `/`.
fn local_path(value: &Value) -> Option<&str> {
    let is_local = |path: &&str| !path.starts_with('/') && !path.contains("://");
    value.as_str().filter(is_local).filter(|path| !path.is_empty())
}
