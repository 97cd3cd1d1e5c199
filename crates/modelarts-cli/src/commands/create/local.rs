//! `LocalService`: the embedded emulator with its storage, and the adaptation of a job to it.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use modelarts_emulator::{
    Emulator, Timing,
    jobs::Container,
    pools::{Pool, PoolKind},
};
use modelarts_ext::{Client, ClientBuilder, Job};
use modelarts_obs::{Obs, Staging};
use serde_json::Value;

use crate::{
    commands::{
        create::{
            draft::{Draft, generated_name, is_address},
            flags::JobFlags,
            outputs::OUTPUT_DIRECTORY,
        },
        jobs::download::Received,
    },
    failure::Failure,
    local_jobs::{
        release,
        storage::{Storage, StoredOutputs},
    },
    terminal::{Emphasis, Terminal},
};

/// Bucket of the embedded OBS.
const BUCKET: &str = "local";
/// Flavor that replaces a missing flavor, or a flavor unknown to the emulator.
const FLAVOR: &str = "modelarts.vm.cpu.8u";
/// Flavor of all jobs with a pool.
const POOL_FLAVOR: &str = "modelarts.pool.visual.xlarge";
/// Name and version of the engine that replaces a missing engine, or one unknown to the emulator.
const ENGINE: (&str, &str) = ("PyTorch", "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64");
/// Number of nodes of the emulated pool.
const POOL_NODES: u32 = 16;

/// Emulated service in this process.
pub(crate) struct LocalService {
    emulator: Emulator,
    pub(crate) client: Client,
    pub(crate) staging: Staging,
    pub(crate) storage: Storage,
}

/// End of a local service.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// All outputs were delivered, so the storage is removed.
    Delivered,
    /// Outputs stay in the storage.
    Kept,
    /// Outputs stay in the storage, and the processes of jobs are killed.
    AtOnce,
}

/// Returns the name of a run, which is that of its job unless a job file names the job.
pub(crate) fn run_name(flags: &JobFlags, base: Option<&Value>) -> String {
    let base = base.and_then(|body| body["metadata"]["name"].as_str());
    let source = flags.script.as_deref().or(flags.code_dir.as_deref());
    let given = flags.parameters.text("name").map(str::to_owned);
    given.unwrap_or_else(|| generated_name(source, base))
}

impl LocalService {
    /// Starts the emulator. The files of its jobs are in a storage with this name in the directory
    /// `beside`, everything else in a temporary directory.
    pub(crate) async fn start(
        (beside, name): (&Path, &str),
        pool: Option<&str>,
        installs_packages: bool,
        container: Container,
    ) -> Result<Self, Failure> {
        let storage = Storage::create(beside, name)?;
        // A script that is stopped has as much time to save its state as on the service.
        let mut timing = Timing::instant();
        timing.grace = Timing::documented().grace;
        let mut builder = Emulator::builder()
            .timing(timing)
            .jobs_dir(storage.workers())
            .obs_root(storage.obs_root())
            .container(container)
            .install_packages(installs_packages);
        if let Some(pool) = pool {
            builder = builder.pool(Pool::new(pool, PoolKind::Gpu, POOL_NODES));
        }
        let started = async {
            let emulator = builder.start().await.map_err(Failure::local)?;
            let client = ClientBuilder::from_vars(emulator.vars()).max_pause(Duration::MAX);
            let client = client.build()?;
            let obs = Obs::directory(emulator.obs_root());
            let obs = obs.with_cache_dir(emulator.data_dir().join("checksums"));
            obs.bucket(BUCKET)?.create().await?;
            let staging = Staging::new(&client).bucket(BUCKET).obs(obs);
            Ok::<_, Failure>((emulator, client, staging))
        };
        match started.await {
            Ok((emulator, client, staging)) => Ok(Self { emulator, client, staging, storage }),
            Err(failure) => {
                discard(&storage.path);
                Err(failure)
            }
        }
    }

    /// Returns where the outputs of a job are in the storage.
    pub(crate) fn outputs(&self, job: &Job) -> StoredOutputs {
        self.storage.outputs(job, &self.emulator)
    }

    pub(crate) async fn end(self, ending: Ending) {
        match ending {
            Ending::AtOnce => drop(self.emulator),
            Ending::Delivered | Ending::Kept => self.emulator.shutdown().await,
        }
        if ending == Ending::Delivered {
            discard(&self.storage.path);
        }
    }

    /// Returns an error if the job has a script and python3 is not on the `PATH`.
    pub(crate) async fn require_python(draft: &Draft) -> Result<(), Failure> {
        if draft.has_script() && Emulator::python3().await.is_none() {
            return Err(Failure::local(
                "python3 is not on the PATH; it must be, to run the script on this machine",
            ));
        }
        Ok(())
    }

    /// Replaces or removes settings of the service. Notes unknown flavors and images on stderr.
    pub(crate) async fn adapt(&self, draft: &mut Draft) -> Result<(), Failure> {
        let body = draft.job.body();
        require_local(&body)?;
        let resource = &body["spec"]["resource"];
        let pool = resource["pool_id"].as_str();
        let flavor = resource["flavor_id"].as_str();
        let flavors = self.client.flavors(None).collect(100).await?;
        let is_known =
            |id: &str| flavors.iter().any(|flavor| flavor.flavor_id.as_deref() == Some(id));
        match (pool, flavor) {
            (Some(_), Some(POOL_FLAVOR)) => {}
            (Some(_), _) => draft.edit(|job| job.flavor(POOL_FLAVOR)),
            (None, Some(flavor)) if is_known(flavor) => {}
            (None, flavor) => {
                if let Some(flavor) = flavor {
                    note(&format!(
                        "the flavor {flavor} becomes {FLAVOR}; this machine does the work"
                    ));
                }
                draft.edit(|job| job.flavor(FLAVOR));
            }
        }
        self.adapt_engine(draft, &body["algorithm"]["engine"]).await?;
        for output in body["algorithm"]["outputs"].as_array().into_iter().flatten() {
            // Every output gets an address in the embedded OBS.
            if let Some(name) = output["name"].as_str()
                && !draft.outputs.iter().any(|known| known == name)
            {
                draft.outputs.push(name.to_owned());
            }
        }
        for field in
            ["spec.log_export_path", "spec.notification", "metadata.training_experiment_reference"]
        {
            draft.edit(|job| job.without_field(field));
        }
        Ok(())
    }

    async fn adapt_engine(&self, draft: &mut Draft, engine: &Value) -> Result<(), Failure> {
        let text = |field: &str| engine[field].as_str();
        if draft.needs_engine() {
            draft.edit(|job| job.preset_image(ENGINE.0, ENGINE.1));
            return Ok(());
        }
        let chosen = match (text("engine_id"), text("engine_name")) {
            (None, None) => return Ok(()),
            (Some(id), _) => id.to_owned(),
            (None, Some(name)) => format!("{name}:{}", text("engine_version").unwrap_or_default()),
        };
        let engines = self.client.engines().collect(100).await?;
        let is_known = engines.iter().any(|known| {
            let same = |field: &str, value: &Option<String>| text(field) == value.as_deref();
            same("engine_id", &known.engine_id)
                || (same("engine_name", &known.engine_name)
                    && same("engine_version", &known.engine_version))
        });
        if !is_known {
            note(&format!(
                "the image {chosen} is not used; python3 of this machine runs the script"
            ));
            draft.edit(|job| job.preset_image(ENGINE.0, ENGINE.1));
        }
        Ok(())
    }

    pub(crate) fn emulator(&self) -> &Emulator {
        &self.emulator
    }
}

/// Removes a storage, and the directory of outputs if it has no files.
fn discard(storage: &Path) {
    release(storage);
    let _ = fs::remove_dir(OUTPUT_DIRECTORY);
}

/// Moves outputs out of a storage to directories below `to`.
pub(crate) async fn deliver(stored: &StoredOutputs, to: PathBuf) -> Received {
    let stored = stored.clone();
    let moved = tokio::task::spawn_blocking(move || stored.deliver(&to, None, true));
    match moved.await {
        Ok(outputs) => outputs.into_iter().collect(),
        Err(error) => Received::failed(error.to_string()),
    }
}

fn note(text: &str) {
    note!("  {}", Terminal::styled(text, Emphasis::Dim));
}

/// Returns an error if code or data of the job exists only on the service.
fn require_local(body: &Value) -> Result<(), Failure> {
    let algorithm = &body["algorithm"];
    if algorithm["id"].is_string() || algorithm["subscription_id"].is_string() {
        return Err(Failure::usage(
            "the algorithm exists only on the service; a job on this machine must have a script or \
             a command",
        ));
    }
    let is_remote = |value: &Value| {
        value.as_str().is_some_and(|text| is_address(text) && !text.starts_with("obs://staged/"))
    };
    for (field, what) in [("code_dir", "the code"), ("boot_file", "the script")] {
        if is_remote(&algorithm[field]) {
            return Err(Failure::usage(format_args!(
                "{what} {} is in OBS; a job on this machine must have local code: `modelarts sync` \
                 receives it",
                algorithm[field].as_str().unwrap_or_default()
            )));
        }
    }
    for input in algorithm["inputs"].as_array().into_iter().flatten() {
        let address = &input["remote"]["obs"]["obs_url"];
        if is_remote(address) || input["remote"]["dataset"].is_object() {
            return Err(Failure::usage(format_args!(
                "the input {} is on the service; a job on this machine must have local data: \
                 --data {}=DIR",
                input["name"].as_str().unwrap_or_default(),
                input["name"].as_str().unwrap_or("NAME")
            )));
        }
    }
    Ok(())
}
