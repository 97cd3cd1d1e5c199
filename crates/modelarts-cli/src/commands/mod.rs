//! Commands of the program. Each file defines the arguments and the execution of a command.

mod api;
mod catalog;
mod console;
mod create;
mod data;
mod help;
mod jobs;
mod record;
mod schemas;
mod setup;
mod sync;
mod watch;

pub use create::init::JOB_SCHEMA;
pub use schemas::schemas;

use clap::Subcommand;

use crate::{
    exit_status::ExitStatus,
    failure::Failure,
    output::Format,
    session::{Place, Session},
};

/// A command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Submits a job: checks it, sends code and data, follows it to its end.
    Submit(create::submit::Submit),
    /// Runs a job on this machine, on the embedded emulator, without an account.
    Run(create::run::Run),
    /// Runs combinations of hyper-parameters, and ranks them by a metric.
    Sweep(create::sweep::Sweep),
    /// Checks a job without sending anything.
    Check(create::check::Check),
    /// Writes a job file.
    Init(create::init::Init),
    /// Lists jobs, newest first, or the files in OBS.
    #[command(visible_alias = "list")]
    Ls(jobs::ls::Ls),
    /// Prints a job with its settings, phases and tasks.
    Show(jobs::show::Show),
    /// Compares two jobs: how they were made, and how they went.
    Diff(jobs::diff::Diff),
    /// Lists the trials of a hyper-parameter search of the service, the best first.
    Trials(jobs::values::trials::Trials),
    /// Prints the logs of a job.
    Logs(jobs::logs::Logs),
    /// Draws the usage of a job, and the values that it prints.
    Metrics(jobs::values::metrics::Metrics),
    /// Prints the events of a job.
    Events(jobs::events::Events),
    /// Shows a job live: phases, workers, progress and log; the exit code is its outcome.
    ///
    /// Keys: q or Ctrl-C leaves the job running, t stops it after a question. Without a terminal,
    /// the command prints phases, events and log lines as `submit` does.
    ///
    /// Progress is read from log lines with `epoch 3/40`, `step 100/1000`, a bar of tqdm, or a JSON
    /// object with the fields of the job status of Kubeflow Trainer: {"progressPercentage": 45,
    /// "estimatedRemainingSeconds": 90, "metrics": [{"name": "loss", "value": "0.2"}]}.
    Watch(watch::Watch),
    /// Shows the usage of the active jobs live; q ends.
    ///
    /// The 20 newest jobs are shown. Their usage is the mean of the last values of up to four tasks
    /// of each. Without a terminal, they are printed once.
    Top(jobs::top::Top),
    /// Waits for the end of jobs; the exit code is their outcome.
    Wait(jobs::wait::Wait),
    /// Changes the priority or the description of jobs.
    Update(jobs::update::Update),
    /// Stops jobs.
    Stop(jobs::stop::Stop),
    /// Deletes jobs with their logs and events.
    Rm(jobs::rm::Rm),
    /// Explains why a job failed or waits.
    Explain(jobs::explain::Explain),
    /// Receives the outputs of a job.
    Download(jobs::download::Download),
    /// Copies a file from or to OBS.
    Cp(sync::cp::Cp),
    /// Synchronizes a directory with OBS.
    Sync(sync::Sync),
    /// Lists and removes versions of local data in OBS.
    Data(data::DataCommand),
    /// Lists the flavors of nodes.
    Flavors(catalog::flavors::Flavors),
    /// Lists preset images.
    Engines(catalog::engines::Engines),
    /// Lists algorithms of the project.
    Algorithms(catalog::algorithms::Algorithms),
    /// Calls any operation of the service.
    Api(api::Api),
    /// Records calls to the service without names, and compares recordings with the description.
    Record(record::Record),
    /// Manages contexts: named settings of clouds and emulators.
    Context(setup::context::ContextCommand),
    /// Starts the emulator of the service on this machine.
    Dev(setup::dev::Dev),
    /// Serves a web page of the jobs on this machine.
    Console(console::ConsoleCommand),
    /// Checks credentials, endpoints, clock and OBS, and gives advice about problems.
    Doctor(setup::doctor::Doctor),
    /// Prints the completion script of a shell.
    Completion(setup::generated::Completion),
    /// Writes the manual pages.
    Man(setup::generated::Man),
    /// Prints the help of the program or of a command, or the command line as JSON.
    Help(help::Help),
}

impl Command {
    /// Returns `true` if the command runs the emulator or the console page in this process.
    pub(crate) fn is_server(&self) -> bool {
        matches!(self, Self::Run(_) | Self::Sweep(_) | Self::Dev(_) | Self::Console(_))
    }

    /// Returns `true` if the exit code is the outcome of a job.
    pub(crate) fn has_outcome(&self) -> bool {
        match self {
            Self::Submit(_) | Self::Run(_) | Self::Sweep(_) | Self::Watch(_) | Self::Wait(_) => {
                true
            }
            Self::Logs(command) => command.has_outcome(),
            _ => false,
        }
    }

    /// Returns an error if the command does not print this format.
    pub(crate) fn require_format(&self, format: Format) -> Result<(), Failure> {
        let (is_printed, rule) = match format {
            // Text, unless the format is one of documents.
            _ if matches!(self, Self::Help(_)) => return Ok(()),
            Format::Csv => (self.prints_rows(), "csv: the command prints no list"),
            Format::Job => (matches!(self, Self::Show(_)), "job: only `modelarts show` prints it"),
            _ => return Ok(()),
        };
        match is_printed {
            true => Ok(()),
            false => {
                Err(Failure::usage(format_args!("--output {rule}; the format must be another")))
            }
        }
    }

    fn prints_rows(&self) -> bool {
        match self {
            Self::Events(command) => !command.follows(),
            Self::Data(_)
            | Self::Ls(_)
            | Self::Diff(_)
            | Self::Wait(_)
            | Self::Update(_)
            | Self::Stop(_)
            | Self::Rm(_)
            | Self::Download(_)
            | Self::Sweep(_)
            | Self::Metrics(_)
            | Self::Trials(_)
            | Self::Top(_)
            | Self::Flavors(_)
            | Self::Engines(_)
            | Self::Algorithms(_) => true,
            _ => false,
        }
    }

    /// Returns the service of the command.
    pub(crate) fn place(&self) -> Place {
        #[cfg(unix)]
        {
            let local = match self {
                Self::Ls(command) => command.local,
                Self::Show(command) => command.local,
                Self::Diff(command) => command.local,
                Self::Logs(command) => command.local,
                Self::Events(command) => command.local,
                Self::Explain(command) => command.local,
                Self::Metrics(command) => command.local,
                Self::Download(command) => command.local,
                Self::Rm(command) => command.local,
                _ => return Place::Service,
            };
            if local.local {
                return Place::Records;
            }
        }
        Place::Service
    }

    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        match self {
            Self::Submit(command) => command.run(session).await,
            Self::Run(command) => command.run(session).await,
            Self::Sweep(command) => command.run(session).await,
            Self::Check(command) => command.run(session).await,
            Self::Init(command) => command.run(session).await,
            Self::Ls(command) => command.run(session).await,
            Self::Show(command) => command.run(session).await,
            Self::Diff(command) => command.run(session).await,
            Self::Trials(command) => command.run(session).await,
            Self::Logs(command) => command.run(session).await,
            Self::Metrics(command) => command.run(session).await,
            Self::Events(command) => command.run(session).await,
            Self::Watch(command) => command.run(session).await,
            Self::Top(command) => command.run(session).await,
            Self::Wait(command) => command.run(session).await,
            Self::Update(command) => command.run(session).await,
            Self::Stop(command) => command.run(session).await,
            Self::Rm(command) => command.run(session).await,
            Self::Explain(command) => command.run(session).await,
            Self::Download(command) => command.run(session).await,
            Self::Cp(command) => command.run(session).await,
            Self::Sync(command) => command.run(session).await,
            Self::Data(command) => command.run(session).await,
            Self::Flavors(command) => command.run(session).await,
            Self::Engines(command) => command.run(session).await,
            Self::Algorithms(command) => command.run(session).await,
            Self::Api(command) => command.run(session).await,
            Self::Record(command) => command.run(session).await,
            Self::Context(command) => command.run(session).await,
            Self::Dev(command) => command.run(session).await,
            Self::Console(command) => command.run(session).await,
            Self::Doctor(command) => command.run(session).await,
            Self::Completion(command) => command.run(session).await,
            Self::Man(command) => command.run(session).await,
            Self::Help(command) => command.run(session, schemas()).await,
        }
    }
}
