//! Reader of the whole log that exists now, as bytes and as a stream of lines.

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};

use crate::{
    error::Error,
    jobs::logs::{
        Logs,
        item::{LogAccess, LogItem},
        lines::LineReader,
        link::LinkReader,
        preview::{MAX_LINE, trusted_size},
    },
    pagination::page::PageStream,
};

/// Maximum length of a preview that is certainly the whole log even if the response states no valid
/// sizes, in bytes. The service shortens previews to 5 MB.
const SHORT_PREVIEW: usize = 4_000_000;

/// Error codes of a log that is not in OBS, but may exist.
const NOT_IN_OBS: [&str; 3] = ["ModelArts.2820", "ModelArts.2822", "ModelArts.2836"];

impl Logs {
    /// Returns a stream of the lines that the log has now, without gaps. Unlike
    /// [`follow`](Self::follow), the stream ends after these lines, even if the job continues. An
    /// incomplete last line is returned, too.
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

/// Reader of a whole log, part by part. The log is read by its link, or by line numbers or preview
/// if it is not in OBS or OBS cannot be reached.
#[derive(Debug)]
pub(super) struct WholeLog {
    logs: Logs,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Link(Box<LinkReader>),
    Lines {
        reader: Box<LineReader>,
        /// Error of the link.
        cause: Error,
        has_more: bool,
    },
    Ended,
}

impl WholeLog {
    pub(super) fn new(logs: Logs) -> Self {
        Self {
            source: Source::Link(Box::new(LinkReader::new(&logs, 0, None))),
            logs,
        }
    }

    /// Returns the next bytes; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        match &mut self.source {
            Source::Link(reader) => match reader.next().await {
                Err(cause) if reader.offset() == 0 && may_exist_elsewhere(&cause) => {
                    self.read_elsewhere(cause).await
                }
                answer => answer,
            },
            Source::Lines { has_more: true, .. } => self.read_lines().await,
            Source::Lines { .. } | Source::Ended => Ok(None),
        }
    }

    /// Reads the first bytes without the link, which failed with `cause`.
    async fn read_elsewhere(&mut self, cause: Error) -> Result<Option<Bytes>, Error> {
        let by_numbers = match self.logs.access {
            Some(access) => access == LogAccess::LineNumbers,
            None => self.logs.job.client().cloud().has_line_numbers(),
        };
        if by_numbers {
            self.source = Source::Lines {
                reader: Box::default(),
                cause: cause.clone(),
                has_more: true,
            };
            if let Ok(bytes) = self.read_lines().await {
                return Ok(bytes);
            }
        }
        self.source = Source::Ended;
        let Ok(preview) = self.logs.preview().await else {
            return Err(cause);
        };
        let content = preview.content.as_ref().or(preview.context.as_ref());
        let content = content.map(String::as_str).unwrap_or_default();
        match trusted_size(content, &preview) {
            Some(full) if full == content.len() as u64 => {}
            None if content.len() < SHORT_PREVIEW => {}
            _ => {
                let hint = "only the end of the log can be read, by preview() or follow()";
                return Err(cause.with_hint(hint));
            }
        }
        Ok((!content.is_empty()).then(|| Bytes::copy_from_slice(content.as_bytes())))
    }

    /// Reads the next lines by their numbers.
    async fn read_lines(&mut self) -> Result<Option<Bytes>, Error> {
        let Source::Lines {
            reader,
            cause,
            has_more,
        } = &mut self.source
        else {
            return Ok(None);
        };
        let (mut items, more) = reader.poll(&self.logs).await?;
        // The rest of a long line can only be read by the link.
        if reader.take_cut_line().is_some() || !more && reader.take_long_end().is_some() {
            return Err(cause.clone());
        }
        *has_more = more;
        let partial = if more { None } else { reader.finish() };
        let is_partial = partial.is_some();
        items.extend(partial);
        let mut text = String::new();
        for item in items {
            match item {
                LogItem::Line(line) => {
                    text.push_str(&line);
                    text.push('\n');
                }
                LogItem::Gap { .. } => return Err(cause.clone()),
            }
        }
        if is_partial {
            text.pop();
        }
        // A poll without a complete line may be followed by a poll with lines.
        Ok((more || !text.is_empty()).then(|| text.into()))
    }
}

/// Returns `true` if the service may have a log although its link failed with this error: the
/// service has no link, or OBS does not return the log.
fn may_exist_elsewhere(error: &Error) -> bool {
    let is_of_obs = error.operation().is_none();
    is_of_obs
        || error.is_not_ready()
        || error.is_unknown_operation()
        || error.code().is_some_and(|code| NOT_IN_OBS.contains(&code))
}

/// Splitter of the bytes of a log into lines. A line that is longer than 1 MiB is returned in
/// parts.
#[derive(Debug, Default)]
pub(super) struct LineSplitter(Vec<u8>);

impl LineSplitter {
    /// Adds bytes, and returns the lines that they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Vec<LogItem> {
        let mut items = Vec::new();
        while let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            self.append(&bytes[..at], &mut items);
            if self.0.ends_with(b"\r") {
                self.0.pop();
            }
            items.push(self.take());
            bytes = &bytes[at + 1..];
        }
        self.append(bytes, &mut items);
        items
    }

    /// Removes and returns the last line, if it is incomplete.
    pub(super) fn finish(&mut self) -> Option<LogItem> {
        (!self.0.is_empty()).then(|| self.take())
    }

    /// Appends to the incomplete line, and returns the parts that exceed the maximum length.
    fn append(&mut self, mut bytes: &[u8], items: &mut Vec<LogItem>) {
        while self.0.len() + bytes.len() > MAX_LINE {
            let (fits, rest) = bytes.split_at(MAX_LINE - self.0.len());
            self.0.extend_from_slice(fits);
            // An incomplete character at the end of a part is moved to the next part.
            let start = match std::str::from_utf8(&self.0) {
                Err(error) if error.error_len().is_none() => error.valid_up_to(),
                _ => self.0.len(),
            };
            let next = self.0.split_off(start);
            items.push(self.take());
            self.0 = next;
            bytes = rest;
        }
        self.0.extend_from_slice(bytes);
    }

    fn take(&mut self) -> LogItem {
        let line = String::from_utf8(std::mem::take(&mut self.0));
        LogItem::Line(
            line.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(parts: &[&[u8]]) -> Vec<String> {
        let mut splitter = LineSplitter::default();
        let mut items: Vec<_> = parts.iter().flat_map(|part| splitter.push(part)).collect();
        items.extend(splitter.finish());
        let lines = items.into_iter().map(|item| match item {
            LogItem::Line(line) => line,
            LogItem::Gap { .. } => "gap".to_owned(),
        });
        lines.collect()
    }

    #[test]
    fn bytes_are_split_into_lines_at_any_place() {
        let text = "one\r\n\näöü\rx\nno end €";
        let lines = ["one", "", "äöü\rx", "no end €"];
        for size in 1..=text.len() {
            let parts: Vec<_> = text.as_bytes().chunks(size).collect();
            assert_eq!(split(&parts), lines, "{size}");
        }
        assert_eq!(
            split(&[b"a\xff\xe2\n\xe2\x82"]),
            ["a\u{fffd}\u{fffd}", "\u{fffd}"]
        );
        assert_eq!(split(&[b"end\n"]), ["end"]);
        assert_eq!(split(&[]), [""; 0]);
    }

    #[test]
    fn a_line_that_does_not_end_comes_in_parts_of_whole_characters() {
        let text = format!("x{}", "€".repeat(MAX_LINE));
        let parts: Vec<_> = text.as_bytes().chunks(70_000).collect();
        let lines = split(&parts);
        assert_eq!(lines.len(), 4);
        assert!(lines.iter().all(|line| line.len() <= MAX_LINE));
        assert!(lines.concat() == text);
    }
}
