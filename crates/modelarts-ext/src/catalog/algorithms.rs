//! List of algorithms.

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

/// The algorithms of a project, newest first.
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

    /// Lists only algorithms whose name contains this text.
    pub fn name_like(self, text: impl Into<String>) -> Self {
        self.search("name", text)
    }

    /// Lists only algorithms that match this condition, by any key; only `name` is documented. The
    /// service supports one condition, so the last one applies.
    pub fn search(mut self, key: impl Into<String>, text: impl Into<String>) -> Self {
        self.search = Some((key.into(), text.into()));
        self
    }

    /// Lists only algorithms of this workspace. Default: all workspaces or workspace `0`; sources
    /// disagree (`openapi/SOURCES.md`, D-109).
    pub fn workspace(mut self, id: impl Into<String>) -> Self {
        self.workspace = Some(id.into());
        self
    }

    /// Sets the sort field. Default: the creation time.
    pub fn sort_by(mut self, field: impl Into<AlgorithmSortField>) -> Self {
        self.sort_by = field.into();
        self
    }

    /// Sorts in ascending order: oldest or first name first.
    pub fn ascending(mut self) -> Self {
        self.order = SortOrder::Asc;
        self
    }

    /// Sets the number of algorithms of each request, 1 to 50. Default 50.
    pub fn page_size(mut self, rows: u32) -> Self {
        self.page_size = Some(rows);
        self
    }

    /// Sets the number of pages that are requested concurrently after the first one. Default 4.
    pub fn in_flight(mut self, pages: usize) -> Self {
        self.in_flight = Some(pages);
        self
    }

    /// Sets the unit of `offset`. Default: [`Offset::PageIndex`], as the developers of Huawei
    /// Cloud's service confirmed; references describe [`Offset::Record`].
    pub fn offset_is(mut self, meaning: Offset) -> Self {
        self.meaning = Some(meaning);
        self
    }

    /// Continues behind a page of the same list.
    pub fn resume(mut self, position: Position) -> Self {
        self.resume = Some(position);
        self
    }

    /// Returns a stream of the algorithms; pages are requested as it is polled.
    #[must_use]
    pub fn items(self) -> PageStream<Algorithm> {
        stream::rows(self.pages())
    }

    /// The same as [`items`](Self::items).
    #[must_use]
    pub fn stream(self) -> PageStream<Algorithm> {
        self.items()
    }

    /// Returns the first `max` algorithms at most, which bounds the memory that the list takes.
    ///
    /// # Errors
    /// Those of the stream.
    pub async fn collect(self, max: usize) -> Result<Vec<Algorithm>, Error> {
        self.items().take(max).try_collect().await
    }

    /// Returns a stream of the pages.
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
