//! The list of algorithms.

use futures::{StreamExt, TryStreamExt};
use modelarts_api::{
    Offset,
    types::{Algorithm, AlgorithmSortField, SortOrder},
};

use crate::{
    catalog::row_source::{RowSource, Rows},
    client::Client,
    error::Error,
    pagination::{
        list::List,
        options::require_not_blank,
        page::{Page, PageStream},
        position::Position,
        stream,
    },
};

/// The algorithms of a project, the newest first.
///
/// ```no_run
/// # async fn example(client: modelarts_ext::Client) -> Result<(), modelarts_ext::Error> {
/// for algorithm in client.algorithms().name_like("bert").collect(10).await? {
///     println!("{:?}", algorithm.metadata.and_then(|metadata| metadata.name));
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ListAlgorithms {
    client: Client,
    search: Option<(String, String)>,
    workspace: Option<String>,
    sort_by: AlgorithmSortField,
    order: SortOrder,
    page_size: Option<u32>,
    in_flight: Option<usize>,
    meaning: Option<Offset>,
    resume: Option<Position>,
}

impl ListAlgorithms {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            search: None,
            workspace: None,
            sort_by: AlgorithmSortField::CreateTime,
            order: SortOrder::Desc,
            page_size: None,
            in_flight: None,
            meaning: None,
            resume: None,
        }
    }

    /// Finds only algorithms whose name contains this text.
    pub fn name_like(self, text: impl Into<String>) -> Self {
        self.search("name", text)
    }

    /// Finds only algorithms for which this condition holds, by a key of your own; only
    /// `name` is documented. The service takes one condition, so the last one counts.
    pub fn search(mut self, key: impl Into<String>, text: impl Into<String>) -> Self {
        self.search = Some((key.into(), text.into()));
        self
    }

    /// Finds only algorithms of this workspace. Without it, the service lists those of all
    /// workspaces or of workspace `0`: sources disagree (`openapi/SOURCES.md`, D-109).
    pub fn workspace(mut self, id: impl Into<String>) -> Self {
        self.workspace = Some(id.into());
        self
    }

    /// What the algorithms are sorted by, instead of the time when they were made.
    pub fn sort_by(mut self, field: impl Into<AlgorithmSortField>) -> Self {
        self.sort_by = field.into();
        self
    }

    /// Sorts upwards: the oldest, or the first name, comes first.
    pub fn ascending(mut self) -> Self {
        self.order = SortOrder::Asc;
        self
    }

    /// How many algorithms are asked for at a time: 1 to 50, and 50 if nothing is said.
    pub fn page_size(mut self, rows: u32) -> Self {
        self.page_size = Some(rows);
        self
    }

    /// How many pages are asked for at the same time, after the first one. Default 4.
    pub fn in_flight(mut self, pages: usize) -> Self {
        self.in_flight = Some(pages);
        self
    }

    /// The unit of `offset` in the service: [`Offset::PageIndex`], if nothing is said, as the
    /// developers of Huawei Cloud's service confirmed, or [`Offset::Record`], as references
    /// call it.
    pub fn offset_is(mut self, meaning: Offset) -> Self {
        self.meaning = Some(meaning);
        self
    }

    /// Goes on behind a page of the same list.
    pub fn resume(mut self, position: Position) -> Self {
        self.resume = Some(position);
        self
    }

    /// The algorithms, page after page as they are wanted.
    #[must_use]
    pub fn items(self) -> PageStream<Algorithm> {
        stream::rows(self.pages())
    }

    /// The same as [`items`](Self::items).
    #[must_use]
    pub fn stream(self) -> PageStream<Algorithm> {
        self.items()
    }

    /// The first `max` algorithms, and never more: the number is the bound of what this
    /// takes in memory.
    ///
    /// # Errors
    /// As the stream.
    pub async fn collect(self, max: usize) -> Result<Vec<Algorithm>, Error> {
        self.items().take(max).try_collect().await
    }

    /// The pages.
    #[must_use]
    pub fn pages(self) -> PageStream<Page<Algorithm>> {
        if let Err(error) = self.check() {
            return stream::error_stream(error);
        }
        let Self {
            client,
            search,
            workspace,
            sort_by,
            order,
            ..
        } = self;
        let has_conditions = search.is_some() || workspace.is_some();
        let rows = RowSource::new(
            &client,
            "ListAlgorithms",
            move |client, api, offset, limit| {
                let mut call = api
                    .list_algorithms()
                    .project_id(client.project().clone())
                    .offset(offset)
                    .limit(limit)
                    .sort_by(sort_by.clone())
                    .order(order);
                if let Some((key, text)) = &search {
                    call = call.searches(format!("{key}:{text}"));
                }
                if let Some(workspace) = &workspace {
                    call = call.workspace_id(workspace);
                }
                Box::pin(call.send())
            },
            |answer| Rows {
                count: answer.count,
                limit: answer.limit,
                ..Rows::new(answer.items, answer.total)
            },
        );
        let rows = rows
            .with_conditions(has_conditions)
            .id(|row| row.metadata.as_ref()?.id.as_deref());
        let mut list = List::new(rows);
        if let Some(size) = self.page_size {
            list = list.page_size(size);
        }
        if let Some(pages) = self.in_flight {
            list = list.in_flight(pages);
        }
        if let Some(meaning) = self.meaning {
            list = list.offset_is(meaning);
        }
        if let Some(position) = self.resume {
            list = list.resume(position);
        }
        list.pages()
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
}
