//! Everything that a job does and says, as one stream.

use std::{collections::VecDeque, time::Duration};

use futures::{StreamExt, stream};
use modelarts_api::{BoxFuture, types::Phase};

use crate::{
    ending::Ending,
    error::Error,
    event::Event,
    event_follow::Follower,
    event_kind::EventKind,
    job::Job,
    logs::{LogAccess, LogItem, Watcher},
    page::Results,
    patience::Patience,
};

/// How many logs are looked at at the same time.
const AT_ONCE: usize = 8;

/// Something that a followed job did or said.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum News {
    /// The job is in another phase. The job is as it was then.
    Phase(Box<Job>),
    /// Something happened.
    Event(Event),
    /// A task wrote something.
    Log {
        /// Such as `worker-0`.
        task: String,
        /// What it wrote.
        item: LogItem,
    },
    /// The job was deleted.
    Vanished,
}

/// Follows a job: its phases, its events, and the logs of all its tasks.
///
/// They are brought into the order of time as far as one look goes: events come by
/// their times; log lines carry none that can be relied on, and are put before the
/// event that tells the end of their task; the phase in which a job ended comes after
/// everything that led to it.
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

impl FollowJob {
    pub(crate) fn new(job: Job) -> Self {
        Self {
            job,
            interval: Duration::from_secs(5),
            lateness: Duration::from_secs(120),
            quiet: Duration::from_secs(30),
            logs: true,
            access: None,
        }
    }

    /// How long to wait between two looks. Default 5 seconds.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// As [`Events::lateness`](crate::Events::lateness). Default 2 minutes.
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

    /// As [`Logs::read_by`](crate::Logs::read_by).
    pub fn read_logs_by(mut self, access: LogAccess) -> Self {
        self.access = Some(access);
        self
    }

    /// What there is, and what comes, until the job has ended and been quiet. Answers
    /// that fail in passing do not end it.
    #[must_use]
    pub fn stream(self) -> Results<News> {
        let mut events = self.job.events().lateness(self.lateness);
        events.follow_instead();
        let state = State {
            ending: Ending::new(self.job.clone(), self.quiet),
            events: Follower::new(events),
            logs: Vec::new(),
            phase: None,
            patience: Patience::default(),
            held: Vec::new(),
            at_once: true,
            over: false,
            news: VecDeque::new(),
            follow: self,
        };
        stream::try_unfold(state, |mut state| async move {
            Ok(state.next().await?.map(|news| (news, state)))
        })
        .boxed()
    }
}

/// The task, and what is new in its log.
type Look<'a> = BoxFuture<'a, (String, Result<(Vec<LogItem>, bool), Error>)>;

struct State {
    follow: FollowJob,
    ending: Ending,
    events: Follower,
    logs: Vec<Watcher>,
    phase: Option<Phase>,
    patience: Patience,
    /// Events that happened behind lines that were not read yet.
    held: Vec<Event>,
    /// Whether there is something to be had without waiting.
    at_once: bool,
    over: bool,
    news: VecDeque<News>,
}

impl State {
    async fn next(&mut self) -> Result<Option<News>, Error> {
        while self.news.is_empty() && !self.over {
            if !std::mem::take(&mut self.at_once) {
                let clock = self.follow.job.client().clock().clone();
                let pause = self.patience.pause(self.follow.interval);
                clock.sleep(pause).await;
            }
            self.look().await?;
        }
        Ok(self.news.pop_front())
    }

    /// Looks at the job, then at its events, then at its logs: what led to something
    /// that is seen is looked for after it.
    async fn look(&mut self) -> Result<(), Error> {
        self.ending.look(&mut self.patience).await?;
        let events = self.events().await?;
        let lines = self.lines().await?;
        let job = self.ending.job.clone();
        let changed = self.phase.as_ref() != Some(&job.phase());
        if changed || !events.is_empty() || !lines.is_empty() {
            self.ending.news();
        }
        self.over = self.ending.is_over() && !self.at_once;
        self.held.extend(events);

        let is_final = job.is_final();
        if changed && !is_final {
            self.phase = Some(job.phase());
            self.news.push_back(News::Phase(Box::new(job.clone())));
        }
        if self.at_once {
            self.news.extend(lines.into_iter().map(log));
            return Ok(());
        }
        self.phase = Some(job.phase());
        let after = (changed && is_final).then(|| News::Phase(Box::new(job)));
        let events = std::mem::take(&mut self.held);
        self.news.extend(merge(events, lines));
        if self.over {
            for log in &mut self.logs {
                let task = log.task().to_owned();
                let item = log.finish();
                self.news.extend(item.map(|item| News::Log { task, item }));
            }
        }
        self.news.extend(after);
        if self.ending.is_gone() {
            self.news.push_back(News::Vanished);
        }
        Ok(())
    }

    async fn events(&mut self) -> Result<Vec<Event>, Error> {
        let clock = self.follow.job.client().clock().clone();
        let mut events = Vec::new();
        loop {
            match self.events.next(clock.now()).await {
                Ok(Some(new)) => events.extend(new),
                Ok(None) => {
                    self.patience.restore();
                    break;
                }
                Err(error) if error.is_gone() => {
                    self.ending.vanish();
                    break;
                }
                Err(error) => {
                    self.patience.bear(error, &*clock)?;
                    break;
                }
            }
        }
        // Late ones come when they appear, but here among those that appeared with them.
        events.sort_by_key(Event::time);
        Ok(events)
    }

    /// What is new in the logs, in the order of the tasks.
    async fn lines(&mut self) -> Result<Vec<(String, LogItem)>, Error> {
        if !self.follow.logs {
            return Ok(Vec::new());
        }
        let clock = self.follow.job.client().clock().clone();
        for task in self.ending.job.tasks() {
            if !self.logs.iter().any(|log| log.task() == task) {
                let mut logs = self.ending.job.logs(task);
                logs.access = self.follow.access;
                self.logs.push(Watcher::new(logs));
            }
        }
        let mut looks: Vec<Look<'_>> = Vec::new();
        for log in &mut self.logs {
            looks.push(Box::pin(async {
                let items = log.look().await;
                (log.task().to_owned(), items)
            }));
        }
        let answers: Vec<_> = stream::iter(looks).buffered(AT_ONCE).collect().await;
        let mut lines = Vec::new();
        for (task, answer) in answers {
            match answer {
                Ok((items, more)) => {
                    self.at_once |= more;
                    lines.extend(items.into_iter().map(|item| (task.clone(), item)));
                }
                // The details of the job say whether it is gone; the log of a task may
                // just not be there.
                Err(error) if error.is_gone() => {}
                Err(error) => self.patience.bear(error, &*clock)?,
            }
        }
        Ok(lines)
    }
}

/// Puts the lines of each task before the first event that tells its end, and those of
/// tasks that go on behind all events.
fn merge(events: Vec<Event>, mut lines: Vec<(String, LogItem)>) -> Vec<News> {
    let mut news = Vec::new();
    for event in events {
        let kind = event.kind();
        let ended = |task: &str| match &kind {
            EventKind::TaskFinished { task: ended, .. }
            | EventKind::OutputUploading { task: ended, .. } => ended == task,
            other => other.is_final(),
        };
        let (before, rest): (Vec<_>, Vec<_>) = lines.into_iter().partition(|(task, _)| ended(task));
        lines = rest;
        news.extend(before.into_iter().map(log));
        news.push(News::Event(event));
    }
    news.extend(lines.into_iter().map(log));
    news
}

fn log((task, item): (String, LogItem)) -> News {
    News::Log { task, item }
}
