//! Command `modelarts run`, which creates a job and follows it to its end.

#[cfg(unix)]
use std::path::PathBuf;
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
    use modelarts_ext::Client;
    use serde_json::Value;

    use super::{ExitStatus, Failure, FollowFlags, PathBuf, Run, Session};
    use crate::{
        commands::create::{
            check::{check_draft, require_sound_file},
            choices::complete,
            draft::Draft,
            local::LocalService,
            outputs::{
                OUTPUT_DIRECTORY, ignore_outputs, require_free_directory, require_free_outputs,
            },
            submission::{Followed, IfExists, Target, TokenFlags, printer, require_tags},
            submit::{Mode, submit},
        },
        context::Context,
        follow::{Interrupt, Item, Printer, now},
        local_jobs::record,
        output::Format,
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
                if self.both && followed.status != ExitStatus::Interrupted {
                    note!("nothing was submitted: the job did not complete on this machine");
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
            let service = LocalService::start(
                self.job.parameters.text("pool"),
                !self.no_packages,
                self.container,
            )
            .await?;
            let result = self.run_on(&service, session, base, printer, &mut interrupt).await;
            service.stop().await;
            result
        }

        async fn run_on(
            &self,
            service: &LocalService,
            session: &Session,
            base: Option<&Value>,
            printer: &mut Printer<'_>,
            interrupt: &mut Interrupt,
        ) -> Result<Followed, Failure> {
            let client = &service.client;
            // The flavor and the pool of the context belong to a cloud, so the context is not used.
            let context = Context::default();
            let mut draft = Draft::new(&self.job, base, &client.training_jobs(), &context)?;
            require_sound_file(&draft, client).await?;
            LocalService::require_python(&draft).await?;
            service.adapt(&mut draft).await?;
            let target = Target {
                session,
                client,
                staging: service.staging.clone(),
                obs: Some(service.obs.clone()),
                is_local: true,
                if_exists: IfExists::Fail,
                exists: false,
            };
            let name = draft.name();
            let has_directory = self.both || self.follow.download.is_none();
            if has_directory && !self.submit.overwrite_outputs {
                require_free_directory(&name, &draft.outputs)?;
            }
            let bucketless = Draft { bucket: None, ..draft };
            if !bucketless.outputs.is_empty() && has_directory {
                ignore_outputs();
            }
            let job = target.submit(bucketless.clone(), printer, interrupt).await?;
            let directory = || PathBuf::from(OUTPUT_DIRECTORY).join(&name);
            let flags = FollowFlags {
                timeout: self.smoke.or(self.follow.timeout),
                exit_code: self.follow.exit_code,
                quiet: true,
                download: match self.both {
                    // `--download` names the directory for the outputs of the job on the service.
                    true => Some(directory()),
                    false => Some(self.follow.download.clone().unwrap_or_else(directory)),
                },
            };
            let followed = target.follow(&job, &flags, printer, interrupt).await;
            if let Ok(job) = job.get().await {
                let outputs = flags.download.unwrap_or_else(directory);
                let environment = &bucketless.job.body()["algorithm"]["environments"];
                record(&job, environment, &bucketless.inherited, &outputs, None).await;
            }
            followed
        }
    }
}
