//! Calls the read operations of the service for lists, catalogues and one job that has ended.

use std::future::Future;

use anyhow::Context;
use futures::{StreamExt, TryStreamExt};
use modelarts_ext::{
    Client, Error, Filter, Job,
    pagination::{Page, PageStream},
    types::Phase,
};

/// Number of rows of a page. It is small, so that most lists have a second page.
const ROWS: u32 = 10;
/// Number of pages to read of each list. The second page reveals the unit of the offset.
const PAGES: usize = 2;

/// Runs a step, and prints its result on stderr. An error is printed as well, and does not prevent
/// the next step.
pub async fn step<T>(name: &str, work: impl Future<Output = Result<T, Error>>) -> Option<T> {
    said(name, work.await)
}

fn said<T>(name: &str, result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => {
            eprintln!("  {name}");
            Some(value)
        }
        Err(error) => {
            eprintln!("  {name}: {error}");
            None
        }
    }
}

/// Returns a reason if the error shows that all further calls would fail: no response, or a
/// rejection by the gateway. The recording then ends, because five rejections in a row lock the
/// access key.
fn hopeless(error: &Error) -> Option<&'static str> {
    let of_service = error.code().is_some_and(|it| it.starts_with("ModelArts."));
    match error.status() {
        None => Some("the first call had no answer"),
        Some(401 | 403) if !of_service => Some("the first call was refused"),
        _ => None,
    }
}

/// Calls the read operations for lists, catalogues and one job that has ended. Fails if the first
/// call shows that all further calls would fail.
pub async fn read_all(client: &Client, job: Option<&str>) -> anyhow::Result<()> {
    let flavors = client.flavors(None).page_size(ROWS).in_flight(1).pages();
    let flavors = two_pages(flavors).await;
    if let Some(why) = flavors.as_ref().err().and_then(hopeless) {
        let why = format!("{why}, and nothing else was sent; no transcript was written");
        flavors.context(why)?;
        return Ok(());
    }
    said("flavors", flavors);
    macro_rules! list {
        ($($name:literal: $list:expr,)*) => {
            $(step($name, two_pages($list.page_size(ROWS).in_flight(1).pages())).await;)*
        };
    }
    list! {
        "engines": client.engines(),
        "quotas": client.quotas(),
        "event categories": client.event_categories(),
        "search algorithms": client.hyperparameter_search_algorithms(),
        "search templates": client.search_templates(),
        "experiments": client.experiments(),
        "tags of jobs": client.job_tags(),
    }
    let algorithms = client.algorithms().page_size(ROWS).in_flight(1).pages();
    step("algorithms", two_pages(algorithms)).await;
    let jobs = client.training_jobs();
    let list = jobs.list().page_size(ROWS).in_flight(1).pages();
    step("jobs", two_pages(list)).await;
    let old = match job {
        Some(id) => step("the job", jobs.get(id)).await,
        None => {
            let ended = [Phase::Completed, Phase::Failed, Phase::Terminated];
            let list = jobs.list().filter(Filter::phase().is_in(ended));
            let found = step("a job that has ended", list.page_size(1).collect(1)).await;
            match found.and_then(|jobs| jobs.into_iter().next()) {
                Some(job) => step("its details", jobs.get(job.id())).await,
                None => None,
            }
        }
    };
    if let Some(job) = old {
        read_job(client, &job).await;
    }
    Ok(())
}

/// Reads the first two pages of a list. Further pages would add no information.
async fn two_pages<T>(pages: PageStream<Page<T>>) -> Result<usize, Error> {
    let pages: Vec<_> = pages.take(PAGES).try_collect().await?;
    Ok(pages.len())
}

/// Calls the read operations of a job, except for its details.
pub async fn read_job(client: &Client, job: &Job) {
    step("its runs", job.task_history().collect(100)).await;
    step("its stages", job.stages().collect(100)).await;
    step("its tags", job.tags().collect(100)).await;
    let events = job.events().page_size(50).in_flight(1).pages();
    step("its events", two_pages(events)).await;
    let Some(task) = job.tasks().first() else {
        return;
    };
    step("its log", job.logs(task).preview()).await;
    let link = client.call(|api| {
        let call = api.show_obs_url_of_training_job_logs();
        let call = call
            .project_id(client.project_id())
            .training_job_id(job.id());
        call.task_id(task.clone()).send()
    });
    step("a link to its log", link).await;
    let lines = client.call(|api| {
        let call = api.show_training_job_logs_from_aom();
        let call = call
            .project_id(client.project_id())
            .training_job_id(job.id());
        call.task_id(task.clone()).send()
    });
    step("lines of its log", lines).await;
    step("metrics of the task", job.metrics(task)).await;
}
