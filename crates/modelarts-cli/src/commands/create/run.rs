//! Command `modelarts run`, which creates a job and follows it to its end.

use std::time::Duration;

use clap::Args;

use crate::{
    commands::{
        create::{
            flags::JobFlags,
            submission::{FollowFlags, IfExistsFlag, SubmitFlags},
        },
        jobs::time_span,
    },
    exit_status::ExitStatus,
    failure::Failure,
    session::Session,
};

/// Help of `--timeout`. When the time limit passes, a job on this machine is stopped.
const TIMEOUT: &str = "Stops following after this time; stops the job on this machine; a job on \
    the service continues: 30m, 12h";

#[derive(Debug, Args)]
#[command(mut_arg("timeout", |timeout| timeout.help(TIMEOUT)))]
#[command(mut_arg("tag", |tag| tag.requires("both")))]
#[command(mut_arg("if_exists", |action| action.requires("both")))]
#[command(
    group = clap::ArgGroup::new("place").args(["local", "both"]).required(true).multiple(true)
)]
#[cfg_attr(not(unix), allow(dead_code))]
pub(crate) struct Run {
    #[command(flatten)]
    job: JobFlags,
    #[command(flatten)]
    follow: FollowFlags,
    #[command(flatten)]
    submit: SubmitFlags,
    #[command(flatten)]
    if_exists: IfExistsFlag,
    /// Runs the job on this machine, in the embedded emulator; no account is needed. Its outputs
    /// are copied to ./modelarts-output/NAME, or to the directory of --download.
    #[arg(long)]
    local: bool,
    /// Runs the job on this machine first, and submits it to the service if it completed.
    #[arg(long)]
    both: bool,
    /// Time after which the job on this machine counts as good, and is stopped: 60s.
    #[arg(long, value_name = "TIME", value_parser = time_span, requires = "both")]
    smoke: Option<Duration>,
    /// Does not install the packages of requirements.txt.
    #[arg(long)]
    no_packages: bool,
    /// View of this machine in which the job runs on it.
    #[cfg(unix)]
    #[arg(long, value_enum, default_value_t = modelarts_emulator::jobs::Container::Auto)]
    container: modelarts_emulator::jobs::Container,
}

#[cfg(not(unix))]
impl Run {
    pub(crate) async fn run(self, _session: &Session) -> Result<ExitStatus, Failure> {
        Err(Failure::local(
            "run: the emulator exists on Linux and macOS only; `modelarts submit` works on this \
             system",
        ))
    }
}

#[cfg(unix)]
mod unix {
    use std::{
        path::{Path, PathBuf},
        pin::pin,
    };

    use modelarts_ext::{Client, Job};
    use serde_json::Value;
    use tokio::time::Instant;

    use super::{ExitStatus, Failure, FollowFlags, Run, Session};
    use crate::{
        commands::create::{
            check::{check_draft, require_sound_file},
            choices::complete,
            draft::Draft,
            local::{Ending, LocalService, deliver, run_name},
            outputs::{
                OUTPUT_DIRECTORY, ignore_outputs, require_free_directory, require_free_outputs,
            },
            submission::{Followed, IfExists, Target, TokenFlags, printer, require_tags},
            submit::{Mode, submit},
        },
        context::Context,
        follow::{End, Interrupt, Item, JobEnd, Printer, follow, now, updates},
        local_jobs::{KILLED, RunFacts, record, require_delivered, storage::StoredOutputs},
        output::{Format, duration},
    };

    impl Run {
        pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
            let base = Draft::base(&self.job, session).await?;
            let service = match self.both {
                true => Some(self.draft_of_service(session, base.as_ref()).await?),
                false => None,
            };
            let mut local_printer = printer(session, true);
            let followed = self.run_here(session, base.as_ref(), &mut local_printer).await?;
            let is_good = followed.status == ExitStatus::Success
                || (self.smoke.is_some() && followed.status == ExitStatus::TimedOut);
            let Some((client, draft)) = service.filter(|_| is_good) else {
                let reason = match followed.status {
                    ExitStatus::Incomplete => "the outputs of the job on this machine lack files",
                    _ => "the job did not complete on this machine",
                };
                if self.both && followed.status != ExitStatus::Interrupted {
                    note!("nothing was submitted: {reason}");
                }
                return followed.print(session, local_printer);
            };
            if session.output.format == Format::Ndjson {
                let (end, time) = (followed.end, now());
                local_printer.print_item(&Item::End { end, time })?;
            }
            drop(local_printer);
            let mode = Mode::Follow(&self.follow);
            let (if_exists, token) = (self.if_exists.if_exists, TokenFlags::default());
            submit(session, client, draft, &self.submit, if_exists, &token, mode).await
        }

        /// Returns the client of the service, and the draft of the job for the service. Reports
        /// missing settings, and a job that the service would refuse, before the local run.
        async fn draft_of_service<'a>(
            &self,
            session: &'a Session,
            base: Option<&Value>,
        ) -> Result<(&'a Client, Draft), Failure> {
            let client = session.client().await?;
            require_tags(&self.submit.tag, client)?;
            let context = session.selection.context()?;
            let mut draft = Draft::new(&self.job, base, &client.training_jobs(), context)?;
            require_sound_file(&draft, client).await?;
            complete(&mut draft, client).await?;
            draft.job = draft.job.look_up().await?;
            let checked = check_draft(&draft, client).await?;
            if !checked.violations.is_empty() {
                return Err(draft.unchecked(&checked.violations));
            }
            if !self.submit.overwrite_outputs {
                require_free_outputs(&draft, client, &session.staging().await?).await?;
            }
            Ok((client, draft))
        }

        async fn run_here(
            &self,
            session: &Session,
            base: Option<&Value>,
            printer: &mut Printer<'_>,
        ) -> Result<Followed, Failure> {
            // A signal during the start must not leave files of the emulator behind.
            let mut interrupt = Interrupt::new();
            let name = run_name(&self.job, base);
            let pool = self.job.parameters.text("pool");
            let beside = match &self.follow.download {
                // `--download` names the directory for the outputs of the job on the service.
                Some(directory) if !self.both => directory,
                _ => Path::new(OUTPUT_DIRECTORY),
            };
            let place = (beside, name.as_str());
            let service =
                LocalService::start(place, pool, !self.no_packages, self.container).await?;
            let mut ending = Ending::Delivered;
            let result = self
                .run_on((&service, &name), session, base, printer, &mut interrupt, &mut ending)
                .await;
            service.end(ending).await;
            result
        }

        async fn run_on(
            &self,
            (service, name): (&LocalService, &str),
            session: &Session,
            base: Option<&Value>,
            printer: &mut Printer<'_>,
            interrupt: &mut Interrupt,
            ending: &mut Ending,
        ) -> Result<Followed, Failure> {
            let client = &service.client;
            // The flavor and the pool of the context belong to a cloud, so the context is not used.
            let context = Context::default();
            let mut draft = Draft::new(&self.job, base, &client.training_jobs(), &context)?;
            if draft.has_generated_name && draft.file.is_none() {
                draft.edit(|job| job.name(name));
            }
            require_sound_file(&draft, client).await?;
            LocalService::require_python(&draft).await?;
            service.adapt(&mut draft).await?;
            let target = Target {
                session,
                client,
                staging: service.staging.clone(),
                is_local: true,
                if_exists: IfExists::Fail,
                exists: false,
            };
            let name = draft.name();
            require_delivered(&name)?;
            let has_directory = self.both || self.follow.download.is_none();
            let outputs = match &self.follow.download {
                Some(directory) if !has_directory => directory.clone(),
                _ => PathBuf::from(OUTPUT_DIRECTORY).join(&name),
            };
            if !self.submit.overwrite_outputs {
                require_free_directory(&outputs, &draft.outputs)?;
            }
            let bucketless = Draft { bucket: None, ..draft };
            if !bucketless.outputs.is_empty() && has_directory {
                ignore_outputs();
            }
            let job = target.submit(bucketless.clone(), printer, interrupt).await?;
            let stored = service.outputs(&job);
            let environment = &bucketless.job.body()["algorithm"]["environments"];
            let facts = |stored: Option<StoredOutputs>, stopped_by: Option<String>| RunFacts {
                environment,
                inherited: &bucketless.inherited,
                outputs: &outputs,
                metric: None,
                stored,
                stopped_by,
            };
            *ending = Ending::Kept;
            record(&job, facts(Some(stored.clone()), Some(KILLED.to_owned()))).await;
            let (followed, stopped_by) = self.follow_here(&target, &job, printer, interrupt).await;
            let job = job.get().await.unwrap_or(job);
            if stopped_by.is_none() {
                // The job had ended before the signal.
                interrupt.take();
            }
            let delivery = deliver(&stored, outputs.clone());
            let Some(received) = interrupt.unless(delivery).await else {
                *ending = Ending::AtOnce;
                record(&job, facts(Some(stored), stopped_by)).await;
                let (name, path) = (job.name(), service.storage.path.display());
                note!(
                    "\nended at once; the files of {name} are in {path}\n  deliver its outputs \
                     with: modelarts download --local {name}"
                );
                return followed;
            };
            received.print_lines();
            let is_whole = received.note_failed();
            record(&job, facts((!is_whole).then_some(stored), stopped_by)).await;
            let mut followed = followed.map(|mut followed| {
                followed.end.downloaded = received.directories();
                followed
            });
            if is_whole {
                *ending = Ending::Delivered;
                return followed;
            }
            let (name, path) = (job.name(), service.storage.path.display());
            note!(
                "  the other files stay in {path}\n  deliver them with: modelarts download --local \
                 {name}"
            );
            if let Ok(followed) = &mut followed {
                followed.status = followed.status.with_incomplete_outputs();
            }
            followed
        }

        /// Follows a job to its end. After a signal, the time limit, or an error of the output,
        /// stops its code as the service does. Returns what stopped the job as well.
        async fn follow_here(
            &self,
            target: &Target<'_>,
            job: &Job,
            printer: &mut Printer<'_>,
            interrupt: &mut Interrupt,
        ) -> (Result<Followed, Failure>, Option<String>) {
            let timeout = self.smoke.or(self.follow.timeout);
            let flags = FollowFlags { timeout, quiet: true, download: None, ..self.follow.clone() };
            let deadline = timeout.map(|timeout| Instant::now() + timeout);
            let mut updates = pin!(updates(job).follow());
            let early = match follow(updates.as_mut(), printer, interrupt, deadline).await {
                Ok(End::Interrupted) => Ok(("interrupted", ExitStatus::Interrupted)),
                Ok(End::TimedOut) => Ok(("timed_out", ExitStatus::TimedOut)),
                Err(failure) => Err(failure),
                end => return (target.finish(job, end, &flags, interrupt).await, None),
            };
            let reason = match (interrupt.take(), &early) {
                (Some(signal), _) => signal.to_owned(),
                (None, Err(_)) => "an error of the output".to_owned(),
                (None, Ok(_)) => {
                    format!("the time limit of {}", duration(timeout.unwrap_or_default()))
                }
            };
            note!(
                "\n{reason}: the job is stopped, and its outputs are delivered; Ctrl-C ends at once"
            );
            // The job may have ended meanwhile. Its log is printed as far as possible.
            let stopped = async {
                let _ = job.terminate().await;
            };
            interrupt.unless(stopped).await;
            let _ = follow(updates.as_mut(), printer, interrupt, None).await;
            let _ = interrupt.unless(job.wait().into_future()).await;
            let followed = early.map(|(outcome, status)| {
                let summary = format!("{reason}: the job is stopped");
                Followed { end: JobEnd::new(job).ended_early(outcome, &summary), status }
            });
            (followed, Some(reason))
        }
    }
}
