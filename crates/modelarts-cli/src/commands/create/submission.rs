//! Creation of a job, and following of the job to its end.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, ValueEnum};
use modelarts_ext::{
    Client, CreateJob, Error, Job, Outcome, config::Cloud, jobs::diagnosis::Confidence,
    types::CreateTrainJobTagsRequest,
};
use modelarts_obs::Staging;
use serde_json::json;
use tokio::time::Instant;

#[cfg(unix)]
use crate::job_reference::remember_here;
use crate::{
    commands::{
        create::{
            choices::complete,
            draft::{Draft, data_versions::differences},
            outputs::named_outputs,
            staging::done,
            values::Pair,
        },
        jobs::{
            download::{Received, receive_outputs},
            explain::left_out_advice,
            time_span,
        },
    },
    completion::{self, JOBS},
    exit_status::{ExitCodeSource, ExitStatus},
    failure::Failure,
    follow::{End, Interrupt, Item, JobEnd, JobName, Printer, follow, now, updates},
    job_reference::{project, remember},
    output::{self, Document, Format, obs_address},
    session::Session,
    state::record_written,
    terminal::{Emphasis, Terminal},
};

/// Flags of commands that follow a job to its end.
#[derive(Clone, Debug, Args)]
pub(crate) struct FollowFlags {
    /// Stops following after this time; the job continues: 30m, 12h.
    #[arg(long, value_name = "TIME", value_parser = time_span, help_heading = "Follow")]
    pub(crate) timeout: Option<Duration>,
    /// Source of the exit code: the outcome of the job, or the exit code of its failed task.
    #[arg(
        long,
        value_enum,
        default_value = "outcome",
        value_name = "SOURCE",
        help_heading = "Follow"
    )]
    pub(crate) exit_code: ExitCodeSource,
    /// Prints no events except warnings and errors.
    #[arg(short, long, help_heading = "Follow")]
    pub(crate) quiet: bool,
    /// Receives the outputs into this directory after the end of the job.
    #[arg(long, value_name = "DIR", help_heading = "Follow")]
    pub(crate) download: Option<PathBuf>,
}

/// Flags of commands that submit a job to a service.
#[derive(Clone, Debug, Args)]
pub(crate) struct SubmitFlags {
    /// Tag of the job, which the service gets after the creation (Huawei Cloud only); may be
    /// repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) tag: Vec<Pair>,
    /// Makes versions of large data that --data-version new requests without a question.
    #[arg(short, long, help_heading = "Data")]
    pub(crate) yes: bool,
    /// Submits the job even if it may overwrite the outputs of another job, or existing files.
    #[arg(long, help_heading = "Data")]
    pub(crate) overwrite_outputs: bool,
}

/// Flag of commands that submit one job.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct IfExistsFlag {
    /// Action if a job with the name exists: an error, or its adoption if it has the same settings,
    /// for a command that is run again, such as in CI. The outputs are in OUT/NAME/ of the bucket.
    #[arg(long, value_enum, default_value_t = IfExists::Fail, value_name = "ACTION")]
    pub(crate) if_exists: IfExists,
}

/// Flags of the token that shows which submission created a job.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TokenFlags {
    /// Token of the submission. The command that is run again with the same token and name, on any
    /// machine, continues with the job that it created. The default is a random token.
    #[arg(long, conflicts_with = "if_exists")]
    token: Option<String>,
    /// Submits the job without a token, which is an environment variable of the job.
    #[arg(long, conflicts_with = "token")]
    no_token: bool,
}

impl TokenFlags {
    /// Sets the token of a job.
    pub(crate) fn apply(&self, job: CreateJob) -> CreateJob {
        match &self.token {
            Some(token) => job.token(token),
            None if self.no_token => job.without_token(),
            None => job,
        }
    }

    /// Returns `true` if the job of an earlier command may be the result.
    pub(crate) fn is_given(&self) -> bool {
        self.token.is_some()
    }
}

/// Action if a job with the name of a new job exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IfExists {
    /// The command fails.
    Fail,
    /// The command continues with the existing job.
    Adopt,
}

/// Service on which a job is created.
pub(crate) struct Target<'a> {
    pub(crate) session: &'a Session,
    pub(crate) client: &'a Client,
    pub(crate) staging: Staging,
    /// `true` if the service is the embedded emulator.
    pub(crate) is_local: bool,
    pub(crate) if_exists: IfExists,
    /// `true` if the job exists.
    pub(crate) exists: bool,
}

pub(crate) struct Followed {
    pub(crate) end: JobEnd,
    pub(crate) status: ExitStatus,
}

impl Target<'_> {
    /// Sends the directories of the draft, and creates the job. Ctrl-C does not cancel the create
    /// request, so that the id of the job is always known.
    pub(crate) async fn submit(
        &self,
        mut draft: Draft,
        printer: &mut Printer<'_>,
        interrupt: &mut Interrupt,
    ) -> Result<Job, Failure> {
        // The addresses of new outputs are random, so that the job would differ from itself.
        let named = match self.if_exists {
            IfExists::Adopt => std::mem::take(&mut draft.outputs),
            IfExists::Fail => Vec::new(),
        };
        record_written(None);
        let prepared = interrupt.unless(async {
            complete(&mut draft, self.client).await?;
            draft.upload(&self.staging, self.session.terminal).await
        });
        let Some(staged) = prepared.await else {
            note!("\ninterrupted: no job was submitted");
            return Err(Failure::Status(ExitStatus::Interrupted));
        };
        let (job, code) = staged?;
        let submitted = match self.if_exists {
            IfExists::Fail => job.submit().await,
            IfExists::Adopt => {
                let name = draft.name();
                let job = named_outputs(job, &name, &named, &self.staging)?;
                if self.exists
                    && let Some(known) = job_of_name(&draft, self.client).await?
                {
                    differences(&known, &job.body()).iter().for_each(|line| note!("  {line}"));
                }
                job.submit_or_adopt().await
            }
        };
        let job = submitted.map_err(|error| draft.refusal(error))?;
        if self.is_local {
            #[cfg(unix)]
            remember_here(&job);
        } else {
            remember(&project(self.client), job.id());
            let entry = vec![completion::Entry::of_job(&job)];
            completion::remember(&self.session.selection, JOBS, entry, false);
        }
        let body = job.details();
        let algorithm = body.algorithm.as_deref();
        let inputs = algorithm.map(|algorithm| algorithm.inputs.iter()).into_iter().flatten();
        let inputs = inputs.filter_map(|input| {
            let obs = input.remote.as_ref()?.obs.as_ref()?;
            Some((input.name.clone()?, obs_address(obs.obs_url.as_deref()?)))
        });
        let resource = body.spec.as_deref().and_then(|spec| spec.resource.as_deref());
        let flavor = resource
            .and_then(|resource| resource.pool_id.as_deref().or(resource.flavor_id.as_deref()));
        let nodes = resource.and_then(|resource| resource.node_count).unwrap_or(1);
        let place = match self.is_local {
            true => "on this machine".to_owned(),
            false => format!("{}  on {} ×{nodes}", job.id(), flavor.unwrap_or("the public pool")),
        };
        let name = Terminal::styled(job.name(), Emphasis::Bold);
        let label = match (self.is_local, self.exists) {
            (true, _) => "Started",
            (false, true) => "Adopted",
            (false, false) => "Submitted",
        };
        done(label, &format!("{name}  {place}"));
        printer.print_item(&Item::Submitted {
            job: JobName::new(&job),
            local: self.is_local,
            code,
            inputs: inputs.collect(),
            outputs: JobEnd::new(&job).outputs,
            time: now(),
        })?;
        printer.flush()?;
        Ok(job)
    }

    /// Follows a job to its end, and downloads its outputs if a directory is given.
    pub(crate) async fn follow(
        &self,
        job: &Job,
        flags: &FollowFlags,
        printer: &mut Printer<'_>,
        interrupt: &mut Interrupt,
    ) -> Result<Followed, Failure> {
        let deadline = flags.timeout.map(|timeout| Instant::now() + timeout);
        let followed = follow(updates(job).follow(), printer, interrupt, deadline).await;
        self.finish(job, followed, flags, interrupt).await
    }

    /// Reports the end of a job, or of following, and downloads the outputs of the job if a
    /// directory is given.
    pub(crate) async fn finish(
        &self,
        job: &Job,
        followed: Result<End, Failure>,
        flags: &FollowFlags,
        interrupt: &mut Interrupt,
    ) -> Result<Followed, Failure> {
        let waited = match followed {
            Ok(End::Stopping) => {
                let summary = "left: the job is being stopped";
                note!("\n{summary}");
                let end = JobEnd::new(job).ended_early("interrupted", summary);
                return Ok(Followed { end, status: ExitStatus::Interrupted });
            }
            Ok(End::Interrupted) => {
                return Ok(self.leave(job, "interrupted", ExitStatus::Interrupted));
            }
            Ok(End::TimedOut) => return Ok(self.leave(job, "timed_out", ExitStatus::TimedOut)),
            Ok(End::Vanished) => None,
            Ok(End::Ended) => {
                // The wait reads who stopped the job. The events and the log are printed already.
                let waited = interrupt.unless(job.wait().into_future()).await;
                match waited {
                    None => return Ok(self.leave(job, "interrupted", ExitStatus::Interrupted)),
                    Some(waited) => Some(waited?),
                }
            }
            Err(failure) => {
                if failure.has_text() && !self.is_local {
                    note!("{}", self.way_back(job));
                }
                return Err(failure);
            }
        };
        let (job, outcome) = match &waited {
            Some(waited) => (waited.job(), waited.outcome()),
            None => (job, &Outcome::Vanished),
        };
        let mut end = JobEnd::new(job).outcome(outcome);
        self.print_end(job, outcome);
        if matches!(outcome, Outcome::Failed { .. } | Outcome::Abnormal { .. }) {
            end.cause = interrupt.unless(self.explain(job)).await.flatten();
        }
        self.print_outputs(job, outcome, flags.download.is_some());
        let mut status = flags.exit_code.status(outcome);
        if let (Some(directory), false) = (&flags.download, *outcome == Outcome::Vanished) {
            let downloaded = interrupt.unless(self.download(job, directory)).await;
            let Some(downloaded) = downloaded else {
                note!("interrupted; `modelarts download` receives the other files");
                return Ok(Followed { end, status: ExitStatus::Interrupted });
            };
            let is_whole = match downloaded {
                Ok(received) => {
                    end.downloaded = received.directories();
                    received.note_failed()
                }
                Err(failure) => {
                    note!("error: {failure}");
                    false
                }
            };
            if !is_whole {
                note!("  receive the other files with: modelarts download {}", job.name());
                status = status.with_incomplete_outputs();
            }
        }
        Ok(Followed { end, status })
    }

    fn print_end(&self, job: &Job, outcome: &Outcome) {
        let (sign, emphasis) = match outcome {
            Outcome::Completed => ("✓", Emphasis::Good),
            Outcome::Terminated { .. } => ("■", Emphasis::Dim),
            _ => ("✗", Emphasis::Bad),
        };
        let time = job
            .time_run()
            .map_or_else(String::new, |time| format!(" after {}", output::duration(time)));
        let sign = Terminal::styled(sign, emphasis);
        note!("{sign} {} {outcome}{time}", job.name());
    }

    /// Prints the cause of a failure on stderr, with advice. Returns the name of the cause; `None`
    /// if the cause is unknown, or if the diagnosis fails.
    async fn explain(&self, job: &Job) -> Option<String> {
        let diagnosis = job.explain().await.ok();
        let known = diagnosis.filter(|diagnosis| diagnosis.confidence > Confidence::Unknown);
        if let Some(diagnosis) = &known {
            let (cause, confidence) = (diagnosis.cause, diagnosis.confidence);
            note!("  {cause} ({confidence}): {}", diagnosis.summary);
            for advice in diagnosis.advice.iter().cloned().chain(left_out_advice(diagnosis)) {
                note!("  - {advice}");
            }
        }
        if !self.is_local {
            note!("  evidence: modelarts explain {}", job.name());
        }
        known.map(|diagnosis| diagnosis.cause.to_string())
    }

    /// Prints the addresses of the outputs on stderr. A job on this machine is skipped, because its
    /// outputs are downloaded.
    fn print_outputs(&self, job: &Job, outcome: &Outcome, downloads: bool) {
        if self.is_local {
            return;
        }
        for (name, url) in job.outputs() {
            let url = obs_address(url);
            note!("  {name}  {url}");
            if outcome.is_completed() && !downloads {
                note!("  receive it with: modelarts download {}", job.name());
            }
        }
    }

    /// Reports that following ended early. Returns the end with this outcome and status.
    fn leave(&self, job: &Job, outcome: &str, status: ExitStatus) -> Followed {
        let reason = match status {
            ExitStatus::TimedOut => "the time limit passed",
            _ => "interrupted",
        };
        let summary = match self.is_local {
            true => format!("{reason}: the job has ended"),
            false => format!("{reason}: the job continues"),
        };
        note!("\n{summary}");
        if !self.is_local {
            note!("{}", self.way_back(job));
        }
        Followed { end: JobEnd::new(job).ended_early(outcome, &summary), status }
    }

    fn way_back(&self, job: &Job) -> String {
        let name = job.name();
        format!(
            "  come back with: modelarts logs -f {name}\n  stop it with:   modelarts stop {name}"
        )
    }

    /// Downloads the outputs, and prints a line for each.
    async fn download(&self, job: &Job, directory: &Path) -> Result<Received, Failure> {
        let received = receive_outputs(job, None, directory, self.session.terminal).await?;
        received.print_lines();
        Ok(received)
    }
}

/// Returns the job with the name of a draft, if it exists.
pub(crate) async fn job_of_name(draft: &Draft, client: &Client) -> Result<Option<Job>, Error> {
    let mut jobs = client.training_jobs().list();
    if let Some(workspace) = draft.job.body()["metadata"]["workspace_id"].as_str() {
        jobs = jobs.workspace(workspace);
    }
    match jobs.get_by_name(&draft.name()).await {
        Err(error) if error.is_not_found() => Ok(None),
        found => found.map(Some),
    }
}

/// Returns an error for tags that cannot be added.
pub(crate) fn require_tags(tags: &[Pair], client: &Client) -> Result<(), Failure> {
    if !tags.is_empty() && client.cloud() != Cloud::Huawei {
        return Err(Failure::usage("--tag: the cloud must be Huawei Cloud; others have no tags"));
    }
    for (index, tag) in tags.iter().enumerate() {
        if tags[..index].iter().any(|other| other.name == tag.name) {
            return Err(Failure::usage(format_args!("--tag {}: it must be given once", tag.name)));
        }
    }
    Ok(())
}

/// Adds tags to a job that was created. An error is only reported, because the job exists.
pub(crate) async fn add_tags(tags: &[Pair], client: &Client, job: &Job) {
    if tags.is_empty() {
        return;
    }
    let rows = tags.iter().map(|tag| json!({"key": tag.name, "value": tag.value}));
    let body = json!({"tags": rows.collect::<Vec<_>>()});
    let added = match serde_json::from_value::<CreateTrainJobTagsRequest>(body) {
        Ok(body) => {
            let added = client.call(|api| {
                let call = api.create_train_job_tags().project_id(client.project_id());
                call.training_job_id(job.id()).body(body).send()
            });
            added.await.map(drop).map_err(|error| error.to_string())
        }
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = added {
        let warning = Terminal::styled("warning:", Emphasis::Waiting);
        note!("{warning} the job has no tags: {error}");
    }
}

impl Followed {
    /// Prints the end of the job in the formats `json`, `yaml` and `ndjson`. Flushes the printer.
    pub(crate) fn print(
        self,
        session: &Session,
        mut printer: Printer<'_>,
    ) -> Result<ExitStatus, Failure> {
        let Self { end, status } = self;
        match session.output.format {
            Format::Ndjson => {
                printer.print_item(&Item::End { end, time: now() })?;
                printer.flush()?;
            }
            Format::Json | Format::Yaml => {
                printer.flush()?;
                drop(printer);
                session.output.document(&end)?;
            }
            _ => printer.flush()?,
        }
        Ok(status)
    }
}

/// Returns a printer of the updates of a job. If `is_quiet` is set, as for a job on this machine,
/// the text has only the warnings and errors among the events.
pub(crate) fn printer(session: &Session, is_quiet: bool) -> Printer<'_> {
    let printer = Printer::new(session);
    match is_quiet {
        true => printer.with_problems_only(),
        false => printer,
    }
}

impl Document for JobEnd {
    fn text(&self, _wide: bool, _width: Option<u16>) -> String {
        self.job.id.clone()
    }

    fn id(&self) -> Option<&str> {
        Some(&self.job.id)
    }
}
