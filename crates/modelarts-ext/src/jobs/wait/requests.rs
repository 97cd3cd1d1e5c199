//! Requests of a round, as they are sent.

use std::{collections::HashSet, time::Duration};

use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use modelarts_api::{codes, types::Phase};

use crate::{
    client::Client,
    error::Error,
    jobs::{
        filter::{Filter, MAX_SPAN},
        job::{Job, is_final},
        list::ListJobs,
        polling::{IN_FLIGHT, poller::ErrorTolerance},
        wait::{
            job_set::JobSet,
            round::{Answer, Group, PAGE_SIZE, Request, Round, SearchState},
        },
    },
    pagination::page::PageStream,
    timestamp::Timestamp,
};

/// Error codes with which the service rejects a search key.
const UNKNOWN_KEY_CODES: [&str; 4] = [
    codes::UNSUPPORTED_CONDITION_KEY,
    codes::UNSUPPORTED_CONDITION_OPERATOR,
    codes::UNSUPPORTED_CONDITION_VALUE,
    codes::UNSUPPORTED_FILTER_BY,
];

/// Resolution at which the service may compare times.
const TIME_RESOLUTION: Duration = Duration::from_secs(1);

/// Reads all jobs. The error of a search ends the round at once, because the service may ask for a
/// pause; that of a read after the other reads.
pub(super) async fn read_jobs(
    client: &Client,
    jobs: &mut JobSet,
    search: &mut SearchState,
    tolerance: &mut ErrorTolerance,
) -> Result<(), Error> {
    let mut round = Round::new(jobs);
    loop {
        let requests = round.next(jobs, search);
        if requests.is_empty() {
            return Ok(());
        }
        let are_reads = matches!(requests[0], Request::Read(_));
        let pages = (IN_FLIGHT / requests.len()).max(1);
        let requests = requests.into_iter();
        let answers = requests.map(|request| request.send(client.clone(), pages));
        let mut answers = stream::iter(answers).flatten_unordered(IN_FLIGHT);
        let mut last_error = None;
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(answer) => {
                    if !matches!(answer, Answer::NoIdSearch(_)) {
                        tolerance.reset();
                    }
                    round.record(answer, jobs, search);
                }
                Err(error) if are_reads => last_error = Some(error),
                Err(error) => return Err(error),
            }
        }
        if let Some(error) = last_error {
            return Err(error);
        }
    }
}

impl Request {
    fn send(self, client: Client, pages: usize) -> PageStream<Answer> {
        match self {
            Self::Ids(group) => search_ids(client, group).into_stream().boxed(),
            Self::Unfinished(group) => {
                let list = search_phases(&client, &group, |phase| !is_final(phase));
                let pages = list.in_flight(pages).pages();
                pages.map_ok(|page| Answer::Jobs(page.items)).boxed()
            }
            Self::Ended { group, worth } => {
                // The search may end early, so the jobs could fill all pages in flight.
                let pages = pages.min(group.jobs.len() / PAGE_SIZE).max(1);
                let list = search_phases(&client, &group, is_final).in_flight(pages);
                let ids = group.jobs.iter().map(|job| job.id().to_owned());
                let (pages, missing) = (list.pages(), ids.collect::<HashSet<String>>());
                stream::try_unfold(Some((pages, missing)), move |state| async move {
                    let Some((mut pages, mut missing)) = state else {
                        return Ok(None);
                    };
                    let page = pages.try_next().await?;
                    Ok(page.map(|page| {
                        let more = take_found(&mut missing, &page.items, worth);
                        (Answer::Jobs(page.items), more.then_some((pages, missing)))
                    }))
                })
                .boxed()
            }
            Self::Read(id) => read(client, id).into_stream().boxed(),
        }
    }
}

/// Removes the found jobs. Returns `true` if the next page is worth a request.
pub(super) fn take_found(missing: &mut HashSet<String>, page: &[Job], worth: usize) -> bool {
    let before = missing.len();
    for job in page {
        missing.remove(job.id());
    }
    !missing.is_empty() && before - missing.len() >= worth
}

async fn search_ids(client: Client, group: Group) -> Result<Answer, Error> {
    let filter = Filter::id().is_in(group.jobs.iter().map(|job| job.id()));
    let list = search(&client, &group).filter(filter);
    match list.collect(group.jobs.len()).await {
        Err(error) if error.code().is_some_and(|code| UNKNOWN_KEY_CODES.contains(&code)) => {
            Ok(Answer::NoIdSearch(group))
        }
        rows => rows.map(Answer::Jobs),
    }
}

async fn read(client: Client, id: String) -> Result<Answer, Error> {
    match client.training_jobs().get(&id).await {
        Err(error) if error.is_job_gone() => Ok(Answer::Gone(id)),
        job => job.map(|job| Answer::Jobs(vec![job])),
    }
}

/// Jobs that the search does not return are read in another way.
fn search(client: &Client, group: &Group) -> ListJobs {
    let list = client.training_jobs().list().allow_early_end();
    match &group.workspace {
        Some(workspace) => list.workspace(workspace),
        None => list,
    }
}

/// Restricted to the period in which the jobs were created, if the service accepts it.
fn search_phases(client: &Client, group: &Group, is_wanted: fn(&Phase) -> bool) -> ListJobs {
    let phases = Phase::KNOWN.iter().map(|phase| Phase::from(*phase));
    let list = search(client, group).filter(Filter::phase().is_in(phases.filter(is_wanted)));
    let created = group.jobs.iter().map(Job::created_at);
    let created: Option<Vec<Timestamp>> = created.collect();
    let period = created.and_then(|at| Some((*at.iter().min()?, *at.iter().max()?)));
    match period {
        Some((first, last)) if last.duration_since(first) + TIME_RESOLUTION <= MAX_SPAN => {
            list.filter(Filter::create_time().between(first, last + TIME_RESOLUTION))
        }
        _ => list,
    }
}
