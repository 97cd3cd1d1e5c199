//! `Printer`: prints the updates of a job, as text or as `ndjson` items.

use std::{io::Write as _, time::SystemTime};

use modelarts_ext::{
    Event, EventKind, Job, LogItem, Timestamp, jobs::follow::JobUpdate, types::EventLevel,
};

use crate::{
    failure::Failure,
    follow::item::{EventItem, Item, now},
    output::{self, Format, Output, Repetitions, Stdout, TaskLines},
    session::Session,
    terminal::{Emphasis, Terminal, folded},
};

/// Size in bytes at which buffered text for stderr is written.
const STDERR_BUFFER: usize = 1 << 16;

/// Indentation of log lines, to the texts after the times of phases and events.
const INDENT: &str = "          ";

/// Printer of the updates of a job. The text formats and `ndjson` print on stdout. The formats
/// `json`, `yaml` and `id` print text on stderr, because stdout has only the result of the command.
pub(crate) struct Printer<'a> {
    output: &'a Output,
    /// `true` if the text contains only the warnings and errors among the events.
    only_problems: bool,
    sink: Sink,
    /// Prefix of the container names of the job: `modelarts-job-ID-`.
    container: String,
    lines: TaskLines,
}

enum Sink {
    Stdout(Stdout),
    Stderr(String),
    /// Text that a screen prints.
    Screen(String),
}

impl Sink {
    fn write(&mut self, text: &str) -> Result<(), Failure> {
        match self {
            Self::Stdout(stdout) => stdout.write(text)?,
            Self::Screen(buffer) => buffer.push_str(text),
            Self::Stderr(buffer) => {
                buffer.push_str(text);
                if buffer.len() >= STDERR_BUFFER {
                    self.flush()?;
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        match self {
            Self::Stdout(stdout) => stdout.flush()?,
            Self::Screen(_) => {}
            Self::Stderr(buffer) => {
                // A closed stderr must not end the command that follows the job.
                let _ = anstream::stderr().lock().write_all(buffer.as_bytes());
                buffer.clear();
            }
        }
        Ok(())
    }
}

impl<'a> Printer<'a> {
    /// Creates a printer of phases, events and the log lines of all tasks, in the format of the
    /// command.
    pub(crate) fn new(session: &'a Session) -> Self {
        let output = &session.output;
        let sink = match output.format {
            Format::Table | Format::Wide | Format::Ndjson => Sink::Stdout(Stdout::lock()),
            _ => Sink::Stderr(String::new()),
        };
        let is_terminal = match sink {
            Sink::Stderr(_) => session.terminal.redraws,
            _ => output.is_terminal(),
        };
        let repetitions = if is_terminal { Repetitions::Live } else { Repetitions::Raw };
        Self {
            output,
            only_problems: false,
            sink,
            container: String::new(),
            lines: TaskLines::new(Some(INDENT), repetitions),
        }
    }

    /// Creates a printer for a screen, of phases, warnings, errors and log lines.
    pub(crate) fn for_screen(session: &'a Session, has_task_names: bool) -> Self {
        Self {
            output: &session.output,
            only_problems: true,
            sink: Sink::Screen(String::new()),
            container: String::new(),
            lines: TaskLines::new(has_task_names.then_some(""), Repetitions::Live),
        }
    }

    /// Returns the new text of a printer for a screen.
    pub(crate) fn take(&mut self) -> String {
        match &mut self.sink {
            Sink::Screen(text) => std::mem::take(text),
            _ => String::new(),
        }
    }

    /// Omits events from the text, except warnings and errors.
    pub(crate) fn with_problems_only(mut self) -> Self {
        self.only_problems = true;
        self
    }

    /// Prints an update to the buffer, which [`flush`](Self::flush) writes.
    pub(crate) fn print(&mut self, update: &JobUpdate) -> Result<(), Failure> {
        if self.output.format == Format::Ndjson {
            return Self::item(update).map_or(Ok(()), |item| self.print_item(&item));
        }
        match update {
            JobUpdate::Phase(job) => {
                if self.container.is_empty() {
                    self.container = format!("modelarts-job-{}-", job.id());
                }
                let time = clock_time(SystemTime::now().into());
                let phase = output::phase(&job.phase());
                let secondary = secondary_phase(job).map(|text| format!("  {text}"));
                let text = format!("{time}  {phase}{}\n", secondary.unwrap_or_default());
                self.end_lines()?;
                self.sink.write(&text)
            }
            JobUpdate::Event(event)
                if *event.level() == EventLevel::Info
                    && (self.only_problems || repeats_the_first_task(event)) =>
            {
                Ok(())
            }
            JobUpdate::Event(event) => {
                self.end_lines()?;
                self.sink.write(&self.event_text(event))
            }
            // Log lines are the most frequent updates, so their text is not copied.
            JobUpdate::Log { task, item: LogItem::Line(line) } => {
                self.lines.line(task, line, |text| self.sink.write(text))
            }
            JobUpdate::Log { task, item: LogItem::Gap { bytes } } => {
                let bytes = bytes.map_or_else(|| "lines".to_owned(), output::bytes);
                let gap = format_args!("… {bytes} are missing");
                self.lines.note(task, gap, |text| self.sink.write(text))
            }
            JobUpdate::Interrupted { .. } | JobUpdate::Resumed => {
                self.sink.flush()?;
                note_connection(update);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Prints an item in the format `ndjson`. The other formats print nothing.
    pub(crate) fn print_item(&mut self, item: &Item) -> Result<(), Failure> {
        match &mut self.sink {
            Sink::Stdout(stdout) if self.output.format == Format::Ndjson => {
                self.output.print_json(stdout, item)
            }
            _ => Ok(()),
        }
    }

    /// Prints the numbers of the repetitions with which the logs end at the moment.
    pub(crate) fn end_lines(&mut self) -> Result<(), Failure> {
        self.lines.end(|text| self.sink.write(text))
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.sink.flush()
    }

    fn item(update: &JobUpdate) -> Option<Item> {
        match update {
            JobUpdate::Phase(job) => Some(Item::Phase {
                phase: job.phase().to_string(),
                secondary_phase: secondary_phase(job),
                time: now(),
            }),
            JobUpdate::Event(event) => EventItem::new(event).map(Item::Event),
            JobUpdate::Log { task, item } => match item {
                LogItem::Line(line) => Some(Item::Log { task: task.clone(), line: line.clone() }),
                LogItem::Gap { bytes } => Some(Item::LogGap { task: task.clone(), bytes: *bytes }),
                _ => None,
            },
            JobUpdate::Interrupted { error } => {
                Some(Item::Interrupted { error: error.to_string(), time: now() })
            }
            JobUpdate::Resumed => Some(Item::Resumed { time: now() }),
            _ => None,
        }
    }

    fn event_text(&self, event: &Event) -> String {
        let emphasis = output::event_emphasis(event.level()).unwrap_or(Emphasis::Dim);
        let time = event.time().map_or_else(|| " ".repeat(8), clock_time);
        // Messages about containers contain the long id of the job, which is removed.
        let message = match self.container.is_empty() {
            true => event.message().to_owned(),
            false => {
                let job = format!("[Job: {}] ", self.container.trim_end_matches('-'));
                event.message().replace(&self.container, "").replace(&job, "")
            }
        };
        let message = Terminal::styled(output::one_line(message), emphasis);
        let text = format!("{time}  {message}\n");
        match self.output.width().filter(|_| matches!(self.sink, Sink::Stdout(_))) {
            Some(width) => folded(&text, usize::from(width), INDENT.len()),
            None => text,
        }
    }
}

/// Returns `true` for a step that each task of a job with several nodes takes, such as the download
/// of the code, unless it is that of the first task. `modelarts events` prints all.
fn repeats_the_first_task(event: &Event) -> bool {
    if matches!(event.kind(), EventKind::TaskFinished { .. }) {
        return false;
    }
    let message = event.message();
    let task = message.strip_prefix("[Pod: ").or_else(|| message.strip_prefix('['));
    let task = task.and_then(|rest| rest.split(']').next()).unwrap_or_default();
    let number = task.rsplit_once('-').and_then(|(_, number)| number.parse::<u32>().ok());
    number.is_some_and(|number| number > 0)
}

/// Returns the detailed phase; `None` if it is missing or equals the phase.
fn secondary_phase(job: &Job) -> Option<String> {
    let secondary = job.secondary_phase().map(ToString::to_string);
    secondary.filter(|secondary| secondary != job.phase().as_str())
}

/// Returns the time of day of the user, such as `08:30:07`.
pub(crate) fn clock_time(time: Timestamp) -> String {
    output::local_time(time, "%H:%M:%S")
}

/// Reports an interruption of the connection, or its end, on stderr.
pub(crate) fn note_connection(update: &JobUpdate) {
    match update {
        JobUpdate::Interrupted { error } if error.is_throttled() => {
            note!("the service limits the requests, trying again more slowly: {error}");
        }
        JobUpdate::Interrupted { error } => {
            note!("connection lost, trying again for 15 minutes: {error}");
        }
        JobUpdate::Resumed => note!("connection restored"),
        _ => {}
    }
}
