//! Reader of a log by previews, which reads the parts that the previews lack by the link to the log.

use crate::{
    error::Error,
    jobs::{
        logs::{
            Logs,
            item::LogItem,
            link::LinkReader,
            preview::{Located, PreviewReader, content, trusted_size},
        },
        polling::follower::Part,
    },
};

/// Size of the parts that are returned while a gap is read, in bytes. It equals the size of a
/// preview.
const PART: usize = 5 << 20;

/// Reader of one log by previews. If a preview lacks a part of the log, the part is read by the
/// link.
#[derive(Debug, Default)]
pub(super) struct FillingReader {
    previews: PreviewReader,
    fill: Option<Box<Fill>>,
    result: FillResult,
}

/// Result of the reads by the link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum FillResult {
    /// No part was read since the last preview.
    #[default]
    None,
    /// The part before the next preview was read.
    Filled,
    /// The part could not be read, so it remains a gap.
    Failed,
    /// The content by the link does not match the previews, so it is not read again.
    Unusable,
}

/// Missing part of a log that is being read.
#[derive(Debug)]
struct Fill {
    link: LinkReader,
    /// Content before the gap that has not been compared with the log yet.
    before: Vec<u8>,
    /// Position at which the gap ends.
    end: u64,
}

impl FillingReader {
    /// Polls the log once. Returns the new items, and `true` if more items are available without a
    /// pause.
    pub(super) async fn poll(&mut self, logs: &Logs) -> Result<Part<LogItem>, Error> {
        let mut items = Vec::new();
        if self.fill.is_none() {
            let preview = logs.preview().await?;
            let located = self.previews.locate(&preview);
            let missing = located
                .missing()
                .zip(trusted_size(content(&preview), &preview));
            let Some((missing, full)) = missing.filter(|_| self.may_fill(located)) else {
                if self.result != FillResult::Unusable {
                    self.result = FillResult::None;
                }
                return Ok((self.previews.take(&preview, located), false));
            };
            if let Located::Other { .. } = located {
                items.extend(self.previews.begin_other());
            }
            let start = self.previews.position();
            let before = self.previews.end().as_bytes().to_vec();
            let link = LinkReader::new(logs, start.saturating_sub(before.len() as u64), Some(full));
            self.fill = Some(Box::new(Fill {
                link,
                before,
                end: start + missing,
            }));
        }
        // The next preview is read after the gap, without a pause, and shows whether the gap was
        // filled.
        self.read_fill(&mut items).await;
        Ok((items, true))
    }

    /// Polls the log for the first time. Returns only the last lines.
    pub(super) async fn poll_last(
        &mut self,
        logs: &Logs,
        lines: usize,
    ) -> Result<Part<LogItem>, Error> {
        let preview = logs.preview().await?;
        let located = self.previews.locate(&preview);
        let mut items = self.previews.take(&preview, located);
        // An incomplete line is one of the last lines.
        let complete = match lines {
            0 => {
                self.previews.finish();
                0
            }
            lines => lines - usize::from(self.previews.has_incomplete_line()),
        };
        items.drain(..items.len().saturating_sub(complete));
        Ok((items, false))
    }

    /// Returns `true` if a gap before this preview may be read by the link.
    fn may_fill(&mut self, located: Located) -> bool {
        if self.result == FillResult::Filled && matches!(located, Located::Other { .. }) {
            self.result = FillResult::Unusable;
        }
        matches!(self.result, FillResult::None | FillResult::Filled)
    }

    /// Reads the next part of the gap.
    async fn read_fill(&mut self, items: &mut Vec<LogItem>) {
        let Some(mut fill) = self.fill.take() else {
            return;
        };
        let mut size = 0;
        while size < PART {
            match fill.link.next().await {
                Ok(Some(bytes)) => {
                    let known = bytes.len().min(fill.before.len());
                    if fill
                        .before
                        .drain(..known)
                        .ne(bytes[..known].iter().copied())
                    {
                        tracing::debug!("the link leads to another log, the gap remains");
                        return self.end_fill(&fill);
                    }
                    self.previews.push_bytes(&bytes[known..], items);
                    size += bytes.len();
                }
                Ok(None) => return self.end_fill(&fill),
                Err(error) => {
                    tracing::debug!(%error, "the log cannot be read by its link, the gap remains");
                    return self.end_fill(&fill);
                }
            }
        }
        self.fill = Some(fill);
    }

    fn end_fill(&mut self, fill: &Fill) {
        self.previews.rewind();
        self.result = match self.previews.position() >= fill.end {
            true => FillResult::Filled,
            false => FillResult::Failed,
        };
    }

    /// Removes and returns the last line, if it is incomplete.
    pub(super) fn finish(&mut self) -> Option<LogItem> {
        self.previews.finish()
    }
}
