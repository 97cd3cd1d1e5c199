//! Line indexes of logs: the number of line ends up to the end of each block, so that a page can be
//! read without the log before it. Indexes are in memory only. A rewritten log gets a new index.

use std::{collections::VecDeque, io, sync::Arc};

use parking_lot::Mutex;

use crate::logs::{
    LOG_CHUNK,
    lines::{LineCollector, LineQuery, Page},
};

/// Initial size of a block in bytes, and number of bytes that a page reads at a time.
const BLOCK: usize = 64 << 10;
/// Even number of blocks of a log (256 KiB of memory) at which the block size doubles.
const MAX_BLOCKS: usize = 1 << 15;
/// Number of bytes before the end of the counted part that are compared to detect a rewritten log.
const MARK_LENGTH: usize = 256;
const MAX_LOGS: usize = 4096;
/// Maximum number of blocks in all indexes together (16 MiB of memory).
const MAX_ENTRIES: usize = 1 << 21;

/// Indexes of recently used logs, the most recently used index last.
#[derive(Debug, Default)]
pub(crate) struct LogIndexes(Mutex<VecDeque<(String, SharedIndex)>>);

/// Index that is locked while it is extended, so that concurrent requests do not read bytes twice.
pub(super) type SharedIndex = Arc<tokio::sync::Mutex<LineIndex>>;

impl LogIndexes {
    pub(crate) fn of(&self, log: &str) -> SharedIndex {
        let mut all = self.0.lock();
        let found = all.iter().position(|(name, _)| name == log);
        let entry = match found.and_then(|at| all.remove(at)) {
            Some(entry) => entry,
            None => (log.to_owned(), SharedIndex::default()),
        };
        let mut entries = 0;
        // Starts with the most recently used index. A locked index is in use, and counts as empty.
        let kept = all.iter().rev().take(MAX_LOGS - 1).take_while(|(_, index)| {
            entries += index.try_lock().map_or(0, |index| index.line_ends.capacity());
            entries <= MAX_ENTRIES
        });
        let dropped = all.len() - kept.count();
        all.drain(..dropped);
        let index = Arc::clone(&entry.1);
        all.push_back(entry);
        index
    }
}

#[derive(Debug)]
pub(crate) struct LineIndex {
    block: usize,
    /// Number of line ends up to the end of each block.
    line_ends: Vec<usize>,
    /// Last bytes of the last block.
    mark: Vec<u8>,
}

impl Default for LineIndex {
    fn default() -> Self {
        Self { block: BLOCK, line_ends: Vec::new(), mark: Vec::new() }
    }
}

impl LineIndex {
    /// Returns the length of the counted part of the log, in bytes.
    fn end(&self) -> u64 {
        self.position(self.line_ends.len())
    }

    fn position(&self, blocks: usize) -> u64 {
        self.block as u64 * blocks as u64
    }

    fn line_end_count(&self) -> usize {
        self.line_ends.last().copied().unwrap_or(0)
    }

    /// Counts the line ends in `piece`, which follows [end](Self::end), in whole blocks.
    fn feed(&mut self, mut piece: &[u8]) {
        while let Some((block, rest)) = piece.split_at_checked(self.block) {
            let ends = block.iter().filter(|byte| **byte == b'\n').count();
            self.line_ends.push(self.line_end_count() + ends);
            self.mark.clear();
            self.mark.extend_from_slice(&block[block.len().saturating_sub(MARK_LENGTH)..]);
            piece = rest;
            if self.line_ends.len() == MAX_BLOCKS {
                let pairs = self.line_ends.chunks_exact(2).map(|pair| pair[1]);
                self.line_ends = pairs.collect();
                self.block *= 2;
            }
        }
    }

    /// Returns a position before line `skip + 1`, and the number of lines that begin before it.
    fn start_position(&self, skip: usize) -> (u64, usize) {
        match self.line_ends.partition_point(|ends| *ends < skip) {
            0 => (0, 0),
            blocks => (self.position(blocks), self.line_ends[blocks - 1] + 1),
        }
    }

    /// Extends the index to `until` line ends or the log's end. A rewritten log is counted anew.
    async fn extend<P: Future<Output = io::Result<Vec<u8>>>>(
        &mut self,
        until: usize,
        part: &impl Fn(u64, u64) -> P,
    ) -> io::Result<()> {
        let mark = self.mark.len() as u64;
        if mark > 0 && part(self.end() - mark, mark).await? != self.mark {
            *self = Self::default();
        }
        while self.line_end_count() < until {
            let end = self.end();
            let piece = part(end, LOG_CHUNK.max(self.block as u64)).await?;
            self.feed(&piece);
            if self.end() == end {
                break;
            }
        }
        Ok(())
    }
}

/// Finds the lines of a page: the lines next to the base line that fit into `max_bytes`, or the
/// beginning of a longer line. `part` reads up to a number of bytes from a position.
pub(crate) async fn page<P: Future<Output = io::Result<Vec<u8>>>>(
    index: &tokio::sync::Mutex<LineIndex>,
    query: LineQuery,
    max_bytes: u64,
    part: impl Fn(u64, u64) -> P,
) -> io::Result<Option<Page>> {
    let start = {
        let mut index = index.lock().await;
        let (skip, last) = (query.skip(), query.last());
        let until = if query.ascending { skip } else { last };
        index.extend(until, &part).await?;
        index.start_position(match query.ascending {
            true => skip,
            // The number of lines is not less than the number of line ends.
            false => index.line_end_count().min(last).saturating_sub(query.count),
        })
    };
    let mut at = start.0;
    let mut collector = LineCollector::new(query, max_bytes, start);
    loop {
        let piece = part(at, BLOCK as u64).await?;
        at += piece.len() as u64;
        if piece.is_empty() || !collector.feed(&piece) {
            return Ok(collector.finish());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use futures::FutureExt;

    use super::*;

    /// A log in memory with a small index, and a count of the bytes read from it.
    struct Log {
        text: RefCell<Vec<u8>>,
        index: SharedIndex,
        read: Cell<usize>,
    }

    impl Log {
        fn new(text: impl Into<Vec<u8>>, block: usize) -> Self {
            let index = LineIndex { block, ..LineIndex::default() };
            Self {
                text: RefCell::new(text.into()),
                index: Arc::new(tokio::sync::Mutex::new(index)),
                read: Cell::new(0),
            }
        }

        fn part(&self, from: u64, max_bytes: u64) -> Vec<u8> {
            let text = self.text.borrow();
            let from = text.len().min(from as usize);
            let to = text.len().min(from + max_bytes as usize);
            self.read.set(self.read.get() + to - from);
            text[from..to].to_vec()
        }

        async fn page(&self, query: LineQuery, max_bytes: u64) -> Option<Page> {
            let part = |from, max_bytes| std::future::ready(Ok(self.part(from, max_bytes))).boxed();
            page(&self.index, query, max_bytes, part).await.unwrap()
        }

        async fn behind(&self, line: usize) -> Option<Page> {
            let query = LineQuery { count: 500, ascending: true, base: Some(line) };
            self.page(query, u64::MAX).await
        }

        /// Reads all pages from the first to the last, and returns the number of bytes read.
        async fn follow(&self) -> usize {
            let mut line = 0;
            let mut text = Vec::new();
            while let Some(page) = self.behind(line).await {
                assert_eq!(page.first, line + 1);
                line += page.lines;
                text.extend(page.content);
            }
            assert!(text == *self.text.borrow(), "{} bytes came", text.len());
            self.read.take()
        }
    }

    fn lines(from: usize, to: usize) -> String {
        (from..=to).map(|n| format!("line {n:7}\n")).collect()
    }

    #[tokio::test]
    async fn a_page_costs_the_same_wherever_it_is() {
        let log = Log::new(lines(1, 200_000), BLOCK);
        let half = Log::new(lines(1, 100_000), BLOCK);
        let (whole, half) = (log.follow().await, half.follow().await);
        assert!(whole < half * 2 + half / 100, "{whole} and {half} bytes");
        for line in [0, 10, 99_999, 199_000] {
            let page = log.behind(line).await.unwrap();
            assert_eq!(page.content, lines(line + 1, line + 500).into_bytes());
            // A page needs its lines, one block to find them and one to find their end.
            let max_bytes = 500 * 13 + 2 * BLOCK + MARK_LENGTH;
            let read = log.read.take();
            assert!(read <= max_bytes, "behind line {line}: {read} bytes");
        }
    }

    /// Of a long line, only the part that fits into a page is read.
    #[tokio::test]
    async fn long_lines_are_not_read_for_pages_that_cannot_hold_them() {
        let line = format!("{}\n", "x".repeat(1 << 20));
        let log = Log::new(line.repeat(20), BLOCK);
        let query = |base| LineQuery { count: 500, ascending: true, base };
        let page = log.page(query(None), 3 << 20).await.unwrap();
        assert_eq!((page.first, page.lines), (1, 2));
        let read = log.read.take();
        assert!(read <= (5 << 20) + 2 * BLOCK, "{read} bytes");
    }

    #[tokio::test]
    async fn a_log_that_grows_or_is_written_anew_has_the_lines_that_it_has() {
        let log = Log::new(lines(1, 1000), 64);
        assert_eq!(log.behind(999).await.unwrap().content, b"line    1000\n");
        assert_eq!(log.behind(1000).await, None);
        log.text.borrow_mut().extend(b"line    10");
        assert_eq!(log.behind(1000).await.unwrap().content, b"line    10");
        log.text.borrow_mut().extend(b"01\n");
        assert_eq!(log.behind(1000).await.unwrap().content, b"line    1001\n");
        // New contents: shorter, longer, and of the same length with other line ends.
        for text in ["a\nb\n".to_owned(), "\n".repeat(100_000), "x\n".repeat(50_000)] {
            log.text.replace(text.clone().into_bytes());
            log.follow().await;
        }
        log.text.borrow_mut().clear();
        assert_eq!(log.behind(0).await, None);
    }

    /// Returns the expected lines, found by a search of the whole log.
    fn plain(log: &str, query: LineQuery) -> Option<Page> {
        let all: Vec<&str> = log.split_inclusive('\n').collect();
        let (from, to) = match (query.ascending, query.base) {
            (true, base) => {
                let from = base.unwrap_or(0).min(all.len());
                (from, (from + query.count).min(all.len()))
            }
            (false, base) => {
                let to = base.map_or(all.len(), |base| base.saturating_sub(1).min(all.len()));
                (to.saturating_sub(query.count), to)
            }
        };
        (to > from).then(|| Page {
            first: from + 1,
            lines: to - from,
            content: all[from..to].concat().into_bytes(),
        })
    }

    #[tokio::test]
    async fn lines_are_those_of_the_whole_log() {
        let logs = [
            "",
            "\n",
            "a",
            "a\n\nbb\n",
            "one\ntwo\nthree\nfour",
            "\n\n\nx\n",
            "a\nlong line of more than a block\n\nb\nc",
        ];
        for text in logs {
            for block in [1, 2, 3, 8, BLOCK] {
                let log = Log::new(text, block);
                for count in [1, 2, 3, 500] {
                    for ascending in [true, false] {
                        for base in [None, Some(0), Some(1), Some(2), Some(3), Some(5), Some(9)] {
                            let query = LineQuery { count, ascending, base };
                            let found = log.page(query, u64::MAX).await;
                            assert_eq!(found, plain(text, query), "{text:?} {block} {query:?}");
                        }
                    }
                }
            }
        }
    }

    /// For a long log, the blocks are larger, but not more numerous.
    #[tokio::test]
    async fn an_index_does_not_grow_beyond_its_size() {
        let text = lines(1, 50_000);
        let log = Log::new(text.as_str(), 8);
        for ascending in [true, false] {
            for base in [None, Some(1), Some(777), Some(20_000), Some(39_900)] {
                let query = LineQuery { count: 20, ascending, base };
                let found = log.page(query, u64::MAX).await;
                assert_eq!(found, plain(&text, query), "{query:?}");
            }
        }
        let index = log.index.lock().await;
        assert_eq!(index.block, 32);
        assert_eq!(index.line_ends.len(), text.len() / 32);
    }

    /// When logs are followed in turn, each log is read once, regardless of the number of logs.
    #[tokio::test]
    async fn many_logs_keep_their_indexes() {
        let mut log = Log::new(lines(1, 100_000), BLOCK);
        let mut read = async |index| {
            log.index = index;
            log.behind(99_999).await.unwrap();
            log.read.take()
        };
        let only = SharedIndex::default();
        let first = read(Arc::clone(&only)).await;
        let next = read(only).await;
        assert!(next < first / 5, "{first} and {next} bytes");
        let indexes = LogIndexes::default();
        for expected in [first, next] {
            for number in 0..200 {
                let index = indexes.of(&format!("log {number}"));
                assert_eq!(read(index).await, expected, "log {number}");
            }
        }
    }

    #[test]
    fn all_indexes_together_do_not_grow_beyond_their_size() {
        let indexes = LogIndexes::default();
        let kept = || indexes.0.lock().len();
        for number in 0..10_000 {
            indexes.of(&format!("log {number}"));
        }
        assert_eq!(kept(), MAX_LOGS);
        for number in 0..200 {
            let index = indexes.of(&format!("long log {number}"));
            index.try_lock().unwrap().line_ends = vec![0; MAX_BLOCKS];
        }
        // The index in use is kept as well.
        assert_eq!(kept(), 1 + MAX_ENTRIES / MAX_BLOCKS);
    }

    #[tokio::test]
    async fn a_line_is_cut_between_two_characters() {
        // The text has characters of 1 to 4 bytes.
        let log = Log::new("aßह😀aßह😀", BLOCK);
        let query = LineQuery { count: 1, ascending: true, base: None };
        let mut cuts = Vec::new();
        for max_bytes in 1..=10 {
            cuts.push(log.page(query, max_bytes).await.unwrap().content.len());
        }
        assert_eq!(cuts, [1, 1, 3, 3, 3, 6, 6, 6, 6, 10]);
    }
}
