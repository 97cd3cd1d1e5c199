//! Command `modelarts sweep`, which runs a script with combinations of hyper-parameters.

mod report;
mod space;

pub(crate) use report::TrialRow;

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use clap::Args;
use futures::{StreamExt, TryStreamExt, stream};
use indicatif::ProgressBar;
use modelarts_ext::{Client, CreateJob, Filter, Job, jobs::wait::Waited};
use modelarts_obs::{Obs, Staging};

use self::{
    report::Best,
    space::{Dimension, Trial},
};
use crate::{
    commands::{
        create::{
            OUTPUT_DIRECTORY,
            check::require_sound_file,
            choices::complete,
            draft::{Draft, without_suffix},
            flags::JobFlags,
            ignore_outputs,
            input_size::require_disk,
            outputs::first_file,
            staging::done,
            submission::{SubmitFlags, add_tags, require_tags},
            submit::staging,
        },
        jobs::{download::receive_outputs, positive_number},
    },
    exit_status::ExitStatus,
    failure::Failure,
    follow::Interrupt,
    progress::{ProgressBars, count},
    session::Session,
    terminal::note,
};

/// Task whose log has the metric.
const TASK: &str = "worker-0";
/// Number of concurrent requests to OBS.
const CONCURRENT: usize = 8;

const EXAMPLES: &str = "\
Examples:
  modelarts sweep train.py --flavor modelarts.vm.cpu.8u -p lr=1e-3,1e-2 -p seed=1..5 --max 4 \\
    --metric 'loss (\\S+)' --best min --svg loss.svg
  modelarts sweep train.py --local -p lr=0.1,0.2 --metric 'accuracy (\\S+)' --best max -o csv

Each trial is a job whose name tells its values. The same command continues after an interruption: it
submits only the trials that do not exist, and waits for all. Outputs are in OUT/TRIAL/NAME/ of the
bucket. The value of a trial is the best one of its log; LAST is the last one.";

#[derive(Debug, Args)]
#[command(
    after_long_help = EXAMPLES,
    mut_arg("param", |argument| argument.help(
        "Hyper-parameter with a list or a range of values: lr=1e-3,1e-2, seed=1..5; a comma after a \
         backslash belongs to the value; may be repeated"
    ))
)]
pub(crate) struct Sweep {
    #[command(flatten)]
    job: JobFlags,
    #[command(flatten)]
    submit: SubmitFlags,
    /// Runs all combinations, which is the default.
    #[arg(long, conflicts_with = "random", help_heading = "Sweep")]
    grid: bool,
    /// Runs this number of combinations, which are chosen at random; the same ones at each call.
    #[arg(long, value_name = "TRIALS", value_parser = positive_number::<u64>, help_heading = "Sweep")]
    random: Option<u64>,
    /// Maximum number of unfinished jobs.
    #[arg(long, value_name = "JOBS", default_value_t = 4, value_parser = positive_number::<usize>, help_heading = "Sweep")]
    max: usize,
    /// Regular expression (ECMAScript) whose group is a number in the log of worker-0.
    #[arg(long, value_name = "REGEX", requires = "best", help_heading = "Sweep")]
    metric: Option<String>,
    /// The best value of the metric.
    #[arg(long, value_enum, requires = "metric", help_heading = "Sweep")]
    best: Option<Best>,
    /// Writes charts of the metric over each numeric hyper-parameter.
    #[arg(long, value_name = "FILE", requires = "metric", help_heading = "Sweep")]
    svg: Option<PathBuf>,
    /// Runs the jobs on this machine, in the embedded emulator; no account is needed.
    #[cfg(unix)]
    #[arg(long, conflicts_with_all = ["tag", "overwrite_outputs"])]
    local: bool,
}

/// Service of the trials.
struct Site<'a> {
    session: &'a Session,
    client: &'a Client,
    staging: Staging,
    /// OBS on this machine, for trials on it.
    local: Option<Obs>,
}

impl Sweep {
    pub(crate) async fn run(mut self, session: &Session) -> Result<ExitStatus, Failure> {
        let (constants, dimensions) = space::split(&self.job.param)?;
        if dimensions.is_empty() {
            return Err(Failure::usage(
                "sweep must have a hyper-parameter with several values, such as -p lr=0.1,0.01; \
                 `modelarts submit` runs one job",
            ));
        }
        self.job.param = constants;
        let base = Draft::base(&self.job, session).await?;
        #[cfg(unix)]
        if self.local {
            return self.run_here(session, base.as_ref(), &dimensions).await;
        }
        let client = session.client().await?;
        require_tags(&self.submit.tag, client)?;
        let context = session.selection.context()?;
        let draft = Draft::new(&self.job, base.as_ref(), &client.training_jobs(), context)?;
        require_sound_file(&draft, client).await?;
        let staging = staging(session, &draft).await?;
        let trials = self.trials(&draft, &dimensions)?;
        self.run_on(&Site { session, client, staging, local: None }, draft, trials).await
    }

    #[cfg(unix)]
    async fn run_here(
        &self,
        session: &Session,
        base: Option<&serde_json::Value>,
        dimensions: &[Dimension],
    ) -> Result<ExitStatus, Failure> {
        use crate::{commands::create::local::LocalService, context::Context, local_jobs::restore};

        let pool = self.job.parameters.text("pool");
        let service =
            LocalService::start(pool, true, modelarts_emulator::jobs::Container::Auto).await?;
        let client = &service.client;
        let result = async {
            let draft = Draft::new(&self.job, base, &client.training_jobs(), &Context::default())?;
            let mut draft = Draft { bucket: None, ..draft };
            require_sound_file(&draft, client).await?;
            LocalService::require_python(&draft).await?;
            service.adapt(&mut draft).await?;
            let trials = self.trials(&draft, dimensions)?;
            // Trials of an earlier call are adopted like those of the service.
            let is_trial = |name: &str| trials.iter().any(|trial| trial.name == name);
            let environment = &draft.job.body()["algorithm"]["environments"];
            restore(service.emulator(), is_trial, environment).await?;
            ignore_outputs();
            let (staging, local) = (service.staging.clone(), Some(service.obs.clone()));
            self.run_on(&Site { session, client, staging, local }, draft, trials).await
        };
        let result = result.await;
        service.stop().await;
        result
    }

    /// Returns the trials. Their names begin with that of the draft without a random suffix.
    fn trials(&self, draft: &Draft, dimensions: &[Dimension]) -> Result<Vec<Trial>, Failure> {
        let name = draft.name();
        let base = match self.job.parameters.text("name") {
            Some(name) => name,
            None => without_suffix(&name),
        };
        space::trials(base, dimensions, self.random)
    }

    /// Sends code and data, submits the trials that do not exist, and waits for all.
    async fn run_on(
        &self,
        site: &Site<'_>,
        mut draft: Draft,
        trials: Vec<Trial>,
    ) -> Result<ExitStatus, Failure> {
        let (session, client) = (site.session, site.client);
        self.require_metric(client)?;
        draft.result = self.svg.clone();
        let outputs = std::mem::take(&mut draft.outputs);
        let secrets = draft.inherited.clone();
        complete(&mut draft, client).await?;
        let existing = existing(client, &trials).await?;
        if !self.submit.overwrite_outputs {
            require_free(site, &trials, &existing, &outputs).await?;
        }
        if site.local.is_none() {
            require_disk(&draft, client, &site.staging).await?;
        }
        let mut interrupt = Interrupt::new();
        let Some(staged) = interrupt.unless(draft.upload(&site.staging, session.terminal)).await
        else {
            note("\ninterrupted: no job was submitted");
            return Err(Failure::Status(ExitStatus::Interrupted));
        };
        let job = staged?.0;
        let jobs = trials.iter().map(|trial| trial_job(site, &job, trial, &outputs));
        let jobs = jobs.collect::<Result<Vec<_>, _>>()?;
        let known = match existing.len() as u64 {
            0 => String::new(),
            known => format!(", {known} exist"),
        };
        done(
            "Sweep",
            &format!(
                "{}, at most {} at a time{known}",
                count(trials.len() as u64, "trial"),
                self.max
            ),
        );
        let screen = Screen::new(session, self.metric.clone());
        let shown = screen.clone();
        let mut sweep = client.training_jobs().submit_all(jobs).at_most(self.max).adopt_existing();
        sweep = sweep.on_submitted(move |_, job| shown.add(job));
        if Session::is_local(client) {
            let (shortest, longest) = (Duration::from_millis(50), Duration::from_millis(500));
            sweep = sweep.interval(shortest, longest).rate_limit(f64::INFINITY);
        }
        let mut results = sweep.stream();
        let mut rows: Vec<Option<TrialRow>> = trials.iter().map(|_| None).collect();
        loop {
            let next = interrupt.unless(results.next()).await;
            let Some(next) = next else {
                screen.bars.line(format_args!(
                    "interrupted; {} of {} trials ended; the same command continues from here",
                    rows.iter().flatten().count(),
                    trials.len()
                ));
                return Err(Failure::Status(ExitStatus::Interrupted));
            };
            let Some((index, result)) = next else {
                break;
            };
            let (Some(trial), Some(row)) = (trials.get(index), rows.get_mut(index)) else {
                continue;
            };
            let ended = match result {
                Ok(waited) => {
                    let is_new = !existing.contains(&trial.name);
                    self.ended(site, trial, &waited, is_new, &secrets).await?
                }
                Err(error) => TrialRow::refused(trial, &draft, error),
            };
            screen.remove(&trial.name);
            screen.bars.line(ended.line());
            *row = Some(ended);
        }
        drop(screen);
        let rows = report::ranked(rows.into_iter().flatten().collect(), self.best);
        if let Some(path) = &self.svg {
            let metric = self.metric.as_deref().unwrap_or_default();
            report::write_svg(&rows, metric, path)?;
        }
        let status = rows.iter().map(|row| row.status).find(|it| *it != ExitStatus::Success);
        session.output.list(stream::iter([Ok(rows)])).await?;
        Ok(status.unwrap_or(ExitStatus::Success))
    }

    /// Returns an error if the regular expression is wrong. Sends no request.
    fn require_metric(&self, client: &Client) -> Result<(), Failure> {
        if let Some(regex) = &self.metric {
            let any = client.training_jobs().job("00000000-0000-0000-0000-000000000000")?;
            // The expression is compiled here.
            any.logs(TASK).values(regex).map(drop).map_err(Failure::usage)?;
        }
        Ok(())
    }

    /// Reads the metric of a job that has ended. Tags a new job; receives the outputs of a new job
    /// on this machine, and records it.
    async fn ended(
        &self,
        site: &Site<'_>,
        trial: &Trial,
        waited: &Waited,
        is_new: bool,
        secrets: &[String],
    ) -> Result<TrialRow, Failure> {
        let job = waited.job();
        if is_new {
            add_tags(&self.submit.tag, site.client, job).await;
        }
        let values = match &self.metric {
            Some(regex) => {
                let values = job.logs(TASK).values(regex)?.collect().await;
                // A job that never started has no log.
                values.unwrap_or_default().into_iter().map(|value| value.value).collect()
            }
            None => Vec::new(),
        };
        if let Some(obs) = site.local.as_ref().filter(|_| is_new) {
            let directory = Path::new(OUTPUT_DIRECTORY).join(&trial.name);
            let terminal = site.session.terminal;
            receive_outputs(job, None, &directory, Some(obs), terminal).await?;
            #[cfg(unix)]
            crate::local_jobs::record(job, secrets, &directory).await;
        }
        Ok(TrialRow::new(trial, waited, values, self.best))
    }
}

/// Returns the names of the trials that exist.
async fn existing(client: &Client, trials: &[Trial]) -> Result<BTreeSet<String>, Failure> {
    let mut names: Vec<&str> = trials.iter().map(|trial| trial.name.as_str()).collect();
    names.sort_unstable();
    let common = match (names.first(), names.last()) {
        (Some(first), Some(last)) => {
            let same = first.bytes().zip(last.bytes()).take_while(|(one, other)| one == other);
            first.get(..same.count()).unwrap_or_default()
        }
        _ => "",
    };
    let jobs = client.training_jobs().list().filter(Filter::name().like(common)).stream();
    let jobs = jobs.try_filter_map(|job| {
        let name = job.name().to_owned();
        std::future::ready(Ok(names.binary_search(&name.as_str()).is_ok().then_some(name)))
    });
    Ok(jobs.try_collect().await?)
}

/// Returns an error if an output of a trial that does not exist has files.
async fn require_free(
    site: &Site<'_>,
    trials: &[Trial],
    existing: &BTreeSet<String>,
    outputs: &[String],
) -> Result<(), Failure> {
    let new = trials.iter().filter(|trial| !existing.contains(&trial.name));
    let places = new.flat_map(|trial| outputs.iter().map(move |name| (trial, name)));
    let mut checks = stream::iter(places)
        .map(async |(trial, name)| {
            let path = site.staging.root()?.join(&format!("out/{}/{name}", trial.name))?;
            Ok::<_, Failure>((first_file(&site.staging, &path).await?, path))
        })
        .buffered(CONCURRENT);
    while let Some((file, path)) = checks.try_next().await? {
        if let Some(file) = file {
            return Err(Failure::Unchecked(
                format!(
                    "the sweep would overwrite results, so nothing was sent: the output {path} \
                     must be empty, and has {file}; --name chooses other names, and \
                     --overwrite-outputs submits the jobs as they are"
                ),
                Vec::new(),
            ));
        }
    }
    Ok(())
}

/// Returns the job of a trial. Its outputs have addresses with its name, so that a later call finds
/// the same job.
fn trial_job(
    site: &Site<'_>,
    job: &CreateJob,
    trial: &Trial,
    outputs: &[String],
) -> Result<CreateJob, Failure> {
    let mut job = job.clone().name(&trial.name);
    for (name, value) in &trial.parameters {
        job = job.parameter(name, value);
    }
    let body = job.body();
    let known = body["algorithm"]["outputs"].as_array();
    for (index, output) in known.into_iter().flatten().enumerate() {
        let name = output["name"].as_str().unwrap_or_default();
        if outputs.iter().any(|known| known == name) {
            let path = site.staging.root()?.join(&format!("out/{}/{name}", trial.name))?;
            let field = format!("algorithm.outputs[{index}].remote.obs.obs_url");
            job = job.set_field(&field, &format!("{path}/"))?;
        }
    }
    Ok(job)
}

/// Unfinished trials on the terminal, with the last value of the metric.
#[derive(Clone)]
struct Screen {
    bars: ProgressBars,
    metric: Option<String>,
    running: Arc<Mutex<HashMap<String, ProgressBar>>>,
}

impl Screen {
    fn new(session: &Session, metric: Option<String>) -> Self {
        Self { bars: ProgressBars::new(session.terminal, true), metric, running: Arc::default() }
    }

    fn add(&self, job: &Job) {
        if job.is_final() || !self.bars.is_drawn() {
            return;
        }
        let bar = self.bars.spinner(job.name());
        self.lock().insert(job.name().to_owned(), bar.clone());
        let values = self.metric.as_deref().map(|regex| job.logs(TASK).values(regex));
        if let Some(Ok(values)) = values {
            tokio::spawn(async move {
                let mut values = values.follow();
                // The end of the job is reported without the live values.
                while let Ok(Some(value)) = values.try_next().await {
                    bar.set_message(value.line);
                }
            });
        }
    }

    fn remove(&self, name: &str) {
        if let Some(bar) = self.lock().remove(name) {
            bar.finish_and_clear();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, ProgressBar>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
