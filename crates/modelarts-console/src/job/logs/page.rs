//! Page with a window of lines.

use std::num::NonZeroU64;

use askama::Template;
use axum::{
    extract::Path,
    response::{IntoResponse, Redirect, Response},
};

use crate::{
    job::{
        followed::{FollowedJob, Position},
        frame::{JobFrame, Tab},
        logs::{
            lines::LogRow,
            query::{FollowedLog, LogQuery},
            search::{Find, search},
        },
    },
    live::spool::{Line, MAX_SHOWN, TaskLines, View},
    page::{Layout, Page, Section},
    problem::Problem,
    site::UserRequest,
};

/// Number of lines per page.
const WINDOW: u64 = 200;

#[derive(Template)]
#[template(path = "job/logs.html")]
struct LogsPage {
    layout: Layout,
    frame: JobFrame,
    query: LogQuery,
    tasks: Vec<TaskLines>,
    rows: Vec<LogRow>,
    /// Number of lines of the view.
    lines: u64,
    /// Result of the search, or the reason why it is invalid.
    message: Option<String>,
    is_invalid: bool,
    problem: Option<String>,
    has_ended: bool,
    /// Address of this view, without a line number.
    address: String,
    position: String,
}

impl LogsPage {
    fn first(&self) -> u64 {
        self.rows.first().map_or(0, |row| row.number)
    }

    fn last(&self) -> u64 {
        self.rows.last().map_or(0, |row| row.number)
    }

    /// Returns the number of the line in the middle of the previous page.
    fn earlier(&self) -> u64 {
        self.first().saturating_sub(WINDOW / 2).max(1)
    }

    /// Returns the number of the line in the middle of the next page.
    fn later(&self) -> u64 {
        (self.last() + WINDOW / 2).min(self.lines)
    }

    /// Returns the task whose log is downloaded; `None` for all tasks.
    fn download(&self) -> Option<&str> {
        match self.tasks.as_slice() {
            [only] => Some(&only.task),
            _ => self.query.task.as_deref(),
        }
    }

    fn is_task(&self, task: &str) -> bool {
        self.query.task.as_deref() == Some(task)
    }

    fn is_marked(&self, number: u64) -> bool {
        self.query.line.is_some_and(|line| line.get() == number)
    }
}

fn address(id: &str, query: &LogQuery) -> String {
    let mut fields = url::form_urlencoded::Serializer::new(String::new());
    fields.append_pair("task", query.task.as_deref().unwrap_or_default());
    if !query.text.is_empty() {
        fields.append_pair("q", &query.text);
    }
    if query.is_expression {
        fields.append_pair("regex", "on");
    }
    if query.is_case_sensitive {
        fields.append_pair("case", "on");
    }
    format!("/jobs/{id}/logs?{}", fields.finish())
}

pub(super) async fn show(
    Path(id): Path<String>,
    request: UserRequest,
) -> Result<Response, Problem> {
    let UserRequest { state, visitor, fields } = request;
    let query = LogQuery::parse(&fields)?;
    let followed = FollowedJob::follow(&state, &id).await?;
    let log = FollowedLog::follow(&state, &followed.job).await?;
    // Tasks without a log must be selectable as well.
    log.spool.add_tasks(followed.job.tasks());
    let view = query.view(&log.spool)?;
    let mut message = None;
    let searched = query.search();
    let pattern = searched.as_ref().ok().and_then(Option::as_ref);
    let is_invalid = searched.is_err();
    if let Err(problem) = &searched {
        message = Some(problem.clone());
    } else if let Some(find) = Find::parse(&fields, &query)? {
        let found = search(&log, view, find, query.line.map(NonZeroU64::get)).await?;
        match found.line {
            Some(line) => {
                let address = format!("{}&line={line}#line-{line}", address(&id, &query));
                return Ok(Redirect::to(&address).into_response());
            }
            None => message = Some("No line matches.".to_owned()),
        }
    }
    let (lines, rows) = window(&log, view, query.line).await?;
    let tasks = log.spool.tasks();
    let pattern = pattern.map(|search| &search.0);
    let rows = rows.into_iter().map(|line| LogRow::new(line, &tasks, view, pattern));
    let (layout, frame) = JobFrame::of(&state, &visitor, &followed.job, Tab::Logs).await?;
    let problem = followed.state.interruption.as_ref().or(log.state.problem.as_ref());
    let page = LogsPage {
        layout,
        frame,
        rows: rows.collect(),
        lines,
        message,
        is_invalid,
        problem: problem.map(Problem::sentence),
        has_ended: log.state.has_ended,
        address: address(&id, &query),
        position: Position::of(&followed.state, Some(&log.state)).to_string(),
        tasks,
        query,
    };
    Ok(Page(page).into_response())
}

/// Reads the lines around the given line; without a line, the last lines.
async fn window(
    log: &FollowedLog,
    view: View,
    line: Option<NonZeroU64>,
) -> Result<(u64, Vec<Line>), Problem> {
    log.read(move |spool| {
        let lines = spool.lines(view);
        let last = lines.saturating_sub(WINDOW);
        let from = line.map_or(last, |line| line.get().saturating_sub(WINDOW / 2).min(last));
        Ok((lines, spool.window(view, from, WINDOW, MAX_SHOWN)?))
    })
    .await
}
