//! Existing logs: the whole log of each task, or its last lines, merged by time.

use std::collections::VecDeque;

use futures::{TryStreamExt, future::try_join_all};
use modelarts_ext::{Error, Job, LogItem, Timestamp, pagination::PageStream};

use crate::{
    commands::jobs::logs::{
        filter::{LineFilter, Verdict},
        printer::LogPrinter,
    },
    failure::Failure,
    terminal::note,
};

/// Maximum number of lines that are buffered until the first line with a time is read.
const MAX_UNDECIDED: usize = 10_000;

/// A line or a gap, with the line number if it is known.
type Line = (LogItem, Option<u64>);

/// Lines of one task that meet the conditions. Lines are read on demand.
struct LogSource {
    task: String,
    /// Lines of the log that are not read yet; `None` if all of them are in `ready`.
    log: Option<PageStream<LogItem>>,
    /// Number of lines that were read.
    read: u64,
    filter: LineFilter,
    undecided: Vec<Line>,
    ready: VecDeque<Line>,
    /// Next line. `time` is its position among the lines of other tasks.
    next: Option<Line>,
    time: Option<Timestamp>,
}

pub(super) async fn print_existing(
    job: &Job,
    tasks: &[String],
    tail: Option<usize>,
    filter: &LineFilter,
    printer: &mut LogPrinter<'_>,
) -> Result<(), Failure> {
    let sources = tasks.iter().map(|task| LogSource::open(job, task, tail, filter));
    let mut sources: Vec<LogSource> = try_join_all(sources).await?.into_iter().flatten().collect();
    if let [source] = sources.as_mut_slice() {
        // The lines of a single task are not merged, so they need no times.
        while let Some((item, number)) = source.take().await? {
            printer.print(&source.task, item, number)?;
        }
        source.note_missing_times();
        return Ok(());
    }
    try_join_all(sources.iter_mut().map(LogSource::advance)).await?;
    loop {
        let earliest = sources
            .iter_mut()
            .filter(|source| source.next.is_some())
            .min_by_key(|source| source.time);
        let Some(source) = earliest else {
            sources.iter().for_each(LogSource::note_missing_times);
            return Ok(());
        };
        if let Some((item, number)) = source.next.take() {
            printer.print(&source.task, item, number)?;
        }
        source.advance().await?;
    }
}

impl LogSource {
    /// Opens the log of a task. Prints a note and returns `None` if the log does not exist yet.
    async fn open(
        job: &Job,
        task: &str,
        tail: Option<usize>,
        filter: &LineFilter,
    ) -> Result<Option<Self>, Error> {
        let mut source = Self {
            task: task.to_owned(),
            log: None,
            read: 0,
            filter: filter.clone(),
            undecided: Vec::new(),
            ready: VecDeque::new(),
            next: None,
            time: None,
        };
        let opened = match tail {
            None => source.open_whole(job).await,
            Some(lines) => source.read_end(job, lines).await,
        };
        match opened {
            Err(error) if error.is_not_ready() => {
                note(format_args!("{task} has no log yet"));
                Ok(None)
            }
            opened => opened.map(|()| Some(source)),
        }
    }

    /// Explains on stderr that `--since` has no effect if no line begins with a time.
    fn note_missing_times(&self) {
        if self.read > 0 && self.filter.lacks_times() {
            let task = &self.task;
            note(format_args!(
                "no line of {task} begins with a time, so --since leaves none of them out; --tail \
                 prints the last lines"
            ));
        }
    }

    /// Opens the whole log. Reads the first line, so that a log that does not exist is detected.
    async fn open_whole(&mut self, job: &Job) -> Result<(), Error> {
        self.log = Some(job.logs(&self.task).stream());
        if let Some(first) = self.take().await? {
            self.ready.push_front(first);
        }
        Ok(())
    }

    /// Reads the last lines that meet the conditions. Reads the whole log only if its end has too
    /// few such lines.
    async fn read_end(&mut self, job: &Job, lines: usize) -> Result<(), Error> {
        let logs = job.logs(&self.task);
        let end = logs.end().await?;
        let text = end.text.as_str();
        // The first line of a partial text may lack its beginning.
        let start = match end.is_whole {
            true => 0,
            false => text.find('\n').map_or(text.len(), |end| end + 1),
        };
        let initial = self.filter.clone();
        for line in text[start..].lines() {
            self.accept(LogItem::Line(line.to_owned()), end.is_whole);
            self.keep_last(lines);
        }
        self.decide_all();
        self.keep_last(lines);
        if end.is_whole || self.ready.len() >= lines {
            return Ok(());
        }
        self.ready.clear();
        self.filter = initial;
        self.read = 0;
        let mut log = logs.stream();
        while let Some(item) = log.try_next().await? {
            self.accept(item, true);
            self.keep_last(lines);
        }
        self.decide_all();
        self.keep_last(lines);
        Ok(())
    }

    fn keep_last(&mut self, lines: usize) {
        let excess = self.ready.len().saturating_sub(lines);
        self.ready.drain(..excess);
    }

    /// Adds an item that was read, if it meets the conditions.
    fn accept(&mut self, item: LogItem, has_number: bool) {
        self.read += u64::from(matches!(item, LogItem::Line(_)));
        let number = has_number.then_some(self.read);
        match self.filter.decide(&item) {
            Verdict::Drop if self.undecided.is_empty() => {}
            Verdict::Undecided => {
                self.undecided.push((item, number));
                if self.undecided.len() >= MAX_UNDECIDED {
                    self.decide_all();
                }
            }
            verdict => {
                // A dropped line may have no time. Nothing is decided without a known time.
                self.decide_if_known();
                if verdict == Verdict::Keep {
                    self.ready.push_back((item, number));
                }
            }
        }
    }

    /// Decides about the undecided lines, if a time is known.
    fn decide_if_known(&mut self) {
        if self.filter.knows_time() {
            self.decide_all();
        }
    }

    fn decide_all(&mut self) {
        let undecided = std::mem::take(&mut self.undecided);
        if self.filter.is_late() {
            self.ready.extend(undecided);
        }
    }

    /// Returns the next line that meets the conditions.
    async fn take(&mut self) -> Result<Option<Line>, Error> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Ok(Some(line));
            }
            let Some(log) = &mut self.log else {
                return Ok(None);
            };
            match log.try_next().await? {
                Some(item) => self.accept(item, true),
                None => {
                    self.log = None;
                    self.decide_all();
                }
            }
        }
    }

    /// Reads the next line and its time. A line without a time gets the time of the line before it,
    /// and times never decrease.
    async fn advance(&mut self) -> Result<(), Error> {
        self.next = self.take().await?;
        let time = self.next.as_ref().and_then(|(item, _)| item.time());
        self.time = self.time.max(time.map(|found| found.time));
        Ok(())
    }
}
