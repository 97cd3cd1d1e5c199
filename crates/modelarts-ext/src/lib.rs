//! The SDK for ModelArts training management on Huawei Cloud and Open Telekom
//! Cloud: submit training jobs, follow their events and logs, wait for their end.
//!
//! This page goes through all of it, on a local emulator, so that nothing needs an
//! account. Put its programs into `examples/` of a project, such as `examples/first.rs`,
//! and run them with `cargo run --example first`. The emulator runs training scripts with
//! python3, which must be on the `PATH`.
//!
//! ```toml
//! [dependencies]
//! modelarts-ext = "0.1"
//! futures = "0.3"               # lists and what is followed are its streams
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//!
//! [dev-dependencies]            # for tests and examples; programs do not need it
//! modelarts-emulator = "0.1"
//! ```
//!
//! # A client
//!
//! ```
//! use modelarts_emulator::{Emulator, Timing};
//! use modelarts_ext::{Client, Credentials};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // Without the pauses that the service makes.
//!     let emulator = Emulator::builder().timing(Timing::instant()).start().await?;
//!     let client = Client::builder()
//!         .endpoint(emulator.url())
//!         .project_id(emulator.project_id())
//!         .credentials(Credentials::keys(emulator.access_key(), emulator.secret_key()))
//!         .build()?;
//!
//!     let jobs = client.training_jobs().list().collect(10).await?;
//!     assert!(jobs.is_empty());
//!     emulator.shutdown().await;
//!     Ok(())
//! }
//! ```
//!
//! On the service, [`Client::from_env`] takes region, project and credentials from
//! variables and files ([where it looks](ClientBuilder::from_env)), and
//! [`Client::connect_from_env`] looks up the project, too; [`Client::builder`] takes them in
//! code. Credentials that expire are kept and renewed ([`CachedProvider`]): [`Password`],
//! [`Oidc`], [`Metadata`], and what you make yourself with [`FetchCredentials`] or
//! [`ProvideCredentials`]. They are never shown, logged, or sent after a redirect.
//!
//! ```no_run
//! async fn connect() -> Result<modelarts_ext::Client, modelarts_ext::Error> {
//!     use modelarts_ext::{Client, FetchCredentials, Password};
//!
//!     // A token of a day, renewed in time; it also says which project it is for.
//!     let login = Password::new("https://iam.eu-de.otc.t-systems.com", "alice", "her password")
//!         .domain("OTC00000000001000000001")
//!         .project("eu-de");
//!     Client::builder().region("eu-de").credentials(login.into_provider()).connect().await
//! }
//! ```
//!
//! A proxy is taken from the variables `HTTPS_PROXY` and `NO_PROXY`; what goes to this
//! machine never takes it.
//!
//! # Jobs
//!
//! [`Client::training_jobs`] makes jobs ([`create`](TrainingJobs::create)) and finds them
//! ([`list`](TrainingJobs::list) with a [`Filter`], [`get`](TrainingJobs::get)). A [`Job`]
//! is a job as it was when it was last [looked at](Job::refresh), or when a
//! [wait](Job::wait) for it has seen its end; [`Job::details`] is everything that the service
//! said.
//!
//! Add this to the program above, and call it as `train(&emulator, &client).await?`:
//!
//! ```
//! # use modelarts_emulator::{Emulator, Timing};
//! # use modelarts_ext::{Client, Credentials};
//! async fn train(
//!     emulator: &Emulator,
//!     client: &Client,
//! ) -> Result<modelarts_ext::Job, Box<dyn std::error::Error>> {
//!     // The emulator keeps OBS in a directory.
//!     let code = emulator.obs_root().join("bucket/code");
//!     std::fs::create_dir_all(&code)?;
//!     std::fs::write(code.join("train.py"), "print('hello')\n")?;
//!
//!     let job = client
//!         .training_jobs()
//!         .create("first")
//!         .preset_image("PyTorch", "pytorch_1.8.0")
//!         .code_dir("obs://bucket/code/")
//!         .boot_file("obs://bucket/code/train.py")
//!         .flavor("modelarts.vm.cpu.2u")
//!         .submit()
//!         .await?;
//!     let end = job.wait().await?;
//!     assert!(end.is_completed());
//!     println!("ran for {:?}", end.job().time_run());
//!     Ok(job)
//! }
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! #     let emulator = Emulator::builder().timing(Timing::instant()).start().await?;
//! #     let client = Client::builder()
//! #         .endpoint(emulator.url())
//! #         .project_id(emulator.project_id())
//! #         .credentials(Credentials::keys(emulator.access_key(), emulator.secret_key()))
//! #         .build()?;
//! #     train(&emulator, &client).await?;
//! #     Ok(())
//! # }
//! ```
//!
//! Making one is a builder that never fails in the middle: [`CreateJob::check`]
//! says everything that is wrong with it at once, and
//! [`submit`](CreateJob::submit) refuses that before anything is sent. A job can be
//! [read from YAML](TrainingJobs::from_yaml) and [copied](Job::copy_as), too. The
//! page `CREATING.md` in this crate goes from a script on disk to a running job, and
//! lists all parameters.
//!
//! What people look for in them has accessors: [`Job::phase`], [`Job::exit_codes`],
//! [`Job::restarts`], [`Job::time_queued`], [`Job::time_run`], [`Job::outputs`],
//! [`Job::log_object`].
//!
//! [`Job::terminate`] stops a job; it has ended when a wait says so. [`Job::delete`]
//! deletes one with its events and logs, and [`TrainingJobs::delete_many`] many with one
//! call, where the cloud has it. [`Job::set_description`] changes what can be changed
//! afterwards.
//!
//! # Lists
//!
//! Every list is a stream of rows or of pages that asks for more as it is polled and
//! stops when it is dropped. A search has typed conditions, which are checked before
//! anything is sent and can be held against a job [locally](Filter::matches):
//!
//! ```
//! async fn list(client: &modelarts_ext::Client) -> Result<(), modelarts_ext::Error> {
//!     use futures::TryStreamExt;
//!     use modelarts_ext::{Filter, types::Phase};
//!
//!     let mut jobs = client
//!         .training_jobs()
//!         .list()
//!         .filter(Filter::phase().is_in([Phase::Running, Phase::Completed]))
//!         .filter(Filter::name().like("first"))
//!         .items();
//!     while let Some(job) = jobs.try_next().await? {
//!         println!("{} {}", job.name(), job.phase());
//!     }
//!     Ok(())
//! }
//! ```
//!
//! After the first page, up to four are [in flight](ListJobs::in_flight). Pages overlap:
//! a row that was there all the time comes once, whatever came and went while the list
//! was read. A list that the service does not keep in order, or that has fewer rows than
//! it counts, is read again, and ends with an error if rows may still be missing;
//! [`Error::position`] says where to go on. [`Page::position`] can be stored, and gone on
//! from on another day.
//!
//! Besides jobs and their events there are [algorithms](Client::algorithms),
//! [flavors](Client::flavors), [preset images](Client::engines),
//! [experiments](Client::experiments), [tags](Client::job_tags),
//! [quotas](Client::quotas), and of a job its [stages](Job::stages),
//! [trials](Job::trials), [artifacts](Job::artifacts) and more: all operations that list
//! something are streams of the same kind.
//!
//! # Waiting
//!
//! [`Job::wait`] is a value. Await it for the [`Outcome`], [`observe`](Wait::observe) it
//! as a stream, or let it end [as soon as something holds](Wait::until). A few answers that
//! fail do not end it, and its [time limit](Wait::timeout) is an outcome, not an error:
//!
//! ```
//! async fn wait(job: &modelarts_ext::Job) -> Result<(), modelarts_ext::Error> {
//!     use std::time::Duration;
//!     use modelarts_ext::Outcome;
//!
//!     let end = job.wait().timeout(Duration::from_secs(12 * 3600)).await?;
//!     match end.outcome() {
//!         Outcome::Completed => println!("done"),
//!         Outcome::Failed { exit_code, .. } => println!("failed: {exit_code:?}"),
//!         Outcome::Terminated { by } => println!("stopped: {by:?}"),
//!         Outcome::TimedOut => println!("it still runs"),
//!         other => println!("{other:?}"),
//!     }
//!     Ok(())
//! }
//! ```
//!
//! [`TrainingJobs::wait_all`] waits for hundreds of jobs with one search a round, and
//! gives each when it has ended.
//!
//! # Following
//!
//! [`Job::follow`] tells everything that a job does and says: its phases, its events,
//! the lines of all its logs. [`Events::follow`] and [`Logs::follow`] do one of these. A
//! line that could not be had is a [gap](LogItem::Gap) with its size, never silence; an
//! event has a [kind](Event::kind), so that no program has to read its text. Logs are
//! read by line numbers where the cloud has them, by preview elsewhere
//! ([`LogAccess`]).
//!
//! ```
//! async fn follow(job: &modelarts_ext::Job) -> Result<(), modelarts_ext::Error> {
//!     use futures::TryStreamExt;
//!     use modelarts_ext::{LogItem, JobUpdate};
//!
//!     let mut news = job.follow().stream();
//!     while let Some(news) = news.try_next().await? {
//!         match news {
//!             JobUpdate::Phase(job) => println!("now {}", job.phase()),
//!             JobUpdate::Event(event) => println!("{event}"),
//!             JobUpdate::Log { task, item: LogItem::Line(line) } => println!("{task}: {line}"),
//!             other => println!("{other:?}"),
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! The service reports late. What appears more than two minutes after its own time is
//! found only when the job has ended ([`Events::lateness`]), and following goes on until half
//! a minute after the end has brought nothing new ([`Events::quiet`]); both can be set, also
//! of [`FollowJob`]. Answers that fail do not count as nothing new: what is followed is
//! complete when it ends without an error.
//!
//! [`Job::metrics`] gives what a task used of the machine as [series](MetricSeries) in time.
//!
//! # When something fails
//!
//! There is one [`Error`]. Ask it what it is, and what is known:
//!
//! ```
//! async fn look(client: &modelarts_ext::Client, id: &str) -> Result<(), modelarts_ext::Error> {
//!     match client.training_jobs().get(id).await {
//!         Ok(job) => println!("{} is {}", job.name(), job.phase()),
//!         Err(error) if error.is_not_found() => println!("there is no such job"),
//!         Err(error) if error.is_throttled() => {
//!             println!("too many calls; again in {:?}", error.retry_after());
//!         }
//!         Err(error) => {
//!             println!("{error}\nwhat to do: {}", error.advice().unwrap_or("ask support"));
//!             println!("they ask for {:?}", error.request_id());
//!             return Err(error);
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! Calls are sent again when that is safe: what only reads, or changes nothing
//! when it is done twice, after lost connections and passing faults of the
//! service; what makes a new thing, only if it cannot have been executed.
//! [`CreateJob::submit`] looks for the job first, and sends it again if there is none.
//! [`RetryPolicy`] says how often and for how long. All attempts of a call together may
//! take two minutes, or as long as [`ClientBuilder::timeout`] says, and for some calls
//! [`Client::with_timeout`]. Methods that make several calls, such as
//! [`CreateJob::submit`] and [`Job::metrics`], may take five minutes, or as long as
//! [`ClientBuilder::overall_timeout`] says; waits and streams have limits of their own.
//!
//! Each call is a span `modelarts` of the crate `tracing`, of the level info, with its
//! operation, status, request id, attempts and milliseconds. Each time that it is sent
//! again is an event of the level debug in it.
//!
//! # Tests
//!
//! The emulator is for your own tests, too: it can be told to [go wrong], its clock can be
//! moved, and it counts what it was asked.
//!
//! ```
//! # use modelarts_emulator::Emulator;
//! # use modelarts_ext::{Client, Credentials};
//! async fn a_lost_connection_is_survived(
//!     emulator: &Emulator,
//!     client: &Client,
//! ) -> Result<(), Box<dyn std::error::Error>> {
//!     use modelarts_emulator::faults::{Fault, FaultRule};
//!
//!     emulator.faults().add(FaultRule::times(2, "ListTrainingJobs", Fault::Reset))?;
//!     let before = emulator.requests()["ListTrainingJobs"].received;
//!     client.training_jobs().list().collect(10).await?;
//!     assert_eq!(emulator.requests()["ListTrainingJobs"].received - before, 3);
//!     Ok(())
//! }
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! #     let emulator = Emulator::start().await?;
//! #     let client = Client::builder()
//! #         .endpoint(emulator.url())
//! #         .project_id(emulator.project_id())
//! #         .credentials(Credentials::keys(emulator.access_key(), emulator.secret_key()))
//! #         .build()?;
//! #     a_lost_connection_is_survived(&emulator, &client).await
//! # }
//! ```
//!
//! [go wrong]: https://docs.rs/modelarts-emulator
//!
//! # Examples
//!
//! Each of these parts has a program in `examples/` that runs on the emulator:
//! `credentials`, `create`, `lists`, `waiting`, `following`, `errors`; and `quickstart` is
//! all of it in one.
//!
//! # TLS
//!
//! TLS is rustls with the ring provider and the certificates of the platform; with
//! `default-features = false` and the feature `native-tls` it is the library of the
//! platform. No default of the process is set.
//!
//! A program that uses reqwest itself keeps the TLS that it chose for it, such as that
//! of reqwest's default features. One that chose none must choose one now, or begin with
//! `rustls::crypto::ring::default_provider().install_default()`: Cargo joins the features
//! of all users of a crate, reqwest has none for rustls with ring, and with its
//! `rustls-no-provider` alone `reqwest::Client::new()` panics.
//!
//! # Generated code
//!
//! The operations and types come from the OpenAPI description. The generated code in the
//! package of modelarts-api is compiled. The feature `generate` makes it anew at build
//! time: the same code, and the generator and its dependencies are built, too.
//!
//! # Everything else
//!
//! [`Client::call`] reaches every operation of the description through the
//! generated client ([`Client::api`]), signed and retried, with the same errors.
//! The types are in [`types`].

pub mod catalog;
pub mod client;
pub mod clock;
pub mod config;
pub mod credentials;
pub mod error;
mod http;
pub mod jobs;
pub mod operations;
pub mod pagination;
mod transport;
pub mod validation;

pub use client::{Client, ClientBuilder, Response};
pub use credentials::Credentials;
pub use error::{Error, ErrorKind};
pub use http::signing;
pub use jobs::{
    Filter, Job, TrainingJobs,
    create::CreateJob,
    events::{Event, EventKind},
    logs::LogItem,
    wait::Outcome,
};
pub use modelarts_api::{self as api, types};
pub use retry::RetryPolicy;
pub use transport::{connector, retry};

/// The Rust in the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// So is the Rust in the page on creating jobs.
#[cfg(doctest)]
#[doc = include_str!("../CREATING.md")]
struct Creating;
