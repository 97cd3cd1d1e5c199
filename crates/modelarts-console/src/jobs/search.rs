//! `Search`: the conditions of the list, from the text of the search.

use modelarts_ext::{Client, Filter, jobs::ListJobs};

/// Conditions of the list of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Search {
    /// Part of the name.
    pub(crate) name: Option<String>,
}

impl Search {
    /// Parses the text of the search.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let name = Some(text.trim().to_owned()).filter(|name| !name.is_empty());
        Ok(Self { name })
    }

    /// Returns the search as a list.
    pub(crate) fn list(&self, client: &Client) -> ListJobs {
        let mut list = client.training_jobs().list();
        if let Some(name) = &self.name {
            list = list.filter(Filter::name().like(name));
        }
        list
    }
}
