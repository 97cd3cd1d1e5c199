//! Windows of log lines, as JSON.

use axum::{Json, extract::Path};
use regex::Regex;
use serde::Serialize;

use crate::{
    job::logs::query::{FollowedLog, LogQuery, number},
    live::{
        log::LogState,
        spool::{Line, MAX_SHOWN, TaskLines, View},
        text::{Colour, Level, coloured, split_hits},
    },
    problem::Problem,
    site::UserRequest,
};

/// Maximum number of lines per response.
const MAX_LINES: u64 = 2_000;

/// Number of log lines of each task of a job.
#[derive(Serialize)]
pub(crate) struct LogCounts {
    /// Number of the line series. A new number means that all lines are read again.
    epoch: String,
    /// Total number of lines of all tasks.
    lines: u64,
    tasks: Vec<TaskCount>,
    /// `true` if the log is complete.
    has_ended: bool,
}

#[derive(Serialize)]
struct TaskCount {
    task: String,
    lines: u64,
}

impl LogCounts {
    pub(crate) fn of(log: &LogState) -> Self {
        let tasks = log.spool.as_ref().map(|spool| spool.tasks());
        let tasks = tasks.into_iter().flatten();
        Self {
            epoch: format!("{:x}", log.epoch),
            lines: log.lines(),
            tasks: tasks.map(|TaskLines { task, lines }| TaskCount { task, lines }).collect(),
            has_ended: log.has_ended,
        }
    }
}

#[derive(Serialize)]
pub(super) struct LogRow {
    /// Number of the line in its view, from 1.
    pub(super) number: u64,
    /// Name of the task, in a view of several tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) task: Option<String>,
    /// Parts of the text, alternately outside and inside hits, beginning outside.
    pub(super) parts: Vec<String>,
    /// Parts with a colour of a terminal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) colours: Vec<Colour>,
    /// Level of the line: `error` or `warning`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) level: Option<&'static str>,
    /// `true` if lines are missing here.
    pub(super) is_gap: bool,
    /// `true` for a line of the platform without a level.
    pub(super) is_system: bool,
    /// Time of the line in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) time: Option<u32>,
    /// `true` if the time is that at which the line was read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_read_time: bool,
    /// Length of the complete line in bytes, if the text is truncated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) len: Option<u64>,
}

impl LogRow {
    /// Returns the colours for the script of the page.
    pub(super) fn colours_json(&self) -> String {
        serde_json::json!(self.colours).to_string()
    }

    pub(super) fn new(line: Line, tasks: &[TaskLines], view: View, search: Option<&Regex>) -> Self {
        let task = tasks.get(usize::from(line.task));
        let task = task.filter(|_| view.is_none() && tasks.len() > 1);
        let search = search.filter(|_| !line.is_gap);
        let (text, colours) = coloured(&line.text);
        let level = Level::of(&text).filter(|_| !line.is_gap);
        Self {
            number: line.number + 1,
            task: task.map(|task| task.task.clone()),
            parts: split_hits(&text, search),
            colours,
            is_system: line.is_of_platform && level.is_none(),
            level: level.map(Level::class),
            is_gap: line.is_gap,
            time: line.time,
            is_read_time: line.is_read_time,
            len: line.is_cut().then_some(line.len),
        }
    }
}

#[derive(Serialize)]
pub(super) struct LogWindow {
    /// Number of the line series, as in [`LogCounts`].
    epoch: String,
    /// Number of lines of the view.
    lines: u64,
    rows: Vec<LogRow>,
}

/// Returns at most `count` lines of a view, beginning with the line `from`.
pub(super) async fn read(
    Path(id): Path<String>,
    request: UserRequest,
) -> Result<Json<LogWindow>, Problem> {
    let UserRequest { state, fields, .. } = request;
    let query = LogQuery::parse(&fields)?;
    // The search reports an expression that is not valid; lines are shown without it.
    let search = query.search().ok().flatten();
    let from = number(&fields, "from")?.map_or(0, |from| from.get() - 1);
    let count = number(&fields, "count")?.map_or(MAX_LINES, |count| count.get().min(MAX_LINES));
    let log = FollowedLog::follow(&state, &state.handle(&id)?).await?;
    let view = query.view(&log.spool)?;
    let (epoch, tasks) = (format!("{:x}", log.state.epoch), log.spool.tasks());
    let (lines, found) = log
        .read(move |spool| Ok((spool.lines(view), spool.window(view, from, count, MAX_SHOWN)?)))
        .await?;
    let search = search.as_ref().map(|search| &search.0);
    let rows = found.into_iter();
    Ok(Json(LogWindow {
        epoch,
        lines,
        rows: rows.map(|line| LogRow::new(line, &tasks, view, search)).collect(),
    }))
}
