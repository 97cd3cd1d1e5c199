//! Emulator of the ModelArts training service, for tests and development without a cloud account.
//!
//! The emulator implements operations of ModelArts training management, as offered by Huawei Cloud
//! and Open Telekom Cloud, with the documented responses and errors. It moves jobs through their
//! phases, and *runs* their code as processes or simulates the runs with a script.
//!
//! ```
//! use modelarts_emulator::{Emulator, Timing};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let emulator = Emulator::builder().timing(Timing::instant()).start().await?;
//! emulator.put("bucket/code/train.py", "print('hello')\n")?;
//! // Any client of the API, such as modelarts-ext:
//! // let client = ClientBuilder::from_vars(emulator.vars()).build()?;
//! println!("{} {} {}", emulator.url(), emulator.project_id(), emulator.access_key());
//! emulator.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! Tests can advance the time ([`clock`]), simulate the runs of jobs ([`script`]), and create jobs
//! that have never run ([`seeds`]). [`faults`] injects failed responses, [`traffic`] records the
//! requests of a client, and [`quirks`] selects behaviour on which sources are silent or disagree.
//!
//! The emulator returns status 501 for operations that it does not implement. It rejects a few
//! fields of a job that it does not support. By default, it accepts other documented fields that
//! have no effect in the emulator, and names them in the response header `X-Emulator-Ignored`.
//!
//! With the feature `obs`, which is part of the default feature `cli`, the emulator also serves its
//! OBS over HTTP: `Emulator::obs_url` is the endpoint for clients of the S3 protocol, such as
//! boto3.
//!
//! The emulator is not a sandbox: it executes the code of jobs as the user who started it. OBS
//! paths in requests refer only to files in the OBS root of the emulator. Jobs do not inherit the
//! environment variables of the emulator. The emulator listens only on loopback addresses, and
//! rejects requests with a foreign `Host` or `Origin`.
//!
//! [`guide`] has the pages of the emulator: [`guide::program`] describes it as a program,
//! [`guide::testing`] its use in test suites of any language, and [`guide::container`] how a job
//! runs.

mod accounts;
mod api;
mod catalog;
pub mod clock;
#[cfg(feature = "slurm")]
mod cluster;
mod database;
mod emulator;
mod execution;
mod files;
mod handlers;
mod job;
mod logs;
mod metrics;
#[cfg(feature = "obs")]
mod obs;
#[cfg(feature = "cli")]
pub mod program;
mod runner;
mod scheduler;
mod server;
mod state;
mod store;
pub mod traffic;
mod tuning;
mod validation;

pub use accounts::User;
pub use catalog::cloud::Cloud;
pub use clock::timing::Timing;
pub use database::error::DatabaseError;
pub use emulator::{
    Emulator,
    builder::Builder,
    error::{StartError, WaitError},
};

pub mod events {
    //! Texts of events, for tests that search for an event by its text.
    //!
    //! [`EventKind::message`] returns the text of an event, as the emulator returns it to clients.
    //! A test that uses this method need not contain a copy of the text.
    //!
    //! ```
    //! use modelarts_emulator::Emulator;
    //! use modelarts_emulator::events::{EventKind, Wording};
    //! use modelarts_emulator::seeds::Seeds;
    //!
    //! # #[tokio::main(flavor = "current_thread")]
    //! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    //! let emulator = Emulator::start().await?;
    //! let seeds = Seeds::from_json(r#"{"jobs": [{"name": "past", "phase": "Completed"}]}"#)?;
    //! let ids = emulator.seed(&seeds).await?;
    //! let job = emulator.stored_job(&ids[0])?.ok_or("no job")?;
    //! let completed = EventKind::Completed.message(Wording::Api);
    //! assert!(job.events.contains(&completed));
    //! emulator.shutdown().await;
    //! # Ok(())
    //! # }
    //! ```

    pub use crate::job::event::{EventKind, Level, Source, Wording};
}

pub mod faults {
    //! Injected faults: responses that fail on purpose.
    //!
    //! Tests of error handling need a service that fails at the right moment. A [`FaultRule`]
    //! contains an operation, a number of responses, and the [`Fault`] of these responses. Rules
    //! apply in the order in which they were added. `POST /_emulator/faults` also adds rules.
    //!
    //! ```
    //! use modelarts_emulator::Emulator;
    //! use modelarts_emulator::faults::{Fault, FaultRule};
    //!
    //! # #[tokio::main(flavor = "current_thread")]
    //! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    //! let emulator = Emulator::start().await?;
    //! // The next creation is executed, and its response lost.
    //! let rule = FaultRule::once("CreateTrainingJob", Fault::LostAnswer);
    //! emulator.faults().add(rule)?;
    //! // The next two reads of a job are refused.
    //! let rule = FaultRule::times(2, "ShowTrainingJobDetails", Fault::status(429));
    //! emulator.faults().add(rule)?;
    //! assert_eq!(emulator.faults().list().len(), 2);
    //! // ... the client under test creates a job, and finds out that it exists ...
    //! emulator.faults().clear();
    //! emulator.shutdown().await;
    //! # Ok(())
    //! # }
    //! ```

    pub use crate::traffic::faults::{Fault, FaultError, FaultRule, Faults};
}

pub mod guide {
    //! Pages on the use of the emulator, as in the repository.

    #[doc = include_str!("../PROGRAM.md")]
    pub mod program {}

    #[doc = include_str!("../TESTING.md")]
    pub mod testing {}

    #[doc = include_str!("../CONTROL-ROUTES.md")]
    pub mod control_routes {}

    #[doc = include_str!("../FAULTS.md")]
    pub mod faults {}

    #[doc = include_str!("../SIMULATION.md")]
    pub mod simulation {}

    #[doc = include_str!("../CONTAINER.md")]
    pub mod container {}

    #[doc = include_str!("../SLURM.md")]
    pub mod slurm {}

    #[doc = include_str!("../OPERATIONS.md")]
    pub mod operations {}

    #[doc = include_str!("../FIELDS.md")]
    pub mod fields {}

    #[doc = include_str!("../POOLS.md")]
    pub mod pools {}

    #[doc = include_str!("../OBS.md")]
    pub mod obs {}
}

pub mod jobs {
    //! Jobs as the emulator runs and stores them.
    //!
    //! Tests can compare the responses of the API with the stored state, [`StoredJob`].
    //! [`RunnerKind`] selects whether the code of jobs runs as processes or is simulated,
    //! [`Container`] whether processes find the paths and host names of the service, and
    //! [`RestartOn`] the failures after which a job is restarted.
    //!
    //! ```
    //! use modelarts_emulator::Emulator;
    //! use modelarts_emulator::jobs::{RestartOn, RunnerKind};
    //! use modelarts_emulator::script::Script;
    //! use modelarts_emulator::seeds::Seeds;
    //!
    //! # #[tokio::main(flavor = "current_thread")]
    //! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    //! let emulator = Emulator::builder()
    //!     .runner(RunnerKind::Simulated(Script::default()))
    //!     .restart_on(RestartOn::Fault)
    //!     .start()
    //!     .await?;
    //! emulator.seed(&Seeds::from_json(r#"{"jobs": [{"name": "past"}]}"#)?).await?;
    //! for id in emulator.stored_ids()? {
    //!     let job = emulator.stored_job(&id)?.ok_or("no job")?;
    //!     assert_eq!((job.name.as_str(), job.phase), ("past", "Completed"));
    //! }
    //! emulator.shutdown().await;
    //! # Ok(())
    //! # }
    //! ```

    pub use crate::emulator::{runner::RunnerKind, stored_job::StoredJob};
    pub use crate::job::state::RestartOn;
    pub use crate::runner::process::view::Container;
}

pub mod pools {
    //! Dedicated resource pools, and the number of their nodes.
    //!
    //! Tests of queues, priorities and preemption need pools with few nodes. The default pools are
    //! `pool-cpu` and `pool-gpu`, with 16 nodes each.
    //!
    //! ```
    //! use modelarts_emulator::Emulator;
    //! use modelarts_emulator::pools::{Pool, PoolKind};
    //!
    //! # #[tokio::main(flavor = "current_thread")]
    //! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    //! let emulator = Emulator::builder()
    //!     .pool(Pool::new("team", PoolKind::Gpu, 2))
    //!     .pool(Pool::parse("nightly:1:cpu")?)
    //!     .start()
    //!     .await?;
    //! // ... of two jobs in the pool `nightly` the second one waits ...
    //! emulator.shutdown().await;
    //! # Ok(())
    //! # }
    //! ```

    pub use crate::catalog::pools::{Pool, PoolKind};
}

pub mod quirks {
    //! Switches for behaviour on which sources are silent or disagree.
    //!
    //! A client should work with every value of each switch. The default of a switch is the
    //! behaviour that was observed on the service, or otherwise the behaviour that most documents
    //! describe (`openapi/SOURCES.md`, "Behaviour").
    //!
    //! ```
    //! use modelarts_emulator::Emulator;
    //! use modelarts_emulator::quirks::{Quirks, RepeatedStop};
    //!
    //! # #[tokio::main(flavor = "current_thread")]
    //! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    //! let mut quirks = Quirks::default();
    //! quirks.stop_again = RepeatedStop::Accepts;
    //! // The same by name, as in the program's flag `--choose`.
    //! quirks.set("events-offset=page")?;
    //! let emulator = Emulator::builder().quirks(quirks).start().await?;
    //! // ... a stop of a job that is Terminating is accepted ...
    //! emulator.shutdown().await;
    //! # Ok(())
    //! # }
    //! ```

    pub use crate::catalog::quirks::{
        AutoStopPhase, DeleteActive, EventsOffset, Internet, JobObsKeys, JobsCount, JobsOffset,
        PreemptionPhase, Quirks, RepeatedStop, UnknownAction,
    };
}

pub mod script {
    //! Scripts of simulated jobs: their duration, logs, metrics, exit codes and faults.
    //!
    //! The emulator starts no process for a simulated job. With a
    //! [`ManualClock`](crate::clock::ManualClock), one call of
    //! [`Emulator::advance`](crate::Emulator::advance) can simulate hours of a job.
    //!
    //! ```
    //! use modelarts_emulator::Emulator;
    //! use modelarts_emulator::jobs::RunnerKind;
    //! use modelarts_emulator::script::Script;
    //!
    //! # #[tokio::main(flavor = "current_thread")]
    //! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    //! let script = Script::from_json(
    //!     r#"{"jobs": [{
    //!         "name": "flaky-*", "runs": [{"seconds": 5, "exit_code": 1}, {"seconds": 5}]
    //!     }]}"#,
    //! )?;
    //! let emulator = Emulator::builder()
    //!     .runner(RunnerKind::Simulated(script))
    //!     .start()
    //!     .await?;
    //! // ... the first run of a job `flaky-1` fails after five seconds, its second succeeds ...
    //! emulator.shutdown().await;
    //! # Ok(())
    //! # }
    //! ```

    pub use crate::runner::simulated::script::{Script, ScriptError};
}

pub mod seeds {
    //! Seeded jobs, which are stored with a predefined history, for tests of lists and details.
    //!
    //! Some tests need jobs that cannot be created by running them, such as a job that failed last
    //! week. [`Seeds`] documents the format of seeds, which `POST /_emulator/seeds` also accepts.
    //!
    //! ```
    //! use modelarts_emulator::Emulator;
    //! use modelarts_emulator::seeds::Seeds;
    //!
    //! # #[tokio::main(flavor = "current_thread")]
    //! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    //! let seeds = Seeds::from_json(
    //!     r#"{"jobs": [
    //!         {"name": "old", "phase": "Failed", "created": "2026-01-15T08:30:00Z"},
    //!         {"name": "many-{n}", "count": 100}
    //!     ]}"#,
    //! )?;
    //! let emulator = Emulator::start().await?;
    //! let ids = emulator.seed(&seeds).await?;
    //! assert_eq!(ids.len(), 101);
    //! emulator.shutdown().await;
    //! # Ok(())
    //! # }
    //! ```

    pub use crate::execution::seeds::{SeedError, Seeds};
}

pub mod signature {
    //! Verification of signatures of the algorithm SDK-HMAC-SHA256.
    //!
    //! Tests of a client can verify its signatures with [`verify`], without an emulator. The
    //! verifier shares no code with a client, so an error on one side results in a mismatch.
    //!
    //! ```
    //! use std::time::SystemTime;
    //! use axum::http::HeaderMap;
    //! use modelarts_emulator::signature::{ReceivedRequest, SignatureError, verify};
    //!
    //! # fn main() -> Result<(), Box<dyn std::error::Error>> {
    //! let request = ReceivedRequest {
    //!     method: "GET",
    //!     path: "/v2/project/training-jobs/id",
    //!     query: "",
    //!     headers: &HeaderMap::new(),
    //!     body: b"",
    //! };
    //! let secret_of = |access_key: &str| (access_key == "AK").then(|| "SK".to_owned());
    //! let verified = verify(request, SystemTime::now(), secret_of);
    //! assert_eq!(verified, Err(SignatureError::NoCredentials));
    //! # Ok(())
    //! # }
    //! ```

    pub use crate::accounts::signature::{
        MAX_SKEW, ReceivedRequest, SignatureError, access_key, verify,
    };
}

#[cfg(feature = "slurm")]
pub mod slurm {
    //! Jobs on the nodes of a Slurm cluster (feature `slurm`).
    //!
    //! The emulator runs on a machine with the commands of Slurm, and shares a directory with all
    //! nodes. [`guide::slurm`](crate::guide::slurm) describes the installation.
    //!
    //! ```no_run
    //! use modelarts_emulator::Emulator;
    //! use modelarts_emulator::jobs::RunnerKind;
    //! use modelarts_emulator::slurm::{Config, Slurm};
    //!
    //! # #[tokio::main(flavor = "current_thread")]
    //! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    //! let config = Config::from_toml(&std::fs::read_to_string("launcher.toml")?)?;
    //! let slurm = Slurm::new("/shared/modelarts")
    //!     .config(config)
    //!     .program("/shared/bin/modelarts-emulator");
    //! let emulator = Emulator::builder()
    //!     .runner(RunnerKind::Slurm(slurm))
    //!     .data_dir("/var/tmp/modelarts")
    //!     .obs_root("/shared/modelarts/obs")
    //!     .start()
    //!     .await?;
    //! # emulator.shutdown().await;
    //! # Ok(())
    //! # }
    //! ```

    pub use crate::cluster::{
        config::{Config, ConfigError},
        system::Slurm,
    };
}
