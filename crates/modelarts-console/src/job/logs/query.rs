//! `LogQuery`: the log lines that an address selects, and a search in them.

use std::{num::NonZeroU64, sync::Arc};

use modelarts_ext::JobHandle;

use crate::{
    access::visitor::Fields,
    live::{
        log::{LogState, LogWatch, storage_problem},
        pool::Viewer,
        spool::{Caller, Search, Spool, View},
    },
    problem::Problem,
    site::State,
};

/// Maximum length of the search text, in bytes.
const MAX_SEARCH: usize = 1024;

/// Log lines that an address selects, with a search.
pub(super) struct LogQuery {
    /// Name of the task; `None` for all tasks.
    pub(super) task: Option<String>,
    pub(super) text: String,
    pub(super) is_expression: bool,
    pub(super) is_case_sensitive: bool,
    /// Number of the marked line, from 1.
    pub(super) line: Option<NonZeroU64>,
}

impl LogQuery {
    pub(super) fn parse(fields: &Fields) -> Result<Self, Problem> {
        Ok(Self {
            task: fields.get("task").map(str::to_owned),
            text: fields.get("q").unwrap_or_default().to_owned(),
            is_expression: fields.get("regex").is_some(),
            is_case_sensitive: fields.get("case").is_some(),
            line: number(fields, "line")?,
        })
    }

    /// Returns the search; `None` if no text is given.
    pub(super) fn search(&self) -> Result<Option<Search>, String> {
        if self.text.is_empty() {
            return Ok(None);
        }
        if self.text.len() > MAX_SEARCH {
            return Err(format!("the search must have at most {MAX_SEARCH} bytes"));
        }
        Search::parse(&self.text, self.is_expression, self.is_case_sensitive).map(Some)
    }

    pub(super) fn view(&self, spool: &Spool) -> Result<View, Problem> {
        let Some(task) = &self.task else {
            return Ok(None);
        };
        let found = spool.view(task).ok_or_else(|| {
            Problem::not_found(format!("the job has no log of a task {task:?}"))
                .with_advice("choose one of the tasks of the page")
        });
        found.map(Some)
    }
}

/// Parses a field with a line number, from 1.
pub(super) fn number(fields: &Fields, name: &str) -> Result<Option<NonZeroU64>, Problem> {
    let parsed = fields.get(name).map(str::parse);
    parsed.transpose().map_err(|_| {
        Problem::invalid(format!("`{name}` must be the number of a line, counted from 1"))
    })
}

pub(crate) struct FollowedLog {
    /// Viewer that keeps the poller running.
    #[expect(dead_code, reason = "the logs are followed while it exists")]
    watch: Viewer<LogWatch>,
    pub(crate) state: LogState,
    pub(crate) spool: Arc<Spool>,
}

impl FollowedLog {
    /// Follows the logs of a job, and waits for the first lines.
    pub(crate) async fn follow(state: &State, job: &JobHandle) -> Result<Self, Problem> {
        let watch = state.watches.log(job);
        let known = watch.loaded().await;
        match (known.spool.clone(), &known.problem) {
            (Some(spool), _) => Ok(Self { watch, state: known, spool }),
            (None, Some(problem)) => Err(problem.clone()),
            (None, None) => Err(Problem::not_found("the job was deleted")),
        }
    }

    /// Searches in the files of the spool. Cancels the search when the browser disconnects.
    pub(crate) async fn search<T: Send + 'static>(
        &self,
        search: impl FnOnce(&Spool, &Caller) -> std::io::Result<T> + Send + 'static,
    ) -> Result<T, Problem> {
        // The server drops the future of a request when its connection is closed.
        let waiting = Arc::new(());
        let caller = Caller::new(Arc::downgrade(&waiting));
        let found = self.read(move |spool| search(spool, &caller)).await;
        drop(waiting);
        found
    }

    /// Reads from the files of the spool.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Spool) -> std::io::Result<T> + Send + 'static,
    ) -> Result<T, Problem> {
        let spool = Arc::clone(&self.spool);
        let result = tokio::task::spawn_blocking(move || read(&spool)).await;
        let result = result.map_err(std::io::Error::other).flatten();
        result.map_err(|error| storage_problem(&error))
    }
}
