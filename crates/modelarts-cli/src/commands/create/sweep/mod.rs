//! Command `modelarts sweep`, which runs a script with combinations of hyper-parameters.

#[cfg(unix)]
mod local;
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
#[cfg(unix)]
use modelarts_ext::Outcome;
use modelarts_ext::{
    Client, CreateJob, Error, Filter, Job,
    jobs::{create::without_suffix, wait::Waited},
};
use modelarts_obs::Staging;
use tokio::{sync::mpsc, task::JoinSet};

#[cfg(unix)]
use self::local::{Local, deliver_again};
use self::{
    report::{Best, Metric},
    space::{Dimension, Trial},
};
#[cfg(unix)]
use crate::{
    commands::create::{
        ignore_outputs,
        local::{Ending, LocalService, run_name},
    },
    context::Context,
    local_jobs,
};
use crate::{
    commands::{
        create::{
            OUTPUT_DIRECTORY,
            check::require_sound_file,
            choices::complete,
            draft::{Draft, data_versions::differences},
            flags::JobFlags,
            input_size::require_disk,
            outputs::{named_outputs, require_free_directory, require_free_names},
            staging::done,
            submission::{SubmitFlags, add_tags, require_tags},
            submit::staging,
            values::script_parameters,
        },
        jobs::positive_number,
    },
    exit_status::ExitStatus,
    failure::Failure,
    follow::Interrupt,
    output::{Format, Row as _, one_line},
    progress::{ProgressBars, count},
    session::Session,
    state::record_written,
    terminal::note,
};

/// Task whose log has the metric.
const TASK: &str = "worker-0";
/// Time for the tags of the last jobs after Ctrl-C.
const TAGGING_TIMEOUT: Duration = Duration::from_secs(5);

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
    #[arg(long, conflicts_with = "tag")]
    local: bool,
}

/// Service of the trials.
struct Site<'a> {
    session: &'a Session,
    client: &'a Client,
    staging: Staging,
    /// Service of trials on this machine.
    #[cfg(unix)]
    local: Option<Local<'a>>,
}

impl Site<'_> {
    /// Returns `true` for trials on this machine.
    fn is_local(&self) -> bool {
        #[cfg(unix)]
        return self.local.is_some();
        #[cfg(not(unix))]
        false
    }
}

impl Sweep {
    pub(crate) async fn run(mut self, session: &Session) -> Result<ExitStatus, Failure> {
        let of_script = script_parameters(&self.job.script_arguments).map_err(Failure::usage)?;
        let (constants, dimensions) = space::split(&self.job.param, &of_script)?;
        if dimensions.is_empty() {
            return Err(Failure::usage(
                "sweep must have a hyper-parameter with several values, such as -p lr=0.1,0.01; \
                 `modelarts submit` runs one job",
            ));
        }
        if let Some(path) = &self.svg
            && path.parent().is_some_and(|parent| parent != Path::new("") && !parent.is_dir())
        {
            return Err(Failure::usage(format_args!(
                "--svg {}: its directory must exist",
                path.display()
            )));
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
        draft.confirm_versions(&staging, session.terminal, self.submit.yes).await?;
        let trials = self.trials(&draft, &dimensions)?;
        let site = Site {
            session,
            client,
            staging,
            #[cfg(unix)]
            local: None,
        };
        self.run_on(&site, draft, trials, &mut Interrupt::new()).await
    }

    #[cfg(unix)]
    async fn run_here(
        &self,
        session: &Session,
        base: Option<&serde_json::Value>,
        dimensions: &[Dimension],
    ) -> Result<ExitStatus, Failure> {
        // A signal during the start must not leave files of the emulator behind.
        let mut interrupt = Interrupt::new();
        let pool = self.job.parameters.text("pool");
        let name = run_name(&self.job, base);
        let place = (Path::new(OUTPUT_DIRECTORY), name.as_str());
        let container = modelarts_emulator::jobs::Container::Auto;
        let service = LocalService::start(place, pool, true, container).await?;
        let client = &service.client;
        let (staging, local) = (service.staging.clone(), Some(Local::new(&service)));
        let site = Site { session, client, staging, local };
        let result = async {
            let draft = Draft::new(&self.job, base, &client.training_jobs(), &Context::default())?;
            let mut draft = Draft { bucket: None, ..draft };
            require_sound_file(&draft, client).await?;
            LocalService::require_python(&draft).await?;
            service.adapt(&mut draft).await?;
            let trials = self.trials(&draft, dimensions)?;
            // A trial that was stopped runs again, and does not write over its outputs.
            let directory = |name: &str| Path::new(OUTPUT_DIRECTORY).join(name);
            let mut names = trials.iter().map(|trial| &trial.name);
            names.try_for_each(|name| local_jobs::set_aside(name, &directory(name)))?;
            // Trials of an earlier call are adopted like those of the service.
            let is_trial = |name: &str| trials.iter().any(|trial| trial.name == name);
            let environment = &draft.job.body()["algorithm"]["environments"];
            local_jobs::restore(service.emulator(), is_trial, environment).await;
            ignore_outputs();
            self.run_on(&site, draft, trials, &mut interrupt).await
        };
        let result = result.await;
        let ending = site.local.as_ref().map(|local| local.ending(interrupt.is_received()));
        drop(site);
        service.end(ending.unwrap_or(Ending::Kept)).await;
        result
    }

    /// Returns the trials. Their names begin with that of the draft without a random suffix.
    fn trials(&self, draft: &Draft, dimensions: &[Dimension]) -> Result<Vec<Trial>, Failure> {
        let name = draft.name();
        let base = if draft.has_generated_name { without_suffix(&name) } else { &name };
        space::trials(base, dimensions, self.random)
    }

    /// Sends code and data, submits the trials that do not exist, and waits for all.
    async fn run_on(
        &self,
        site: &Site<'_>,
        mut draft: Draft,
        trials: Vec<Trial>,
        interrupt: &mut Interrupt,
    ) -> Result<ExitStatus, Failure> {
        let (session, client) = (site.session, site.client);
        self.require_metric(client)?;
        record_written(self.svg.clone());
        let outputs = std::mem::take(&mut draft.outputs);
        require_no_addresses(&draft, &outputs)?;
        complete(&mut draft, client).await?;
        let known = existing(client, &draft, &trials).await?;
        let existing: BTreeSet<String> = known.iter().map(|job| job.name().to_owned()).collect();
        if !self.submit.overwrite_outputs {
            let new = trials.iter().filter(|trial| !existing.contains(&trial.name));
            let new: Vec<&str> = new.map(|trial| trial.name.as_str()).collect();
            match site.is_local() {
                true => new.iter().try_for_each(|name| {
                    require_free_directory(&Path::new(OUTPUT_DIRECTORY).join(name), &outputs)
                })?,
                false => require_free_names(new.into_iter(), &outputs, &site.staging).await?,
            }
        }
        if !site.is_local() {
            require_disk(&draft, client, &site.staging).await?;
        }
        let Some(staged) = interrupt.unless(draft.upload(&site.staging, session.terminal)).await
        else {
            note("\ninterrupted: no job was submitted");
            return Err(Failure::Status(ExitStatus::Interrupted));
        };
        let job = staged?.0;
        let body = job.body();
        let different = known.iter().find_map(|trial| differences(trial, &body).into_iter().next());
        if let Some(different) = different {
            note(format_args!("  {different}"));
        }
        let jobs = trials.iter().map(|trial| trial_job(&site.staging, &job, trial, &outputs));
        let jobs = jobs.collect::<Result<Vec<_>, _>>()?;
        let exist = match existing.len() as u64 {
            0 => String::new(),
            known => format!(", {known} exist"),
        };
        let number = count(trials.len() as u64, "trial");
        done("Sweep", &format!("{number}, at most {} at a time{exist}", self.max));
        let rows = self.follow(site, &draft, &trials, jobs, &existing, interrupt).await?;
        let status = rows.iter().map(|row| row.status).find(|it| *it != ExitStatus::Success);
        let written = self
            .svg
            .as_ref()
            .map(|path| report::write_svg(&rows, self.metric.as_deref().unwrap_or_default(), path));
        let is_printed = |row: &TrialRow| session.output.format != Format::Id || row.id().is_some();
        let rows = rows.into_iter().filter(is_printed).collect();
        session.output.list(stream::iter([Ok(rows)])).await?;
        written.transpose()?;
        Ok(status.unwrap_or(ExitStatus::Success))
    }

    /// Submits the jobs, and returns their rows, the best first.
    async fn follow(
        &self,
        site: &Site<'_>,
        draft: &Draft,
        trials: &[Trial],
        jobs: Vec<CreateJob>,
        existing: &BTreeSet<String>,
        interrupt: &mut Interrupt,
    ) -> Result<Vec<TrialRow>, Failure> {
        let screen = Screen::new(site.session, self.metric.clone());
        let (sender, mut submitted) = mpsc::unbounded_channel();
        let sweep = site.client.training_jobs().submit_all(jobs).at_most(self.max);
        let mut sweep = sweep.adopt_existing().on_submitted(move |index, job| {
            // The receiver lives longer than the stream.
            let _ = sender.send((index, job.clone()));
        });
        if Session::is_local(site.client) {
            let (shortest, longest) = (Duration::from_millis(50), Duration::from_millis(500));
            sweep = sweep.interval(shortest, longest).rate_limit(f64::INFINITY);
        }
        let mut results = sweep.stream();
        let mut tagging = JoinSet::new();
        let mut ids: Vec<Option<String>> = vec![None; trials.len()];
        let mut rows: Vec<Option<TrialRow>> = trials.iter().map(|_| None).collect();
        loop {
            let next = interrupt.unless(async {
                tokio::select! {
                    biased;
                    Some(submitted) = submitted.recv() => Next::Submitted(submitted),
                    ended = results.next() => Next::Ended(ended),
                }
            });
            match next.await {
                None => {
                    screen.bars.line(format_args!(
                        "interrupted; {} of {} trials ended; the same command continues from here",
                        rows.iter().flatten().count(),
                        trials.len()
                    ));
                    drop(results);
                    #[cfg(unix)]
                    if let Some(local) = &site.local {
                        let signal = interrupt.take().unwrap_or("a signal");
                        note(
                            "the trials are stopped, and their outputs are delivered; Ctrl-C ends \
                             at once",
                        );
                        let without_row = trials.iter().zip(&rows).filter(|(_, row)| row.is_none());
                        let new = without_row.filter(|(trial, _)| !existing.contains(&trial.name));
                        let new: HashMap<_, _> =
                            new.map(|(trial, _)| (trial.name.as_str(), trial)).collect();
                        let ended = async {
                            for waited in local.stop(|name| new.contains_key(name)).await {
                                let is_stopped =
                                    matches!(waited.outcome(), Outcome::Terminated { .. });
                                let stopped_by = is_stopped.then_some(signal);
                                let trial = new[waited.job().name()];
                                let row = self.ended(site, trial, &waited, true, draft, stopped_by);
                                note(row.await.line());
                            }
                        };
                        if interrupt.unless(ended).await.is_none() {
                            local.leave();
                        }
                    }
                    let _ = tokio::time::timeout(TAGGING_TIMEOUT, tagging.join_all()).await;
                    return Err(Failure::Status(ExitStatus::Interrupted));
                }
                Some(Next::Submitted((index, job))) => {
                    screen.add(&job);
                    #[cfg(unix)]
                    if let Some(local) = &site.local
                        && !existing.contains(job.name())
                    {
                        local.record_start(&job, draft).await;
                    }
                    if let Some(id) = ids.get_mut(index) {
                        *id = Some(job.id().to_owned());
                    }
                    // An earlier call may have been ended before it added the tags.
                    let (tags, client) = (self.submit.tag.clone(), site.client.clone());
                    tagging.spawn(async move { add_tags(&tags, &client, &job).await });
                }
                Some(Next::Ended(None)) => break,
                Some(Next::Ended(Some((index, result)))) => {
                    let (Some(trial), Some(row)) = (trials.get(index), rows.get_mut(index)) else {
                        continue;
                    };
                    let ended = match result {
                        Ok(waited) => {
                            let is_new = !existing.contains(&trial.name);
                            self.ended(site, trial, &waited, is_new, draft, None).await
                        }
                        Err(error) => {
                            let id = ids.get_mut(index).and_then(Option::take);
                            TrialRow::without_end(trial, draft, error, id)
                        }
                    };
                    screen.remove(&trial.name);
                    screen.bars.line(ended.line());
                    *row = Some(ended);
                }
            }
        }
        tagging.join_all().await;
        Ok(report::ranked(rows.into_iter().flatten().collect(), self.best))
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

    /// Returns the row of a job that has ended, with its metric. Receives the outputs of a new job on
    /// this machine, and records it.
    #[cfg_attr(not(unix), allow(unused_variables))]
    async fn ended(
        &self,
        site: &Site<'_>,
        trial: &Trial,
        waited: &Waited,
        is_new: bool,
        draft: &Draft,
        stopped_by: Option<&str>,
    ) -> TrialRow {
        let job = waited.job();
        let (mut metric, mut problem) = (Metric::default(), None);
        if let Some(regex) = &self.metric {
            #[cfg(unix)]
            let known = site.is_local().then(|| local_jobs::metric(job, regex)).flatten();
            #[cfg(unix)]
            let known = known.and_then(|known| serde_json::from_value(known).ok());
            #[cfg(not(unix))]
            let known = None;
            #[cfg(unix)]
            let is_cut = site.is_local() && !is_new && local_jobs::has_cut_log(job);
            #[cfg(not(unix))]
            let is_cut = false;
            match (known, self.values(job, regex).await) {
                (Some(known), _) => metric = known,
                (None, _) if is_cut => {
                    let reason = "the record of the job has only the end of its log";
                    problem = Some(format!("the metric cannot be read: {reason}"));
                }
                (None, Ok(values)) => metric = Metric::new(&values),
                (None, Err(error)) => problem = Some(format!("the metric cannot be read: {error}")),
            }
        }
        #[cfg(unix)]
        if let Some(local) = &site.local {
            let is_whole = match is_new {
                true => {
                    // Without its values, the next call runs the trial again.
                    let unread = problem.is_some().then_some("an error: its values were not read");
                    let stopped_by = stopped_by.or(unread);
                    let values = self.metric.clone().zip(serde_json::to_value(metric).ok());
                    local.deliver(job, draft, values, stopped_by).await
                }
                false => deliver_again(job),
            };
            if !is_whole {
                let advice =
                    format!("outputs incomplete: modelarts download --local {}", job.name());
                let mut row = TrialRow::new(trial, waited, metric, self.best, Some(advice));
                row.status = ExitStatus::from(waited.outcome()).with_incomplete_outputs();
                return row;
            }
        }
        TrialRow::new(trial, waited, metric, self.best, problem)
    }

    async fn values(&self, job: &Job, regex: &str) -> Result<Vec<f64>, Error> {
        match job.logs(TASK).values(regex)?.collect().await {
            Ok(values) => Ok(values.into_iter().map(|value| value.value).collect()),
            // A job that never started has no log.
            Err(error) if error.is_not_ready() => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

/// Event of a sweep.
enum Next {
    /// A job was submitted or adopted.
    Submitted((usize, Job)),
    /// A job has ended, or could not be submitted; `None` after the last one.
    Ended(Option<(usize, Result<Waited, Error>)>),
}

/// Returns an error if an output has an address, to which all trials would write.
fn require_no_addresses(draft: &Draft, outputs: &[String]) -> Result<(), Failure> {
    let body = draft.job.body();
    let all = body["algorithm"]["outputs"].as_array();
    let mut names = all.into_iter().flatten().filter_map(|output| output["name"].as_str());
    match names.find(|name| !outputs.iter().any(|output| output == name)) {
        None => Ok(()),
        Some(name) => Err(Failure::usage(format_args!(
            "output {name}: it must have no address in a sweep, because all trials would write \
             there; --out {name} gives each trial its own"
        ))),
    }
}

/// Returns the jobs of the trials that exist.
async fn existing(client: &Client, draft: &Draft, trials: &[Trial]) -> Result<Vec<Job>, Failure> {
    let mut names: Vec<&str> = trials.iter().map(|trial| trial.name.as_str()).collect();
    names.sort_unstable();
    let common = match (names.first(), names.last()) {
        (Some(first), Some(last)) => {
            let same = first.bytes().zip(last.bytes()).take_while(|(one, other)| one == other);
            first.get(..same.count()).unwrap_or_default()
        }
        _ => "",
    };
    let mut jobs = client.training_jobs().list().filter(Filter::name().like(common));
    if let Some(workspace) = draft.job.body()["metadata"]["workspace_id"].as_str() {
        jobs = jobs.workspace(workspace);
    }
    let jobs = jobs
        .stream()
        .try_filter(|job| std::future::ready(names.binary_search(&job.name()).is_ok()));
    Ok(jobs.try_collect().await?)
}

/// Returns the job of a trial.
fn trial_job(
    staging: &Staging,
    job: &CreateJob,
    trial: &Trial,
    outputs: &[String],
) -> Result<CreateJob, Failure> {
    let mut job = job.clone().name(&trial.name);
    for (name, value) in &trial.parameters {
        job = job.parameter(name, value);
    }
    named_outputs(job, &trial.name, outputs, staging)
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
                    bar.set_message(one_line(value.line));
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
