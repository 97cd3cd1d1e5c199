//! `Printer`: the updates of a job, as text or as items of `ndjson`.

use std::{fmt::Write as _, io::Write as _, time::SystemTime};

use jiff::tz::TimeZone;
use modelarts_ext::{Event, LogItem, Timestamp, jobs::follow::JobUpdate, types::EventLevel};

use crate::{
    failure::Failure,
    follow::item::{EventItem, Item, now},
    output::{self, Format, Output, Stdout, TaskPrefixes},
    session::Session,
    source_links::SourceLinks,
    terminal::{Emphasis, Terminal},
};

/// Size at which text for stderr is sent, in bytes.
const STDERR_BUFFER: usize = 1 << 16;

/// Prints updates of a job: as text on stdout, or as items in the format `ndjson`. In the formats
/// `json`, `yaml` and `id`, stdout has the result of the command only, so the text is printed on
/// stderr.
pub(crate) struct Printer<'a> {
    output: &'a Output,
    /// `true` if only warnings and errors among the events are printed as text.
    only_problems: bool,
    sink: Sink,
    zone: TimeZone,
    /// Text that containers of the job begin with: `modelarts-job-ID-`.
    container: String,
    /// Text before the lines of each task.
    prefixes: TaskPrefixes,
    /// Links to the code, for lines on stdout.
    pub(crate) links: Option<SourceLinks>,
}

enum Sink {
    Stdout(Stdout),
    Stderr(String),
}

impl Sink {
    fn write(&mut self, text: &str) -> Result<(), Failure> {
        match self {
            Self::Stdout(stdout) => stdout.write(text)?,
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
            Self::Stderr(buffer) => {
                // The job matters more than its text: a closed stderr does not end the command.
                let _ = anstream::stderr().lock().write_all(buffer.as_bytes());
                buffer.clear();
            }
        }
        Ok(())
    }
}

impl<'a> Printer<'a> {
    /// Creates a printer of phases, events and the lines of all tasks, in the format of the
    /// command.
    pub(crate) fn new(session: &'a Session) -> Self {
        let output = &session.output;
        let sink = match output.format {
            Format::Table | Format::Wide | Format::Ndjson => Sink::Stdout(Stdout::lock()),
            Format::Json | Format::Yaml | Format::Id => Sink::Stderr(String::new()),
        };
        Self {
            output,
            only_problems: false,
            sink,
            zone: TimeZone::system(),
            container: String::new(),
            // Lines are indented below the times of phases and events.
            prefixes: TaskPrefixes::new("          "),
            links: None,
        }
    }

    /// Leaves out events in the text, except warnings and errors.
    pub(crate) fn with_problems_only(mut self) -> Self {
        self.only_problems = true;
        self
    }

    /// Prints an update. [`flush`](Self::flush) sends it.
    pub(crate) fn print(&mut self, update: &JobUpdate) -> Result<(), Failure> {
        if let JobUpdate::Phase(job) = update
            && self.container.is_empty()
        {
            self.container = format!("modelarts-job-{}-", job.id());
        }
        match update {
            // By far the most frequent update: the text is not copied.
            JobUpdate::Log { task, item: LogItem::Line(line) }
                if self.output.format != Format::Ndjson =>
            {
                self.write_prefix(task)?;
                match (&self.links, &self.sink) {
                    (Some(links), Sink::Stdout(_)) => self.sink.write(&links.linked(line))?,
                    _ => self.sink.write(line)?,
                }
                self.sink.write("\n")
            }
            JobUpdate::Event(event) if self.output.format != Format::Ndjson => {
                match self.only_problems && *event.level() == EventLevel::Info {
                    true => Ok(()),
                    false => self.sink.write(&self.event_text(event)),
                }
            }
            JobUpdate::Interrupted { .. } | JobUpdate::Resumed
                if self.output.format != Format::Ndjson =>
            {
                self.sink.flush()?;
                note_connection(update);
                Ok(())
            }
            update => match Self::item(update) {
                Some(item) => self.print_item(&item),
                None => Ok(()),
            },
        }
    }

    /// Prints an item, as text or as JSON. Items for the end and the beginning have no text.
    pub(crate) fn print_item(&mut self, item: &Item) -> Result<(), Failure> {
        if self.output.format == Format::Ndjson {
            return match &mut self.sink {
                Sink::Stdout(stdout) => self.output.print_json(stdout, item),
                Sink::Stderr(_) => Ok(()),
            };
        }
        let text = match item {
            Item::Phase { phase, secondary_phase, .. } => {
                let phase = output::phase(&phase.as_str().into());
                let secondary = secondary_phase.as_deref().map(|text| format!("  {text}"));
                let time = self.clock_time(Some(SystemTime::now().into()));
                format!("{time}  {phase}{}\n", secondary.unwrap_or_default())
            }
            Item::LogGap { task, bytes } => {
                self.write_prefix(task)?;
                let bytes = bytes.map_or_else(|| "lines".to_owned(), output::bytes);
                Terminal::styled(format_args!("… {bytes} are missing"), Emphasis::Dim) + "\n"
            }
            // Updates of these kinds are printed without an item, or have no text.
            _ => return Ok(()),
        };
        self.sink.write(&text)
    }

    /// Sends what was printed.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.sink.flush()
    }

    /// Returns the item of an update; `None` if it has none.
    fn item(update: &JobUpdate) -> Option<Item> {
        match update {
            JobUpdate::Phase(job) => {
                let phase = job.phase().to_string();
                let secondary = job.secondary_phase().map(ToString::to_string);
                Some(Item::Phase {
                    secondary_phase: secondary.filter(|secondary| *secondary != phase),
                    phase,
                    time: now(),
                })
            }
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

    fn write_prefix(&mut self, task: &str) -> Result<(), Failure> {
        self.sink.write(self.prefixes.of(task))
    }

    fn event_text(&self, event: &Event) -> String {
        let emphasis = match event.level() {
            EventLevel::Error => Emphasis::Bad,
            EventLevel::Warning => Emphasis::Waiting,
            _ => Emphasis::Dim,
        };
        let time = self.clock_time(event.time());
        // Messages about containers have the long id of the job.
        let message = match self.container.is_empty() {
            true => event.message().to_owned(),
            false => event.message().replace(&self.container, ""),
        };
        let message = Terminal::styled(message, emphasis);
        format!("{time}  {message}\n")
    }

    /// Returns the time of day in the time zone of the user, or eight blanks.
    fn clock_time(&self, time: Option<Timestamp>) -> String {
        let time = time.and_then(|time| jiff::Timestamp::try_from(SystemTime::from(time)).ok());
        let mut text = String::new();
        match time.map(|time| time.to_zoned(self.zone.clone())) {
            Some(time) => {
                // Writing to a string does not fail.
                let _ = write!(text, "{}", time.strftime("%H:%M:%S"));
            }
            None => text.push_str("        "),
        }
        text
    }
}

/// Prints the loss of the connection, or its return, on stderr.
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
