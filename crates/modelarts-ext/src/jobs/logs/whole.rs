//! Reader of the whole log that exists now, as bytes and as a stream of lines.

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use modelarts_api::codes;

use crate::{
    error::Error,
    jobs::logs::{Logs, line_splitter::LineSplitter, line_splitter::LogItem, link::LinkReader},
    pagination::page::PageStream,
};

/// Error codes of a log that is not in OBS, but may exist.
const NOT_IN_OBS: [&str; 3] =
    [codes::LOG_PATH_NOT_FOUND, codes::LOG_EXPORT_PATH_NOT_SET, codes::PATH_NOT_FOUND];

impl Logs {
    /// Returns a stream of the lines that the log has now, without gaps. Unlike
    /// [`follow`](Self::follow), the stream ends after these lines, even if the job continues. The
    /// last line is also returned if it is incomplete.
    ///
    /// The stream fails if the log does not exist yet ([`Error::is_not_ready`]), or cannot be read
    /// from its beginning.
    #[must_use]
    pub fn stream(self) -> PageStream<LogItem> {
        let state = Some((WholeLog::new(self), LineSplitter::default()));
        stream::try_unfold(state, |state| async move {
            let Some((mut log, mut splitter)) = state else {
                return Ok::<_, Error>(None);
            };
            let (items, state) = match log.next().await? {
                Some(bytes) => (splitter.push(&bytes), Some((log, splitter))),
                None => (Vec::from_iter(splitter.finish()), None),
            };
            Ok(Some((stream::iter(items.into_iter().map(Ok)), state)))
        })
        .try_flatten()
        .boxed()
    }
}

/// Reader of a whole log, by its link, or by a preview if OBS does not return the log.
#[derive(Debug)]
pub(super) struct WholeLog {
    logs: Logs,
    /// Reader by the link; `None` after a preview was read instead.
    link: Option<LinkReader>,
}

impl WholeLog {
    pub(super) fn new(logs: Logs) -> Self {
        Self { link: Some(LinkReader::new(&logs, 0, None)), logs }
    }

    /// Returns the next bytes of the log, or `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let Some(link) = &mut self.link else {
            return Ok(None);
        };
        match link.next().await {
            Err(cause) if link.offset() == 0 && may_exist_elsewhere(&cause) => {
                self.link = None;
                self.read_preview(cause).await
            }
            answer => answer,
        }
    }

    /// Reads the log by a preview. Returns the error of the link unless the preview is complete.
    async fn read_preview(&self, cause: Error) -> Result<Option<Bytes>, Error> {
        match self.logs.end().await {
            Ok(end) if end.is_whole => Ok((!end.text.is_empty()).then(|| end.text.into())),
            Ok(_) => {
                let hint = "only the end of the log can be read, by preview() or follow()";
                Err(cause.with_hint(hint))
            }
            Err(_) => Err(cause),
        }
    }
}

/// Returns `true` if the service may have the log although the link failed with this error.
fn may_exist_elsewhere(error: &Error) -> bool {
    let is_of_obs = error.operation().is_none();
    is_of_obs
        || error.is_not_ready()
        || error.is_unknown_operation()
        || error.code().is_some_and(|code| NOT_IN_OBS.contains(&code))
}
