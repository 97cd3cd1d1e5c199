//! List of the algorithms of a project.

use modelarts_api::{
    BoxFuture,
    types::{Algorithm, AlgorithmSortField, SortOrder},
};

use crate::{
    catalog::row_key,
    client::Client,
    error::Error,
    pagination::{
        list::List,
        options::require_not_blank,
        source::{Counts, ListInfo, RawPage, Source},
    },
};

/// Algorithms of a project, by default newest first. A page has 1 to 50 algorithms, by default 50.
pub type ListAlgorithms = List<Algorithm, AlgorithmQuery>;

/// Conditions and order of an algorithm list, set by the methods of [`ListAlgorithms`].
#[derive(Clone, Debug)]
pub struct AlgorithmQuery {
    client: Client,
    search: Option<(String, String)>,
    workspace: Option<String>,
    sort_by: AlgorithmSortField,
    order: SortOrder,
}

impl Client {
    /// Lists the algorithms of the project, by default newest first. The offset counts pages, as
    /// the developers of Huawei Cloud's service confirmed, not records as in the API references.
    pub fn algorithms(&self) -> ListAlgorithms {
        List::new(Box::new(AlgorithmQuery {
            client: self.clone(),
            search: None,
            workspace: None,
            sort_by: AlgorithmSortField::CreateTime,
            order: SortOrder::Desc,
        }))
    }
}

impl ListAlgorithms {
    /// Lists only algorithms whose name contains this string.
    pub fn name_like(self, text: impl Into<String>) -> Self {
        self.search("name", text)
    }

    /// Lists only algorithms whose field `key` matches `text`. Only the key `name` is documented.
    /// The service supports one condition, so a second call replaces the first.
    pub fn search(mut self, key: impl Into<String>, text: impl Into<String>) -> Self {
        self.query.search = Some((key.into(), text.into()));
        self
    }

    /// Lists only algorithms of this workspace. Sources disagree about the default (SOURCES D-109).
    pub fn workspace(mut self, id: impl Into<String>) -> Self {
        self.query.workspace = Some(id.into());
        self
    }

    /// Sets the field by which the list is sorted. Default: the creation time.
    pub fn sort_by(mut self, field: impl Into<AlgorithmSortField>) -> Self {
        self.query.sort_by = field.into();
        self
    }

    /// Sorts in ascending order, such as the oldest algorithm first. Default: descending order.
    pub fn ascending(mut self) -> Self {
        self.query.order = SortOrder::Asc;
        self
    }
}

impl Source for AlgorithmQuery {
    type Item = Algorithm;

    fn info(&self) -> ListInfo {
        ListInfo {
            operation: "ListAlgorithms",
            unique: true,
            filtered: self.search.is_some() || self.workspace.is_some(),
            detected_offset: None,
        }
    }

    fn check(&self) -> Result<(), Error> {
        if let Some(workspace) = &self.workspace {
            require_not_blank("workspace", workspace)?;
        }
        let Some((key, text)) = &self.search else {
            return Ok(());
        };
        if key.is_empty() || key.contains(':') {
            return Err(Error::invalid(format!(
                "search {key:?}: a key has at least one character, and no colon"
            )));
        }
        if text.is_empty() {
            return Err(Error::invalid(format!(
                "search {key}: the text is empty; leave the condition out to find all"
            )));
        }
        Ok(())
    }

    fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<RawPage<Algorithm>, Error>> {
        Box::pin(async move {
            let answer = self
                .client
                .call(|api| {
                    let mut call = api
                        .list_algorithms()
                        .project_id(self.client.project().clone())
                        .offset(offset)
                        .limit(i64::from(limit))
                        .sort_by(self.sort_by.clone())
                        .order(self.order);
                    if let Some((key, text)) = &self.search {
                        call = call.searches(format!("{key}:{text}"));
                    }
                    if let Some(workspace) = &self.workspace {
                        call = call.workspace_id(workspace);
                    }
                    call.send()
                })
                .await?;
            answer.into_page(|answer| {
                let counts = Counts::new(answer.total, answer.count, answer.limit);
                (answer.items, counts)
            })
        })
    }

    fn key(&self, item: &Algorithm) -> String {
        let id = item.metadata.as_ref().and_then(|row| row.id.as_deref());
        row_key(id, item)
    }
}
