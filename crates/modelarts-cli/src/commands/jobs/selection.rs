//! `JobConditions`: arguments with the conditions of a search for jobs.

use std::future;

use clap::Args;
use futures::TryStreamExt;
use modelarts_console::display;
use modelarts_ext::{Client, Filter, Job, jobs::ListJobs, types::Phase};

use crate::{commands::jobs::arguments::phase, failure::Failure};

/// Conditions of a search. A job must meet all of them.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct JobConditions {
    /// Only jobs in these phases: Running,Pending.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "PHASES",
        ignore_case = true,
        hide_possible_values = true,
        value_parser = phase()
    )]
    phase: Vec<Phase>,
    /// Only jobs of the user whom the credentials belong to.
    #[arg(long)]
    mine: bool,
    /// Only jobs of the users with these names.
    #[arg(long, value_delimiter = ',', value_name = "NAMES", conflicts_with = "mine")]
    user: Vec<String>,
    /// Only jobs whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Only jobs whose name begins with this text.
    #[arg(long, value_name = "TEXT", conflicts_with = "name")]
    name_prefix: Option<String>,
    /// Only jobs in these pools.
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    pool: Vec<String>,
    /// Only jobs with this tag, with any value or with this one; may be repeated. Without a time,
    /// the service searches the last 31 days.
    #[arg(long, value_name = "KEY[=VALUE]")]
    tag: Vec<String>,
    /// Only jobs of this workspace; by default, of the default workspace.
    #[arg(long, value_name = "ID")]
    workspace: Option<String>,
}

impl JobConditions {
    pub(super) fn is_empty(&self) -> bool {
        !self.mine
            && self.phase.is_empty()
            && self.user.is_empty()
            && self.name.is_none()
            && self.name_prefix.is_none()
            && self.pool.is_empty()
            && self.tag.is_empty()
            && self.workspace.is_none()
    }

    /// Selects these phases if the user has selected none.
    pub(super) fn or_phases(mut self, phases: impl IntoIterator<Item = Phase>) -> Self {
        if self.phase.is_empty() {
            self.phase = phases.into_iter().collect();
        }
        self
    }

    /// Returns `true` if the results of the search must be filtered by [`selects`](Self::selects).
    pub(super) fn is_local(&self) -> bool {
        !self.user.is_empty() || self.name_prefix.is_some()
    }

    /// Returns `true` if a job of the search meets the conditions on user names and the beginning of
    /// the name, for which the service documents no filters: its filter on users takes ids.
    pub(super) fn selects(&self, job: &Job) -> bool {
        let metadata = job.details().metadata.as_ref();
        let user = metadata.and_then(|metadata| metadata.user_name.as_ref());
        (self.user.is_empty() || user.is_some_and(|user| self.user.contains(user)))
            && self.name_prefix.as_ref().is_none_or(|prefix| job.name().starts_with(prefix))
    }

    /// Returns the jobs that meet the conditions, oldest first.
    pub(super) async fn jobs(&self, client: &Client) -> Result<Vec<Job>, Failure> {
        let list = self.list(client).await?.oldest_first();
        let selected = list.stream().try_filter(|job| future::ready(self.selects(job)));
        Ok(selected.try_collect().await?)
    }

    /// Returns the search with the conditions. Looks up the user of `--mine` in IAM.
    pub(super) async fn list(&self, client: &Client) -> Result<ListJobs, Failure> {
        let mut list = client.training_jobs().list();
        if self.mine {
            let user = client.current_user().await?;
            list = list.filter(Filter::user_id().is(user.id));
        }
        if !self.phase.is_empty() {
            list = list.filter(Filter::phase().is_in(unique(&self.phase)));
        }
        if let Some(name) = self.name.as_ref().or(self.name_prefix.as_ref()) {
            list = list.filter(Filter::name().like(name));
        }
        if !self.pool.is_empty() {
            list = list.filter(Filter::pool_id().is_in(unique(&self.pool)));
        }
        if let Some(workspace) = &self.workspace {
            list = list.workspace(workspace);
        }
        for (key, values) in tags(&self.tag)? {
            list = list.tag(key, values);
        }
        Ok(list)
    }
}

fn unique<T: Clone + PartialEq>(values: &[T]) -> Vec<T> {
    let mut kept: Vec<T> = Vec::new();
    for value in values {
        if !kept.contains(value) {
            kept.push(value.clone());
        }
    }
    kept
}

/// Returns the keys with their values. A key without values matches any value.
fn tags(arguments: &[String]) -> Result<Vec<(&str, Vec<&str>)>, Failure> {
    let is_wrong = |argument: &&String| {
        let (key, value) = argument.split_once('=').unwrap_or((argument, "any"));
        key.is_empty() || value.is_empty()
    };
    match arguments.iter().find(is_wrong) {
        None => Ok(display::tags(arguments)),
        Some(argument) => Err(Failure::usage(format_args!(
            "--tag {argument:?}: it must be a key, or a key and a value such as team=nlp"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_a_tag_are_sent_together() {
        let arguments = ["team=nlp", "gpu", "team=cv", "a=b=c"].map(str::to_owned);
        let tags = tags(&arguments).unwrap();
        let expected = [("team", vec!["nlp", "cv"]), ("gpu", vec![]), ("a", vec!["b=c"])];
        assert_eq!(tags, expected);
    }

    #[test]
    fn a_tag_has_a_key_and_no_empty_value() {
        for argument in ["", "=nlp", "team="] {
            let error = tags(&[argument.to_owned()]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "--tag {argument:?}: it must be a key, or a key and a value such as team=nlp"
                )
            );
        }
    }
}
