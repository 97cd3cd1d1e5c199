//! Timeline of a job: for each run, its stages with their durations.

use std::time::{Duration, SystemTime};

use modelarts_ext::{
    Job, Timestamp,
    types::{Phase, Stage, StageName, StageRecord},
};

use crate::display;

/// A run of a job, with its stages in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JobRun {
    /// Number of the run, from 1.
    pub(crate) number: usize,
    pub(crate) steps: Vec<Step>,
    /// Reason of the end of the run, if the service states it.
    pub(crate) end: Option<String>,
}

/// A stage on the timeline.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) name: String,
    /// Style class: `done`, `current`, `stopped` after an earlier run, or that of the final phase.
    pub(crate) style: &'static str,
    pub(crate) symbol: &'static str,
    /// Start in the format of RFC 3339; empty if not known.
    pub(crate) start: String,
    /// Duration as text; empty for the end of the run, or if it is not known.
    pub(crate) duration: String,
    /// Duration in seconds, which determines the width.
    pub(crate) seconds: u64,
}

struct Span {
    name: String,
    is_end: bool,
    start: Option<Timestamp>,
    end: Option<Timestamp>,
}

/// Returns the runs of a job with their stages, and with its creation and end. A job without stages
/// has one run, which is derived from its times.
pub(crate) fn runs(job: &Job, stages: &[StageRecord], now: SystemTime) -> Vec<JobRun> {
    let mut runs: Vec<Vec<Span>> = stages.iter().map(spans).collect();
    runs.retain(|spans| !spans.is_empty());
    match runs.first_mut() {
        None => runs.push(spans_of_times(job)),
        Some(first) => {
            if let Some(creation) = creation(job, first) {
                first.insert(0, creation);
            }
        }
    }
    let last = runs.len();
    let runs = runs.into_iter().enumerate().map(|(index, mut spans)| {
        let is_last = index + 1 == last;
        if is_last && job.is_final() && !spans.last().is_some_and(|span| span.is_end) {
            let end = spans.last().and_then(|span| span.end);
            spans.push(Span { is_end: true, ..Span::new("", end, end) });
        }
        let reason = job.runs().get(index).and_then(|run| run.end_reason.clone());
        JobRun {
            number: index + 1,
            steps: steps(job, spans, is_last, now),
            end: reason.filter(|reason| !reason.is_empty()),
        }
    });
    runs.collect()
}

impl Span {
    fn new(name: &str, start: Option<Timestamp>, end: Option<Timestamp>) -> Self {
        Self { name: name.to_owned(), is_end: false, start, end }
    }
}

/// Returns the span from the creation of a job to its first stage, if it is a second or longer.
fn creation(job: &Job, first: &[Span]) -> Option<Span> {
    let created = job.created_at()?;
    let start = first.first()?.start?;
    let is_long = start.duration_since(created) >= Duration::from_secs(1);
    is_long.then(|| Span::new("Creating", Some(created), Some(start)))
}

fn spans(record: &StageRecord) -> Vec<Span> {
    record.stages.iter().map(span).collect()
}

fn span(stage: &Stage) -> Span {
    // The format of these times is not documented.
    let time = |text: &Option<String>| text.as_deref()?.parse::<Timestamp>().ok();
    let name = match &stage.name {
        Some(StageName::Scheduling) => "Waiting".to_owned(),
        Some(StageName::Preparing) => "Preparing".to_owned(),
        Some(StageName::Running) => "Running".to_owned(),
        Some(StageName::End) => "Ended".to_owned(),
        other => {
            let name = other.as_ref().map(ToString::to_string);
            stage.en_message.clone().or(name).unwrap_or_default()
        }
    };
    Span {
        name,
        is_end: stage.name == Some(StageName::End),
        start: time(&stage.start_time),
        end: time(&stage.end_time),
    }
}

/// Returns the spans that the times of the job show.
fn spans_of_times(job: &Job) -> Vec<Span> {
    let (created, started) = (job.created_at(), job.started_at());
    // The start is rounded down to seconds, and may therefore precede the creation.
    let started = started.map(|started| created.map_or(started, |created| created.max(started)));
    let ended =
        started.zip(job.time_run()).map(|(start, ran)| start + ran).filter(|_| job.is_final());
    let mut spans = vec![Span::new("Waiting", created, started)];
    if started.is_some() {
        spans.push(Span::new("Running", started, ended));
    }
    spans
}

fn steps(job: &Job, spans: Vec<Span>, is_last_run: bool, now: SystemTime) -> Vec<Step> {
    let last = spans.len().saturating_sub(1);
    let has_failed = !is_last_run || job.is_final() && job.phase() != Phase::Completed;
    let last_stage = spans.iter().rposition(|span| !span.is_end).filter(|_| has_failed);
    let (phase_style, phase_symbol) = display::phase_style(&job.phase());
    let steps = spans.into_iter().enumerate().map(|(index, span)| {
        let is_last = is_last_run && index == last;
        let is_current = is_last && !job.is_final();
        // The clock of this machine may differ from that of the service.
        let end = span.end.or(is_current.then(|| Timestamp::from(now)));
        let length = span.start.zip(end);
        let length = length.map(|(start, end)| end.duration_since(start));
        let (name, style, symbol) = match (span.is_end, is_current) {
            (true, _) if is_last => (job.phase().to_string(), phase_style, phase_symbol),
            (_, true) => (span.name, "current", phase_symbol),
            (true, false) => (span.name, "stopped", "↻"),
            // The run ended in this stage.
            (false, false) if last_stage == Some(index) && is_last_run => {
                (span.name, phase_style, phase_symbol)
            }
            (false, false) if last_stage == Some(index) => (span.name, "failed", "✗"),
            (false, false) => (span.name, "done", "✓"),
        };
        let shown = length.filter(|_| !span.is_end);
        Step {
            name,
            style,
            symbol,
            start: span.start.as_ref().map(ToString::to_string).unwrap_or_default(),
            duration: shown.map(display::duration).unwrap_or_default(),
            seconds: shown.unwrap_or_default().as_secs(),
        }
    });
    steps.collect()
}
