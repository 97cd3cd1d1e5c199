//! `Printer`: the updates of a job, as text or as items of `ndjson`.

use std::{fmt::Write as _, io::Write as _, time::SystemTime};

use jiff::tz::TimeZone;
use modelarts_ext::{Event, LogItem, Timestamp, jobs::follow::JobUpdate, types::EventLevel};
use regex::Regex;

use crate::{
    failure::Failure,
    follow::item::{EventItem, Item, now},
    output::{self, Format, Output, Stdout},
    session::Session,
    terminal::{Emphasis, Terminal},
};

/// Size at which text for stderr is sent, in bytes.
const STDERR_BUFFER: usize = 1 << 16;

/// The updates that are printed.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    phases: bool,
    events: bool,
    logs: bool,
    /// Whether only warnings and errors among the events are printed as text.
    only_problems: bool,
    /// Whether lines of logs begin with the name of their task.
    names_tasks: bool,
    /// Only lines of these tasks, unless it is empty.
    tasks: Vec<String>,
    /// Only lines that match.
    pattern: Option<Regex>,
}

impl Selection {
    /// Selects phases, events and the lines of all tasks.
    pub(crate) fn all() -> Self {
        Self {
            phases: true,
            events: true,
            logs: true,
            only_problems: false,
            names_tasks: true,
            tasks: Vec::new(),
            pattern: None,
        }
    }

    /// Selects lines of logs: those of all tasks if `tasks` is empty.
    pub(crate) fn logs(tasks: Vec<String>, pattern: Option<Regex>) -> Self {
        Self {
            phases: false,
            events: false,
            tasks,
            pattern,
            ..Self::all()
        }
    }

    /// Selects events.
    pub(crate) fn events() -> Self {
        Self {
            phases: false,
            logs: false,
            ..Self::all()
        }
    }

    /// Leaves out events in the text, except warnings and errors.
    pub(crate) fn with_problems_only(mut self) -> Self {
        self.only_problems = true;
        self
    }

    fn has_event(&self, event: &Event) -> bool {
        let is_problem = *event.level() != EventLevel::Info;
        self.events && (is_problem || !self.only_problems)
    }

    /// Leaves out the names of tasks in the text, for the log of one task.
    pub(crate) fn without_task_names(mut self) -> Self {
        self.names_tasks = false;
        self
    }

    fn has_line(&self, task: &str, line: &str) -> bool {
        self.logs
            && (self.tasks.is_empty() || self.tasks.iter().any(|known| known == task))
            && self
                .pattern
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(line))
    }
}

/// Prints updates of a job: as text on stdout, or as items in the format `ndjson`. In the formats
/// `json`, `yaml` and `id`, stdout has the result of the command only, so the text is printed on
/// stderr.
pub(crate) struct Printer<'a> {
    output: &'a Output,
    selection: Selection,
    sink: Sink,
    zone: TimeZone,
    /// Text that containers of the job begin with: `modelarts-job-ID-`.
    container: String,
    /// Text before the lines of each task.
    prefixes: Vec<(String, String)>,
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
    /// Creates a printer in the format of the command.
    pub(crate) fn new(session: &'a Session, selection: Selection) -> Self {
        let output = &session.output;
        let sink = match output.format {
            Format::Table | Format::Wide | Format::Ndjson => Sink::Stdout(Stdout::lock()),
            Format::Json | Format::Yaml | Format::Id => Sink::Stderr(String::new()),
        };
        Self {
            output,
            selection,
            sink,
            zone: TimeZone::system(),
            container: String::new(),
            prefixes: Vec::new(),
        }
    }

    /// Prints an update, if it is selected. [`flush`](Self::flush) sends it.
    pub(crate) fn print(&mut self, update: &JobUpdate) -> Result<(), Failure> {
        if let JobUpdate::Phase(job) = update
            && self.container.is_empty()
        {
            self.container = format!("modelarts-job-{}-", job.id());
        }
        match update {
            // By far the most frequent update: the text is not copied.
            JobUpdate::Log {
                task,
                item: LogItem::Line(line),
            } if self.output.format != Format::Ndjson => {
                if self.selection.has_line(task, line) {
                    self.write_prefix(task)?;
                    self.sink.write(line)?;
                    self.sink.write("\n")?;
                }
                Ok(())
            }
            JobUpdate::Event(event) if self.output.format != Format::Ndjson => {
                match self.selection.has_event(event) {
                    true => self.sink.write(&self.event_text(event)),
                    false => Ok(()),
                }
            }
            update => match self.item(update) {
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
            Item::Phase {
                phase,
                secondary_phase,
                ..
            } => {
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
            Item::Interrupted { error, .. } => {
                self.sink.flush()?;
                note!("connection lost, trying again for 15 minutes: {error}");
                return Ok(());
            }
            Item::Resumed { .. } => {
                self.sink.flush()?;
                note!("connection restored");
                return Ok(());
            }
            Item::Event(_) | Item::Log { .. } | Item::Submitted { .. } | Item::End { .. } => {
                return Ok(());
            }
        };
        self.sink.write(&text)
    }

    /// Sends what was printed.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.sink.flush()
    }

    /// Returns the item of an update; `None` if it is not selected.
    fn item(&self, update: &JobUpdate) -> Option<Item> {
        let selection = &self.selection;
        match update {
            JobUpdate::Phase(job) if selection.phases => {
                let phase = job.phase().to_string();
                let secondary = job.secondary_phase().map(ToString::to_string);
                Some(Item::Phase {
                    secondary_phase: secondary.filter(|secondary| *secondary != phase),
                    phase,
                    time: now(),
                })
            }
            JobUpdate::Event(event) if selection.events => EventItem::new(event).map(Item::Event),
            JobUpdate::Log { task, item } => match item {
                LogItem::Line(line) if selection.has_line(task, line) => Some(Item::Log {
                    task: task.clone(),
                    line: line.clone(),
                }),
                LogItem::Gap { bytes } if selection.has_line(task, "") => Some(Item::LogGap {
                    task: task.clone(),
                    bytes: *bytes,
                }),
                _ => None,
            },
            JobUpdate::Interrupted { error } => Some(Item::Interrupted {
                error: error.to_string(),
                time: now(),
            }),
            JobUpdate::Resumed => Some(Item::Resumed { time: now() }),
            _ => None,
        }
    }

    fn write_prefix(&mut self, task: &str) -> Result<(), Failure> {
        if !self.selection.names_tasks {
            return Ok(());
        }
        let known = self.prefixes.iter().position(|(known, _)| known == task);
        let index = known.unwrap_or_else(|| {
            // Lines are indented below the times of phases and events.
            let indent = match self.selection.phases || self.selection.events {
                true => "          ",
                false => "",
            };
            let prefix = Terminal::styled(format_args!("{task} │"), Emphasis::Dim);
            let prefix = format!("{indent}{prefix} ");
            self.prefixes.push((task.to_owned(), prefix));
            self.prefixes.len() - 1
        });
        match self.prefixes.get(index) {
            Some((_, prefix)) => self.sink.write(prefix),
            None => Ok(()),
        }
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
