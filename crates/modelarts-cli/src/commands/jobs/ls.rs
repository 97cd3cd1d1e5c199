//! Command `modelarts ls`, which lists jobs.

use std::{
    cmp::Ordering,
    collections::HashMap,
    mem,
    time::{Duration, SystemTime},
};

use clap::Args;
use futures::{Stream, StreamExt, TryStreamExt, future::join_all, stream};
use modelarts_ext::{Error, Filter, Job, Timestamp, jobs::ListJobs, types::Phase};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    commands::{
        jobs::{
            arguments::{moment, positive_number},
            selection::JobConditions,
            values::columns::{JobValue, is_value, of_jobs, requested},
        },
        sync::objects,
    },
    completion::{Entry, JOBS, remember},
    exit_status::ExitStatus,
    failure::Failure,
    follow::Interrupt,
    live::{Screen, pause, table},
    output::{self, Column, Format, Row, or_dash},
    session::Session,
};

/// Maximum number of jobs per page, and of pages that are requested concurrently.
const PAGE_SIZE: usize = 50;
const MAX_IN_FLIGHT: usize = 4;

#[derive(Debug, Args)]
pub(crate) struct Ls {
    /// Directory in OBS whose objects are listed instead of jobs: obs://BUCKET/DIR/.
    #[arg(value_name = "PLACE")]
    place: Option<String>,
    /// Lists all objects below PLACE, and not only its directories.
    #[arg(short = 'R', long, requires = "place")]
    recursive: bool,
    #[command(flatten)]
    selection: JobConditions,
    /// Only jobs created since this time: 4d, 12h, 30m, 2026-01-15, 2026-01-15T08:30:00Z.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Timestamp>,
    /// Only jobs created up to this time.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<Timestamp>,
    /// Column by which the jobs are sorted: name, ran, -ran for the largest first, or a chosen value
    /// such as loss of --columns name,param:lr,log:loss. With --limit, the newest jobs are sorted.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    sort: Option<String>,
    /// Maximum number of jobs. Default: all.
    #[arg(
        short = 'n',
        long,
        value_name = "JOBS",
        value_parser = positive_number::<u64>,
        allow_negative_numbers = true
    )]
    limit: Option<u64>,
    /// Shows changes: on a terminal, draws the table again until q or Ctrl-C, elsewhere prints each
    /// job that is new or changed. Default of --limit: 50. WHY has no reasons from logs.
    #[arg(short, long, conflicts_with_all = ["place", "sort", "until"])]
    watch: bool,
    #[cfg(unix)]
    #[command(flatten)]
    pub(crate) local: crate::local_jobs::LocalFlag,
}

/// Maximum number of running jobs of a page whose logs are read, up to 5 MB each, and the time for
/// it.
const MAX_LOGS: usize = 10;
const LOG_TIMEOUT: Duration = Duration::from_secs(2);

/// A job of a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct JobRow {
    /// Id of the job.
    pub(crate) id: String,
    /// Name of the job.
    pub(crate) name: String,
    /// Phase, such as `Running`.
    pub(crate) phase: String,
    /// Detailed phase, if the service states one.
    pub(crate) secondary_phase: Option<String>,
    /// Time of the creation, RFC 3339.
    pub(crate) created_at: Option<String>,
    /// Seconds for which the job has been running, or ran; null before its start.
    pub(crate) seconds_run: Option<u64>,
    /// Number of nodes.
    pub(crate) nodes: Option<i64>,
    /// Flavor of the nodes.
    pub(crate) flavor: Option<String>,
    /// Pool, unless it is the public one.
    pub(crate) pool: Option<String>,
    /// Name of the user who created the job.
    pub(crate) user: Option<String>,
    /// Short reason of the phase, from the facts of the list, and for up to ten running jobs of
    /// each page from the log, if it is read within two seconds; null if there is none.
    pub(crate) why: Option<String>,
    /// End, RFC 3339; null if the job never ran or has not ended.
    pub(crate) ended_at: Option<String>,
    /// Number of accelerators of all nodes.
    pub(crate) cards: Option<f64>,
    /// Code under which the service bills the flavor.
    pub(crate) billing_code: Option<String>,
    /// Values of `--columns param:NAME,log:NAME`.
    #[serde(serialize_with = "output::as_object")]
    #[schemars(with = "Map<String, Value>")]
    pub(crate) values: Vec<(String, Value)>,
    #[serde(skip)]
    seconds_old: u64,
    #[serde(skip)]
    pub(crate) typed_phase: Phase,
}

impl JobRow {
    pub(crate) fn new(job: &Job, now: SystemTime) -> Self {
        let details = job.details();
        let spec = details.spec.as_deref();
        let resource = spec.and_then(|spec| spec.resource.as_deref());
        let created = job.created_at();
        Self {
            id: job.id().to_owned(),
            name: job.name().to_owned(),
            phase: job.phase().to_string(),
            secondary_phase: job.secondary_phase().map(ToString::to_string),
            created_at: created.map(|time| time.to_string()),
            seconds_run: job.time_run().map(|time| time.as_secs()),
            nodes: resource.and_then(|resource| resource.node_count),
            flavor: resource.and_then(|resource| resource.flavor_id.clone()),
            pool: resource.and_then(|resource| resource.pool_id.clone()),
            user: details.metadata.as_deref().and_then(|metadata| metadata.user_name.clone()),
            why: job.status_reason(),
            ended_at: ended_at(job).map(|time| time.to_string()),
            cards: job.cards(),
            billing_code: job.billing_code().map(str::to_owned),
            values: Vec::new(),
            seconds_old: created
                .map_or(0, |created| Timestamp::from(now).duration_since(created).as_secs()),
            typed_phase: job.phase(),
        }
    }

    /// Returns the time for which the job has been running, or ran.
    pub(crate) fn time_run(&self) -> String {
        or_dash(self.seconds_run.map(|seconds| output::duration(Duration::from_secs(seconds))))
    }
}

impl Row for JobRow {
    const LIST: &'static str = "jobs";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("NAME", |row| row.name.clone()),
        // All commands accept the first characters of an id.
        Column::new("ID", |row| row.id.chars().take(8).collect()),
        Column::new("PHASE", |row| output::phase(&row.typed_phase)),
        Column::new("NODES", |row| or_dash(row.nodes)),
        Column::whole("FLAVOR/POOL", |row| {
            or_dash(row.pool.clone().or_else(|| row.flavor.clone()))
        }),
        Column::new("AGE", |row| output::age(Duration::from_secs(row.seconds_old))),
        Column::new("RAN", |row| row.time_run()),
        Column::new("USER", |row| or_dash(row.user.clone())),
        Column::wide("SECONDARY", |row| or_dash(row.secondary_phase.clone())),
        Column::wide("CREATED", |row| or_dash(row.created_at.clone())),
        Column::wide("END", |row| or_dash(row.ended_at.clone())),
        Column::wide("CARDS", |row| or_dash(row.cards)),
        Column::wide("BILLING", |row| or_dash(row.billing_code.clone())),
        Column::wide("FULL-ID", |row| row.id.clone()),
        Column::new("WHY", |row| row.why.clone().unwrap_or_default()),
    ];

    fn may_have_value(name: &str) -> bool {
        is_value(name)
    }

    fn values(&self) -> &[(String, Value)] {
        &self.values
    }

    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

fn ended_at(job: &Job) -> Option<Timestamp> {
    job.is_final().then_some(job.started_at()? + job.time_run()?)
}

impl JobRow {
    /// Returns the value by which a column is sorted; `None` if there is no such column.
    fn sort_value(&self, column: &str) -> Option<Value> {
        let named = |name: &str| name.rsplit_once(':').map_or(name, |(_, name)| name) == column;
        let value = self.values.iter().find(|(name, _)| name == column || named(name));
        if let Some((_, value)) = value {
            return Some(value.clone());
        }
        let field = match column {
            "age" | "created" => "created_at",
            "ran" => "seconds_run",
            "end" => "ended_at",
            "billing" => "billing_code",
            "name" | "phase" | "nodes" | "flavor" | "user" | "cards" | "why" => column,
            _ => return None,
        };
        Some(serde_json::to_value(self).ok()?[field].clone())
    }
}

/// Sorts rows by a column. Rows without a value come last.
fn sort(rows: &mut [JobRow], column: &str) -> Result<(), Failure> {
    let (column, is_descending) = match column.strip_prefix('-') {
        Some(column) => (column, true),
        None => (column, false),
    };
    let keys = rows.iter().map(|row| row.sort_value(column)).collect::<Option<Vec<Value>>>();
    if keys.is_none() {
        return Err(Failure::usage(format_args!(
            "--sort {column}: it must be name, phase, nodes, flavor, age, ran, end, user, cards, \
             billing, why, or a value of --columns such as log:{column}"
        )));
    }
    let value = |row: &JobRow| row.sort_value(column).unwrap_or_default();
    rows.sort_by(|one, other| {
        let (one, other) = (value(one), value(other));
        let order = compare(&one, &other);
        let order = if is_descending { order.reverse() } else { order };
        one.is_null().cmp(&other.is_null()).then(order)
    });
    Ok(())
}

/// Compares values: numbers, also those in texts, come before other texts.
fn compare(one: &Value, other: &Value) -> Ordering {
    let number = |value: &Value| match value {
        Value::String(text) => text.parse().ok(),
        value => value.as_f64(),
    };
    match (number(one), number(other)) {
        (Some(one), Some(other)) => f64::total_cmp(&one, &other),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        _ => one.as_str().cmp(&other.as_str()),
    }
}

impl Ls {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        if let Some(place) = &self.place {
            if !self.selection.is_empty()
                || self.since.or(self.until).is_some()
                || self.limit.is_some()
                || self.sort.is_some()
            {
                return Err(Failure::usage(
                    "ls must have PLACE, or conditions that select jobs, but not both",
                ));
            }
            return objects::list(session, place, self.recursive).await;
        }
        if self.watch && matches!(session.output.format, Format::Json | Format::Yaml | Format::Id) {
            return Err(Failure::usage(
                "ls --watch: --output must be table, wide, ndjson or csv, because the list does \
                 not end",
            ));
        }
        let client = session.client().await?;
        let mut list = self.selection.list(client).await?;
        let selection = self.selection;
        if let Some(since) = self.since {
            list = list.filter(Filter::create_time().after(since));
        }
        let values = requested(session.output.columns())?;
        if self.watch && values.iter().any(JobValue::reads_logs) {
            return Err(Failure::usage(
                "ls --watch: --columns must have no log:NAME, because each change of the list would \
                 read all logs",
            ));
        }
        let all = if self.watch { PAGE_SIZE } else { usize::MAX };
        let limit = self.limit.map_or(all, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        if self.watch {
            return watch(session, list, selection, limit, &values).await;
        }
        let now = SystemTime::now();
        let has_why = session.output.has_column("why");
        let values = &values;
        let read = &std::cell::RefCell::new(Vec::new());
        let rows = first(list, selection, self.until, limit).and_then(move |jobs| async move {
            read.borrow_mut().extend(jobs.iter().map(Entry::of_job));
            let rows = jobs.iter().map(|job| JobRow::new(job, now));
            let mut rows: Vec<JobRow> = rows.collect();
            if has_why {
                add_problems(&jobs, &mut rows).await;
                #[cfg(unix)]
                if session.has_records() {
                    add_undelivered(&mut rows);
                }
            }
            if !values.is_empty() {
                let of_jobs = of_jobs(&jobs, values).await;
                rows.iter_mut().zip(of_jobs).for_each(|(row, values)| row.values = values);
            }
            Ok(rows)
        });
        if let Some(column) = &self.sort {
            let mut rows: Vec<JobRow> = rows.try_concat().await?;
            sort(&mut rows, column)?;
            let rows = stream::iter([Ok(rows)]);
            session.output.list_or_note(rows, "no jobs").await?;
            return Ok(ExitStatus::Success);
        }
        session.output.list_or_note(rows, "no jobs").await?;
        if !session.has_records() {
            remember(&session.selection, JOBS, read.take(), false);
        }
        Ok(ExitStatus::Success)
    }
}

/// Adds to the reasons of jobs on this machine that their outputs were not delivered.
#[cfg(unix)]
fn add_undelivered(rows: &mut [JobRow]) {
    let undelivered = crate::local_jobs::undelivered();
    for row in rows {
        let Some((_, stored)) = undelivered.iter().find(|(name, _)| *name == row.name) else {
            continue;
        };
        let reason = match stored.is_in_use() {
            true => "runs in another `modelarts`",
            false => "outputs not delivered",
        };
        row.why = Some(row.why.take().map_or(reason.to_owned(), |why| format!("{why}; {reason}")));
    }
}

/// Shows the jobs of a list on a terminal, elsewhere prints each job that is new or changed.
async fn watch(
    session: &Session,
    list: ListJobs,
    selection: JobConditions,
    limit: usize,
    values: &[JobValue],
) -> Result<ExitStatus, Failure> {
    let pause = pause(session.client().await?);
    let rows = async |jobs: Vec<Job>| {
        let values = of_jobs(&jobs, values).await;
        let rows = jobs.iter().map(|job| JobRow::new(job, SystemTime::now()));
        rows.zip(values).map(|(row, values)| JobRow { values, ..row }).collect()
    };
    let snapshots = snapshots(list, selection, limit, pause, rows);
    if let Some(screen) = Screen::open(session) {
        return table(screen, &session.output, snapshots).await;
    }
    let (mut interrupt, mut known, mut is_lost) = (Interrupt::new(), HashMap::new(), false);
    let changes = snapshots.map(|read| match read {
        Ok(mut rows) => {
            is_lost = false;
            rows.retain(|row: &JobRow| {
                let state = (row.phase.clone(), row.secondary_phase.clone(), row.why.clone());
                known.insert(row.id.clone(), state.clone()) != Some(state)
            });
            // The list is newest first; the changes are in their order.
            rows.reverse();
            Ok(rows)
        }
        Err(error) if error.is_retryable() && !known.is_empty() => {
            if !mem::replace(&mut is_lost, true) {
                note!("connection lost, trying again: {error}");
            }
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    });
    session.output.list(changes.take_until(interrupt.received())).await?;
    Ok(ExitStatus::Interrupted)
}

/// Returns the rows of the first selected jobs of a list again and again.
pub(super) fn snapshots<R>(
    list: ListJobs,
    selection: JobConditions,
    limit: usize,
    pause: Duration,
    rows: impl AsyncFnMut(Vec<Job>) -> Vec<R>,
) -> impl Stream<Item = Result<Vec<R>, Error>> {
    stream::unfold((Duration::ZERO, rows), move |(wait, mut rows)| {
        let jobs = first(list.clone(), selection.clone(), None, limit).try_concat();
        async move {
            tokio::time::sleep(wait).await;
            match jobs.await {
                Ok(jobs) => Some((Ok(rows(jobs).await), (pause, rows))),
                Err(error) => Some((Err(error), (pause, rows))),
            }
        }
    })
}

/// Adds what the logs of running jobs show. A log that cannot be read in time adds nothing.
async fn add_problems(jobs: &[Job], rows: &mut [JobRow]) {
    let running = jobs.iter().zip(rows).filter(|(job, _)| job.phase() == Phase::Running);
    join_all(running.take(MAX_LOGS).map(async |(job, row)| {
        let problem = tokio::time::timeout(LOG_TIMEOUT, job.running_problem()).await;
        if let Ok(Ok(Some(problem))) = problem {
            row.why = Some(problem);
        }
    }))
    .await;
}

/// Returns the first selected jobs of a list, created up to a time, page by page. Pages beyond the
/// limit are not requested. The service has no filter with an end and no start.
fn first(
    mut list: ListJobs,
    selection: JobConditions,
    until: Option<Timestamp>,
    limit: usize,
) -> impl Stream<Item = Result<Vec<Job>, Error>> {
    let is_early = move |job: &Job| {
        until.is_none_or(|until| job.created_at().is_some_and(|created| created <= until))
    };
    if !selection.is_local() && until.is_none() {
        let pages_after_first = limit.div_ceil(PAGE_SIZE).saturating_sub(1);
        list = list
            .page_size(u32::try_from(limit.min(PAGE_SIZE)).unwrap_or(1))
            .in_flight(pages_after_first.clamp(1, MAX_IN_FLIGHT));
    }
    let state = (list.pages(), selection, limit);
    stream::try_unfold(state, move |(mut pages, selection, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let page = pages.try_next().await?;
        Ok(page.map(|mut page| {
            page.items.retain(|job| is_early(job) && selection.selects(job));
            page.items.truncate(left);
            let left = left - page.items.len();
            (page.items, (pages, selection, left))
        }))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_all_kinds_have_an_order() {
        let mut values: Vec<Value> = (0..60)
            .map(|number: u32| match number % 3 {
                0 => json!(number),
                1 => json!(number.to_string()),
                _ => json!(format!("{number}a")),
            })
            .collect();
        values.reverse();
        // The sort panics if the comparison is no total order.
        values.sort_by(compare);
        assert_eq!(values[..4], [json!(0), json!("1"), json!(3), json!("4")]);
        assert_eq!(values[40..42], [json!("11a"), json!("14a")]);
    }
}
