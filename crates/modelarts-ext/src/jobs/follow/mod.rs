//! Everything that a job does and says, as one stream.

mod merge;
pub(crate) mod update;

use std::{collections::VecDeque, time::Duration};

use futures::{StreamExt, stream};
use modelarts_api::{BoxFuture, types::Phase};

use crate::{
    error::{Error, ErrorKind},
    jobs::{
        events::{event::Event, follow::Follower},
        follow::{merge::merge, update::JobUpdate},
        job::Job,
        logs::{
            follow::LogFollower,
            item::{LogAccess, LogItem},
        },
        polling::end::{EndWatch, Polls},
    },
    pagination::page::PageStream,
};

/// How many logs are polled at the same time.
const AT_ONCE: usize = 8;
/// How many events one round takes, give or take a page, so that memory is bounded. A job
/// has some tens.
const MOST_EVENTS: usize = 10_000;

/// Follows a job: its phases, its events, and the logs of all its tasks.
///
/// They are brought into the order of time as far as one poll goes, which takes up to
/// 10,000 events and 5 MB of each log:
///
/// - Events come by their times. One that appears late comes when it appears.
/// - The lines of a task come in their order, and among those of other tasks by the times
///   that they begin with, if they do; a line without one comes with the line before it.
/// - Lines whose times have a zone (`2026-01-15T08:30:07Z …`) come where these belong among
///   the events. All others come as late as they can: before the event that tells the end
///   of their task, or else last.
/// - The phase in which a job ended comes after everything that led to it.
///
/// Items that a later poll finds come later, whatever times they have.
#[derive(Clone, Debug)]
#[must_use]
pub struct FollowJob {
    job: Job,
    interval: Duration,
    lateness: Duration,
    quiet: Duration,
    logs: bool,
    access: Option<LogAccess>,
}

impl Job {
    /// Everything that the job does and says, merged into one stream.
    pub fn follow(&self) -> FollowJob {
        FollowJob {
            job: self.clone(),
            interval: Duration::from_secs(5),
            lateness: Duration::from_secs(120),
            quiet: Duration::from_secs(30),
            logs: true,
            access: None,
        }
    }
}

impl FollowJob {
    /// How long to wait between two polls. Default 5 seconds.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// As [`Events::lateness`](crate::jobs::events::Events::lateness). Default 2 minutes.
    pub fn lateness(mut self, lateness: Duration) -> Self {
        self.lateness = lateness;
        self
    }

    /// How long to stay after the job has ended and nothing new has come. Default 30
    /// seconds.
    pub fn quiet(mut self, quiet: Duration) -> Self {
        self.quiet = quiet;
        self
    }

    /// Leaves the logs out.
    pub fn without_logs(mut self) -> Self {
        self.logs = false;
        self
    }

    /// As [`Logs::read_by`](crate::jobs::logs::Logs::read_by).
    pub fn read_logs_by(mut self, access: LogAccess) -> Self {
        self.access = Some(access);
        self
    }

    /// The news that there are, and those that come, until the job has ended and been quiet.
    ///
    /// Answers that fail in passing do not end it, and do not count as quiet. When the
    /// details of the job, its events or one of its logs bring nothing but such answers for
    /// 15 minutes, the stream ends with the error, even if the others work.
    #[must_use]
    pub fn stream(self) -> PageStream<JobUpdate> {
        State::new(self).stream()
    }
}

/// The new items of a log, and whether there are more.
type Poll<'a> = BoxFuture<'a, Result<(Vec<LogItem>, bool), Error>>;

struct State {
    follow: FollowJob,
    ending: EndWatch,
    events: Follower,
    logs: Vec<LogFollower>,
    phase: Option<Phase>,
    /// Events that happened behind lines that were not read yet.
    held: Vec<Event>,
    most_events: usize,
    /// Whether there is something to be had without waiting.
    at_once: bool,
    over: bool,
    news: VecDeque<JobUpdate>,
}

impl State {
    fn new(follow: FollowJob) -> Self {
        let mut events = follow.job.events().lateness(follow.lateness);
        events.follow_instead();
        Self {
            ending: EndWatch::new(follow.job.clone(), follow.quiet),
            events: Follower::new(events),
            logs: Vec::new(),
            phase: None,
            held: Vec::new(),
            most_events: MOST_EVENTS,
            at_once: true,
            over: false,
            news: VecDeque::new(),
            follow,
        }
    }

    fn stream(self) -> PageStream<JobUpdate> {
        stream::try_unfold(self, |mut state| async move {
            Ok(state.next().await?.map(|news| (news, state)))
        })
        .boxed()
    }

    async fn next(&mut self) -> Result<Option<JobUpdate>, Error> {
        while self.news.is_empty() && !self.over {
            if !std::mem::take(&mut self.at_once) {
                let clock = self.follow.job.client().clock().clone();
                let polls = polls(&mut self.events, &mut self.logs);
                clock
                    .sleep(self.ending.pause(self.follow.interval, polls))
                    .await;
            }
            self.round().await?;
        }
        Ok(self.news.pop_front())
    }

    /// Polls the details of the job, then its events, then its logs: what led to something
    /// that is seen is asked for after it.
    async fn round(&mut self) -> Result<(), Error> {
        self.ending.poll().await?;
        let held = self.held.len();
        let more_events = self.events().await?;
        let (lines, more_lines) = self.lines().await?;
        if self.held.len() > held || !lines.is_empty() {
            self.ending.news();
        }
        let end = self.ending.settle(polls(&mut self.events, &mut self.logs));
        self.at_once = more_events || more_lines;
        self.over = end.is_over && !self.at_once;

        let job = self.ending.job.clone();
        let is_final = job.is_final();
        let changed = self.phase.as_ref() != Some(&job.phase());
        if changed && !is_final {
            self.phase = Some(job.phase());
            self.news.push_back(JobUpdate::Phase(Box::new(job.clone())));
        }
        let events = match more_lines {
            true => Vec::new(),
            false => std::mem::take(&mut self.held),
        };
        self.news.extend(merge(events, lines));
        if self.at_once {
            return Ok(());
        }
        if self.over {
            for log in &mut self.logs {
                let task = log.task().to_owned();
                let item = log.finish();
                self.news
                    .extend(item.map(|item| JobUpdate::Log { task, item }));
            }
        }
        if changed && is_final && end.is_known {
            self.phase = Some(job.phase());
            self.news.push_back(JobUpdate::Phase(Box::new(job)));
        }
        if self.ending.is_gone() {
            self.news.push_back(JobUpdate::Vanished);
        }
        Ok(())
    }

    /// Takes new events, and says whether there are more to be had at once.
    async fn events(&mut self) -> Result<bool, Error> {
        let mut more = true;
        while more && self.held.len() < self.most_events {
            match self.events.next(&self.ending).await {
                Ok(Some(new)) => self.held.extend(new),
                Ok(None) => more = false,
                Err(error) => {
                    more = false;
                    if error.is_gone() {
                        self.ending.mark_gone();
                    } else {
                        let clock = self.follow.job.client().clock();
                        self.events.polls.fail(error, &**clock)?;
                    }
                }
            }
        }
        // Late ones come when they appear, but here among those that appeared with them.
        self.held.sort_by_key(Event::time);
        Ok(more)
    }

    /// What is new in the logs, in the order of the tasks, and whether there is more.
    async fn lines(&mut self) -> Result<(Vec<(String, Vec<LogItem>)>, bool), Error> {
        let (mut lines, mut any_more) = (Vec::new(), false);
        if !self.follow.logs {
            return Ok((lines, any_more));
        }
        for task in self.ending.job.tasks() {
            if !self.logs.iter().any(|log| log.task() == task) {
                let mut logs = self.ending.job.logs(task);
                logs.access = self.follow.access;
                self.logs.push(LogFollower::new(logs));
            }
        }
        let mut polls: Vec<Poll<'_>> = Vec::new();
        for log in &mut self.logs {
            polls.push(Box::pin(log.poll(&self.ending)));
        }
        let answers: Vec<_> = stream::iter(polls).buffered(AT_ONCE).collect().await;
        for (log, answer) in self.logs.iter_mut().zip(answers) {
            match answer {
                Ok((items, more)) => {
                    any_more |= more;
                    if !items.is_empty() {
                        lines.push((log.task().to_owned(), items));
                    }
                }
                // The details of the job say whether it is gone; the log of a task may
                // just not be there.
                Err(error) if error.is_gone() => log.polls.complete(),
                Err(error) => {
                    let clock = self.follow.job.client().clock();
                    log.polls
                        .fail(error, &**clock)
                        .map_err(|error| of_task(log.task(), error))?;
                }
            }
        }
        Ok((lines, any_more))
    }
}

/// The polls of all sources but the details of the job.
fn polls<'a>(
    events: &'a mut Follower,
    logs: &'a mut [LogFollower],
) -> impl Iterator<Item = &'a mut Polls> {
    let logs = logs.iter_mut().map(|log| &mut log.polls);
    std::iter::once(&mut events.polls).chain(logs)
}

/// Says which log could not be read: the operation is the same for all of them.
fn of_task(task: &str, error: Error) -> Error {
    let kind = match error.kind() {
        // The words of this kind are those of the service.
        ErrorKind::Service => ErrorKind::Unexpected,
        kind => kind,
    };
    let said = Error::new(kind, format!("the log of {task} cannot be read: {error}"));
    let said = said.with_code(error.code().map(str::to_owned));
    let said = match error.status() {
        Some(status) => said.with_status(status),
        None => said,
    };
    said.with_retry_after(error.retry_after())
        .with_source(error)
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::SystemTime};

    use futures::TryStreamExt;
    use modelarts_emulator::{Emulator, ManualClock, Seeds};
    use serde_json::json;

    use super::*;
    use crate::{client::Client, credentials::Credentials};

    #[tokio::test]
    async fn a_history_that_is_taken_in_parts_is_told_whole() {
        // A day on which there are logs of that day.
        let clock = ManualClock::at(SystemTime::UNIX_EPOCH + Duration::from_secs(1_768_466_000));
        let emulator = Emulator::builder()
            .clock(Arc::new(clock))
            .token("TOKEN")
            .start()
            .await
            .unwrap();
        let client = Client::builder()
            .endpoint(emulator.url())
            .project_id(emulator.project_id())
            .credentials(Credentials::token("TOKEN"))
            .build()
            .unwrap();
        let event = |number: u32| {
            json!({"time": format!("2026-01-15T08:30:{:02}Z", number / 2),
                   "message": format!("event {number}")})
        };
        let seed = json!({
            "name": "long", "created": "2026-01-15T08:30:00Z",
            "events": (0..45).map(event).collect::<Vec<_>>(),
            "logs": {"worker-0": "2026-01-15T08:30:02.5Z a\n2026-01-15T08:30:21.5Z b\n"},
        });
        let seeds = Seeds::from_json(&json!({"jobs": [seed]}).to_string()).unwrap();
        let id = emulator.seed(&seeds).await.unwrap().remove(0);
        let job = client.training_jobs().get(&id).await.unwrap();

        let mut state = State::new(job.follow().quiet(Duration::ZERO));
        state.events = Follower::new(job.events().page_size(4));
        state.most_events = 10;
        let news: Vec<JobUpdate> = state.stream().try_collect().await.unwrap();
        let told = news.iter().map(|news| match news {
            JobUpdate::Event(event) => event.message().to_owned(),
            JobUpdate::Phase(job) => job.phase().to_string(),
            JobUpdate::Log {
                item: LogItem::Line(line),
                ..
            } => line.rsplit(' ').next().unwrap().to_owned(),
            other => format!("{other:?}"),
        });
        let mut expected: Vec<String> = (0..45).map(|number| format!("event {number}")).collect();
        // The lines come with the first part, in which the second one has no place yet.
        expected.insert(12, "b".to_owned());
        expected.insert(6, "a".to_owned());
        expected.push("Completed".to_owned());
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }
}
