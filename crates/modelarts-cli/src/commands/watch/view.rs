//! `View`: the state of the live view of a job, which inputs change, and its rows.

use std::{collections::HashMap, fmt::Display, time::Duration};

use console::{Alignment, measure_text_width, pad_str, truncate_str};
use modelarts_ext::jobs::{MetricSeries, follow::JobUpdate};
use modelarts_ext::{Error, Event, Job, LogItem, Timestamp, types::Phase};

use crate::{
    commands::watch::progress::{Progress, Report},
    follow::End,
    live::{INTERRUPT, lost_since},
    output::{self, one_line},
    terminal::{Emphasis, Terminal},
};

/// Maximum number of workers that are shown.
pub(super) const MAX_WORKERS: usize = 6;
/// Metrics of a worker with their labels.
const METRICS: [(&str, &str); 4] =
    [("cpuUsage", "CPU"), ("memUsage", "MEM"), ("gpuUtil", "GPU"), ("npuUtil", "NPU")];
/// Levels of a sparkline, from 0 to 100 percent.
const LEVELS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
/// Minimum time between the question and its answer.
const READING: Duration = Duration::from_millis(300);
/// Maximum width of a sparkline in columns, and minimum width of one that is shown.
const MAX_SPARKLINE: usize = 20;
const MIN_SPARKLINE: usize = 3;

/// Input of the view.
pub(super) enum Input {
    Key(char),
    Update(JobUpdate),
    /// Usage of the machines of tasks.
    Usage(HashMap<String, Vec<MetricSeries>>),
    /// The service answered the request to stop the job.
    Stopped(Result<&'static str, Error>),
}

/// Action that an input causes.
pub(super) enum Action {
    /// Prints an update above the rows.
    Print(JobUpdate),
    Stop,
    Leave(End),
}

/// State of the dialogue about the stop of the job.
enum Dialogue {
    Idle,
    /// The question is shown since this time.
    Asking(Timestamp),
    /// The request is sent.
    Stopping,
    /// The service has accepted the request.
    Accepted,
    Refused(String),
}

/// State of the view.
pub(super) struct View {
    pub(super) job: Job,
    events: Vec<Event>,
    dialogue: Dialogue,
    /// Time since which requests fail, and `true` if the service limits them.
    lost: Option<(Timestamp, bool)>,
    usage: HashMap<String, Vec<MetricSeries>>,
    progress: Option<Progress>,
}

impl View {
    pub(super) fn new(job: Job) -> Self {
        let (events, usage) = (Vec::new(), HashMap::new());
        Self { job, events, dialogue: Dialogue::Idle, lost: None, usage, progress: None }
    }

    /// Changes the view by an input of a time.
    pub(super) fn step(&mut self, input: Input, now: Timestamp) -> Option<Action> {
        match input {
            Input::Key(INTERRUPT) => return Some(Action::Leave(End::Interrupted)),
            Input::Key(key) => return self.press(key, now),
            // A task whose usage was not read keeps its earlier values.
            Input::Usage(usage) => self.usage.extend(usage),
            Input::Stopped(Ok(_)) => self.dialogue = Dialogue::Accepted,
            Input::Stopped(Err(error)) => {
                let known = match error.status() {
                    Some(_) => "not stopped",
                    None => "not known whether it is stopped",
                };
                self.dialogue = Dialogue::Refused(format!("{known}: {error}"));
            }
            Input::Update(JobUpdate::Interrupted { error }) => {
                let since = self.lost.take().map_or(now, |(since, _)| since);
                self.lost = Some((since, error.is_throttled()));
            }
            Input::Update(JobUpdate::Resumed) => self.lost = None,
            Input::Update(mut update) => {
                match &mut update {
                    JobUpdate::Event(event) => self.events.push(event.clone()),
                    JobUpdate::Phase(job) => {
                        self.job = (**job).clone();
                        if !self.can_stop() {
                            self.dialogue = Dialogue::Idle;
                        }
                    }
                    JobUpdate::Log { item: LogItem::Line(line), .. } => {
                        if let Some(report) = Report::read(line) {
                            self.progress =
                                Some(Progress::after(self.progress.take(), report, now));
                        }
                        // A bar that a program redraws is a line with all its states.
                        let state = line.rsplit('\r').find(|state| !state.is_empty());
                        *line = state.unwrap_or_default().to_owned();
                    }
                    _ => {}
                }
                return Some(Action::Print(update));
            }
        }
        None
    }

    fn press(&mut self, key: char, now: Timestamp) -> Option<Action> {
        match (&self.dialogue, key) {
            (_, '\0') => {}
            // Text that is pasted is no answer.
            (Dialogue::Asking(since), 'y') if now.duration_since(*since) >= READING => {
                self.dialogue = Dialogue::Stopping;
                return Some(Action::Stop);
            }
            (Dialogue::Asking(_), _) => self.dialogue = Dialogue::Idle,
            (_, 'q') if self.job.is_final() => return Some(Action::Leave(End::Ended)),
            (Dialogue::Accepted, 'q') => return Some(Action::Leave(End::Stopping)),
            // The request must not be dropped.
            (Dialogue::Stopping, _) => {}
            (_, 'q') => return Some(Action::Leave(End::Interrupted)),
            (_, 't') if self.can_stop() => self.dialogue = Dialogue::Asking(now),
            _ => {}
        }
        None
    }

    fn can_stop(&self) -> bool {
        !self.job.is_final() && self.job.phase() != Phase::Terminating
    }

    /// Returns the rows for a terminal of these columns and rows.
    pub(super) fn rows(&self, (width, height): (u16, u16), now: Timestamp) -> Vec<String> {
        let (width, height) = (usize::from(width), usize::from(height));
        let mut rows = vec![dim("─".repeat(width)), self.heading(width, now)];
        // The other rows are at most five.
        let tasks = self.job.tasks();
        let max = MAX_WORKERS.min(height.saturating_sub(6));
        let names = tasks.iter().map(String::len).max().unwrap_or(0);
        rows.extend(tasks.iter().take(max).map(|task| {
            let series = self.usage.get(task).map_or(&[][..], Vec::as_slice);
            let name = pad_str(task, names, Alignment::Left, None);
            format!("{name}{}", usage(series, width.saturating_sub(names)))
        }));
        if tasks.len() > max {
            rows.push(dim(format!("and {} more", tasks.len() - max)));
        }
        rows.extend(self.progress.as_ref().map(|progress| progress_row(progress, width, now)));
        let event = self.events.last().map(|event| {
            // Messages about containers contain the long id of the job.
            let text = event.message().replace(&format!("modelarts-job-{}-", self.job.id()), "");
            let emphasis = output::event_emphasis(event.level()).unwrap_or(Emphasis::Dim);
            Terminal::styled(cut(text, width), emphasis)
        });
        rows.extend(self.lost.map(|(since, is_limit)| lost_since(since, is_limit)).or(event));
        rows.push(match &self.dialogue {
            Dialogue::Idle if self.can_stop() => dim("q leaves it running, t stops it"),
            Dialogue::Idle => dim("q leaves"),
            Dialogue::Asking(_) => Terminal::styled("stop the job? y/n", Emphasis::Bold),
            Dialogue::Stopping => Terminal::styled("stopping the job", Emphasis::Waiting),
            Dialogue::Accepted => Terminal::styled("stopping the job, q leaves", Emphasis::Waiting),
            Dialogue::Refused(error) => Terminal::styled(cut(error.clone(), width), Emphasis::Bad),
        });
        // The heading and the row with the keys stay.
        while rows.len() > height.max(2) {
            rows.remove(if rows.len() == height.max(2) + 1 { 0 } else { 2 });
        }
        rows.into_iter().map(|row| truncate_str(&row, width, "…").into_owned()).collect()
    }

    /// Returns the name of the job with its phases, of which the first ones are left out if there
    /// is no space.
    fn heading(&self, width: usize, now: Timestamp) -> String {
        let phases = self.job.phases(&self.events).into_iter().map(|phase| {
            let time = phase.duration(now).map(|time| format!(" {}", output::duration(time)));
            output::phase(&phase.phase) + &time.unwrap_or_default()
        });
        let phases: Vec<String> = phases.collect();
        let name = one_line(self.job.name().to_owned());
        // The longest phase with its time has 20 columns.
        let name = truncate_str(&name, width.saturating_sub(22), "…");
        let name = Terminal::styled(name, Emphasis::Bold);
        (0..phases.len())
            .map(|first| format!("{name}  {}", phases[first..].join(" → ")))
            .find(|row| measure_text_width(row) <= width)
            .unwrap_or(name)
    }
}

/// Returns the last values of the metrics, with sparklines if there is space for them.
fn usage(series: &[MetricSeries], width: usize) -> String {
    let known = METRICS.iter().filter_map(|(metric, label)| {
        let series = series.iter().find(|series| series.metric() == *metric)?;
        Some((label, series, series.last()?.1))
    });
    let known: Vec<_> = known.collect();
    let each = width / known.len().max(1);
    let text = |(label, series, last): (_, &MetricSeries, f64)| {
        let label = dim(label);
        match each.saturating_sub("  CPU  100%".len()).min(MAX_SPARKLINE) {
            0..MIN_SPARKLINE => format!("  {label} {last:3.0}%"),
            columns => format!("  {label} {last:3.0}% {}", sparkline(series, columns)),
        }
    };
    known.into_iter().map(text).collect()
}

/// Draws the last values of a series. A gap is a blank.
fn sparkline(series: &MetricSeries, columns: usize) -> String {
    let level = |value: f64| LEVELS[((value / 100.0 * 8.0) as usize).min(LEVELS.len() - 1)];
    let last = series.points().rev().take(columns);
    let mut points: Vec<&str> = last.map(|(_, value)| value.map_or(" ", level)).collect();
    points.reverse();
    points.resize(columns, " ");
    points.concat()
}

/// Returns the progress: a bar and as many of the other values as fit.
fn progress_row(progress: &Progress, width: usize, now: Timestamp) -> String {
    let report = &progress.last;
    let bar = report.percent.map(|percent| {
        let columns = width / 4;
        let done = ((percent / 100.0 * columns as f64) as usize).min(columns);
        let done_part = Terminal::styled("━".repeat(done), Emphasis::Good);
        format!("{done_part}{} {percent:3.0}%", dim("━".repeat(columns - done)))
    });
    let remaining = progress.remaining(now).filter(|time| !time.is_zero());
    let remaining = remaining.map(|time| format!("ETA {}", output::duration(time)));
    let metrics = report.metrics.iter().map(|metric| one_line(metric.clone()));
    let mut parts: Vec<_> =
        [bar, report.label.clone(), remaining].into_iter().flatten().chain(metrics).collect();
    while measure_text_width(&parts.join("  ")) > width && parts.pop().is_some() {}
    parts.join("  ")
}

/// Shortens a text to a width, between words.
fn cut(text: String, width: usize) -> String {
    let columns = u16::try_from(width.saturating_sub(1)).ok();
    let wrapped = output::wrapped(&one_line(text), columns);
    wrapped.split_once('\n').map_or(wrapped.clone(), |(first, _)| format!("{first}…"))
}

fn dim(text: impl Display) -> String {
    Terminal::styled(text, Emphasis::Dim)
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
