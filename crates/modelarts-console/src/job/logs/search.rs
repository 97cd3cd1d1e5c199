//! Jumps between lines that match a search or have a level.

use axum::{Json, extract::Path};
use serde::Serialize;

use crate::{
    access::visitor::Fields,
    job::logs::query::{FollowedLog, LogQuery},
    live::{
        spool::{Direction, Search, View},
        text::Level,
    },
    problem::Problem,
    site::UserRequest,
};

/// Maximum number of matching lines that are counted.
const MAX_COUNT: u64 = 10_000;

/// A search with a direction.
pub(super) struct Find {
    pub(super) search: Search,
    pub(super) direction: Direction,
}

impl Find {
    /// Parses the field `find`: `next` or `previous`, optionally with a level, as in `next-error`.
    /// Returns `None` if the field or the search that it needs is missing.
    pub(super) fn parse(fields: &Fields, query: &LogQuery) -> Result<Option<Self>, Problem> {
        let Some(find) = fields.get("find") else {
            return Ok(None);
        };
        let (direction, level) = find.split_once('-').unwrap_or((find, ""));
        let direction = match direction {
            "next" => Direction::Next,
            "previous" => Direction::Previous,
            _ => return Err(invalid()),
        };
        let level = match level {
            "" => None,
            "error" => Some(Level::Error),
            "warning" => Some(Level::Warning),
            _ => return Err(invalid()),
        };
        let search = match level {
            None => query.search().map_err(Problem::invalid)?,
            Some(level) => level.expression().cloned().map(Search),
        };
        Ok(search.map(|search| Self { search, direction }))
    }
}

fn invalid() -> Problem {
    Problem::invalid("`find` must be next or previous, or end in -error or -warning")
}

#[derive(Default, Serialize)]
pub(super) struct Found {
    /// Number of the matching line, from 1; null if no line matches.
    pub(super) line: Option<u64>,
    /// `true` if the search continued beyond the end or the beginning of the log.
    pub(super) is_wrapped: bool,
    /// Position of this line among the matching lines, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    hit: Option<u64>,
    /// Number of matching lines, up to a limit.
    hits: u64,
    /// `true` if the count stopped at the limit.
    is_limited: bool,
}

/// Searches in the log, beginning at `line`.
pub(super) async fn search(
    log: &FollowedLog,
    view: View,
    find: Find,
    line: Option<u64>,
) -> Result<Found, Problem> {
    let from = line.map(|line| line - 1);
    log.search(move |spool, caller| {
        let hit = spool.find(view, &find.search, from, find.direction, caller)?;
        let Some(hit) = hit else {
            return Ok(Found::default());
        };
        let (earlier, hits) = spool.count(view, &find.search, hit.line, MAX_COUNT, caller)?;
        let is_limited = hits == MAX_COUNT;
        Ok(Found {
            line: Some(hit.line + 1),
            is_wrapped: hit.is_wrapped,
            hit: (earlier < hits).then_some(earlier + 1),
            hits,
            is_limited,
        })
    })
    .await
}

pub(super) async fn find(
    Path(id): Path<String>,
    request: UserRequest,
) -> Result<Json<Found>, Problem> {
    let UserRequest { state, fields, .. } = request;
    let query = LogQuery::parse(&fields)?;
    let find = Find::parse(&fields, &query)?;
    let find = find.ok_or_else(|| Problem::invalid("the search must have a text: set `q`"))?;
    let log = FollowedLog::follow(&state, &state.handle(&id)?).await?;
    let view = query.view(&log.spool)?;
    let line = query.line.map(std::num::NonZeroU64::get);
    Ok(Json(search(&log, view, find, line).await?))
}
