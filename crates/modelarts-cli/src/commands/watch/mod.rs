//! Command `modelarts watch`, which shows a job live.

mod progress;
mod view;

use std::pin::pin;
use std::time::{Duration, SystemTime};

use clap::Args;
use futures::{FutureExt, StreamExt, future, stream::FuturesUnordered};
use modelarts_ext::{Job, jobs::follow::JobUpdate, types::Phase};
use tokio::time::Instant;

use crate::commands::create::submission::{FollowFlags, IfExists, Target, printer};
use crate::commands::jobs::{nodes, stop::stop};
use crate::commands::watch::view::{Action, Input, MAX_WORKERS, View};
use crate::follow::{CHUNK, End, Interrupt, JobEnd, Printer, limit, updates};
use crate::job_reference::JobArgument;
use crate::live::{Screen, pause};
use crate::{exit_status::ExitStatus, failure::Failure, output::Format, session::Session};

/// Maximum number of lines of the existing log of each task.
const TAIL: usize = 100;
/// Interval at which the times in the view are drawn again.
const TICK: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    job: JobArgument,
    #[command(flatten)]
    follow: FollowFlags,
}

impl Watch {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let client = session.client().await?;
        let job = self.job.find(client).await?;
        let staging = session.staging().await?;
        let target = Target {
            session,
            client,
            staging,
            is_local: false,
            if_exists: IfExists::Fail,
            exists: true,
        };
        let mut interrupt = Interrupt::new();
        if let Some(screen) = Screen::open(session) {
            let printer = Printer::for_screen(session, nodes(&job) > 1);
            let deadline = self.follow.timeout.map(|timeout| Instant::now() + timeout);
            let end = show(screen, printer, &job, &mut interrupt, deadline).await;
            return Ok(target.finish(&job, end, &self.follow, &mut interrupt).await?.status);
        }
        if session.output.format == Format::Id {
            session.output.document(&JobEnd::new(&job))?;
        }
        let mut printer = printer(session, self.follow.quiet);
        let followed = target.follow(&job, &self.follow, &mut printer, &mut interrupt).await?;
        followed.print(session, printer)
    }
}

/// Shows a job until its end, or until the user leaves.
async fn show(
    mut screen: Screen,
    mut printer: Printer<'_>,
    job: &Job,
    interrupt: &mut Interrupt,
    deadline: Option<Instant>,
) -> Result<End, Failure> {
    let mut updates = pin!(updates(job).tail_lines(TAIL).follow().ready_chunks(CHUNK));
    let (mut limit, mut tick) = (pin!(limit(deadline)), tokio::time::interval(TICK));
    let mut calls = FuturesUnordered::new();
    let (mut view, mut end) = (View::new(job.clone()), End::Ended);
    let end = 'end: loop {
        let rows = view.rows(Screen::size()?, SystemTime::now().into());
        screen.draw(&printer.take(), &rows)?;
        if calls.is_empty() {
            calls.push(usage(view.job.clone(), pause(job.client()) * 2).boxed_local());
        }
        let inputs = tokio::select! {
            biased;
            () = interrupt.received() => break Ok(End::Interrupted),
            () = &mut limit => break Ok(End::TimedOut),
            key = screen.key() => vec![Ok(Input::Key(key))],
            Some(input) = calls.next() => vec![Ok(input)],
            chunk = updates.next() => match chunk {
                Some(chunk) => chunk.into_iter().map(|it| it.map(Input::Update)).collect(),
                None => break Ok(end),
            },
            _ = tick.tick() => continue,
        };
        for input in inputs {
            match input.map(|input| view.step(input, SystemTime::now().into())) {
                Err(error) => break 'end Err(error.into()),
                Ok(None) => {}
                Ok(Some(Action::Leave(end))) => break 'end Ok(end),
                Ok(Some(Action::Stop)) => {
                    let job = view.job.clone();
                    let stop = async move { Input::Stopped(stop(&job).await) };
                    calls.push(stop.boxed_local());
                }
                Ok(Some(Action::Print(update))) => {
                    match update {
                        JobUpdate::Vanished => end = End::Vanished,
                        JobUpdate::Phase(_) => end = End::Ended,
                        _ => {}
                    }
                    printer.print(&update)?;
                }
            }
        }
    };
    printer.end_lines()?;
    // The terminal may be closed.
    let _ = screen.draw(&printer.take(), &[]);
    end
}

/// Waits, and reads the usage of the first tasks of a running job. Tasks without values are left
/// out.
async fn usage(job: Job, wait: Duration) -> Input {
    tokio::time::sleep(wait).await;
    let tasks = job.tasks().iter().filter(|_| job.phase() == Phase::Running).take(MAX_WORKERS);
    let reads = tasks.map(async |task| Some((task.clone(), job.metrics(task).await.ok()?)));
    Input::Usage(future::join_all(reads).await.into_iter().flatten().collect())
}
