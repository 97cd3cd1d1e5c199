//! `Spool`: the lines of the logs of a job, in files of a temporary directory.
//!
//! A log may have millions of lines, so only their number is in memory. The file `lines` contains
//! the lines of all tasks in the order of arrival. The file `all`, and one file for each task,
//! contain the positions of the lines in the file `lines`, so that a window can be read without the
//! lines before it.

mod cursor;
mod search;

pub(crate) use search::{Caller, Direction, Search};

use std::{
    collections::HashMap,
    fs::OpenOptions,
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
    time::SystemTime,
};

use modelarts_ext::{LogItem, Timestamp};
use parking_lot::{Mutex, RwLock};
use tempfile::TempDir;

use crate::{
    live::{
        curves::{Curve, CurveReader},
        spool::cursor::{Cursor, HEADER, Header},
        text::{plain, storable},
    },
    temporary,
};

/// Maximum length of a line in a window, in bytes. Longer lines are truncated.
pub(crate) const MAX_SHOWN: usize = 4096;
/// Number of buffered bytes at which they are written.
const WRITE: usize = 4 << 20;

/// Selected lines: `None` for the lines of all tasks, or the index of a task for its lines.
pub(crate) type View = Option<u16>;

/// Values of a view, with the number of lines that were read.
type ReadCurves = Arc<Mutex<(u64, CurveReader)>>;

pub(crate) struct Spool {
    dir: TempDir,
    index: RwLock<Index>,
    /// Values of each view that were read before.
    curves: Mutex<HashMap<View, ReadCurves>>,
}

/// Numbers of the lines that are completely written.
#[derive(Clone, Default)]
struct Index {
    tasks: Vec<TaskLines>,
    /// Total number of lines of all tasks.
    lines: u64,
    /// Length of the file with the lines, in bytes.
    len: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskLines {
    /// Name of the task, such as `worker-0`.
    pub(crate) task: String,
    pub(crate) lines: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Number of the line in its view, from 0.
    pub(crate) number: u64,
    /// Index of the task.
    pub(crate) task: u16,
    /// `true` if lines are missing here. The text then states the number of bytes, if it is known.
    pub(crate) is_gap: bool,
    /// `true` for a line of the platform.
    pub(crate) is_of_platform: bool,
    /// Time of the line in seconds since 1970; `None` if it is not known.
    pub(crate) time: Option<u32>,
    /// `true` if the time is that at which the line was read.
    pub(crate) is_read_time: bool,
    /// Text of the line, truncated to the requested length.
    pub(crate) text: String,
    /// Length of the complete line, in bytes.
    pub(crate) len: u64,
}

impl Line {
    /// Returns `true` if the text is truncated.
    pub(crate) fn is_cut(&self) -> bool {
        (self.text.len() as u64) < self.len
    }
}

/// Line that is appended to a spool.
pub(crate) struct NewLine {
    /// Name of the task.
    pub(crate) task: String,
    pub(crate) item: LogItem,
    /// `true` for a line of the platform.
    pub(crate) is_of_platform: bool,
    /// Time at which the line was read, if that was soon after it was written.
    pub(crate) arrived: Option<Timestamp>,
}

/// Data that is appended to the files together.
#[derive(Default)]
struct Batch {
    lines: Vec<u8>,
    all: Vec<u8>,
    /// Positions to append to the file of each task.
    tasks: Vec<Vec<u8>>,
}

impl Spool {
    pub(crate) fn create() -> io::Result<Self> {
        let dir = temporary::directory("modelarts-logs-")?;
        Ok(Self { dir, index: RwLock::default(), curves: Mutex::default() })
    }

    /// Adds tasks, which may have no lines yet.
    pub(crate) fn add_tasks(&self, tasks: &[String]) {
        let mut index = self.index.write();
        for task in tasks {
            index.task(task);
        }
    }

    /// Appends lines. Only one caller may append at a time.
    pub(crate) fn append(&self, items: Vec<NewLine>) -> io::Result<()> {
        let mut index = self.index.read().clone();
        let mut batch = Batch::default();
        for NewLine { task, item, is_of_platform, arrived } in items {
            let own = item.time().filter(|it| it.has_zone).map(|it| it.time);
            let header = Header {
                task: index.task(&task),
                is_gap: matches!(item, LogItem::Gap { .. }),
                is_of_platform,
                time: seconds(own.or(arrived)),
                is_read_time: own.is_none() && arrived.is_some(),
                len: 0,
            };
            let text = match item {
                LogItem::Line(line) => line,
                LogItem::Gap { bytes: Some(bytes) } => format!("{bytes} bytes are missing"),
                LogItem::Gap { .. } => "lines are missing".to_owned(),
                _ => continue,
            };
            index.add(header, &text, &mut batch);
            if batch.lines.len() >= WRITE {
                self.write(&mut batch)?;
            }
        }
        self.write(&mut batch)?;
        *self.index.write() = index;
        Ok(())
    }

    fn write(&self, batch: &mut Batch) -> io::Result<()> {
        let tasks = (0..).zip(&batch.tasks);
        let tasks = tasks.map(|(task, positions)| (self.path(Some(task)), positions));
        let files = [(self.lines_path(), &batch.lines), (self.path(None), &batch.all)];
        for (path, contents) in files.into_iter().chain(tasks) {
            if !contents.is_empty() {
                let mut file = OpenOptions::new().create(true).append(true).open(path)?;
                file.write_all(contents)?;
            }
        }
        *batch = Batch::default();
        Ok(())
    }

    fn lines_path(&self) -> PathBuf {
        self.dir.path().join("lines")
    }

    /// Returns the path of the file with the positions of the lines of a view.
    fn path(&self, view: View) -> PathBuf {
        let name = view.map_or_else(|| "all".to_owned(), |task| format!("task-{task}"));
        self.dir.path().join(name)
    }

    /// Returns the tasks in the order of their first appearance.
    pub(crate) fn tasks(&self) -> Vec<TaskLines> {
        self.index.read().tasks.clone()
    }

    /// Returns the view of the task with this name; `None` if no such task exists.
    pub(crate) fn view(&self, task: &str) -> Option<u16> {
        let index = self.index.read();
        let at = index.tasks.iter().position(|known| known.task == task)?;
        u16::try_from(at).ok()
    }

    pub(crate) fn lines(&self, view: View) -> u64 {
        let index = self.index.read();
        match view {
            None => index.lines,
            Some(task) => index.tasks.get(usize::from(task)).map_or(0, |it| it.lines),
        }
    }

    /// Reads up to `count` lines from the line `from` on, each truncated to `max` bytes.
    pub(crate) fn window(
        &self,
        view: View,
        from: u64,
        count: u64,
        max: usize,
    ) -> io::Result<Vec<Line>> {
        let mut cursor = self.cursor(view, from, from.saturating_add(count))?;
        let mut lines = Vec::new();
        while let Some((number, header)) = cursor.next_line(max)? {
            lines.push(Line {
                number,
                task: header.task,
                is_gap: header.is_gap,
                is_of_platform: header.is_of_platform,
                time: header.time,
                is_read_time: header.is_read_time,
                text: cursor.text().to_owned(),
                len: header.len,
            });
        }
        Ok(lines)
    }

    /// Reads the values that the lines of a view have.
    pub(crate) fn curves(&self, view: View) -> io::Result<Vec<Curve>> {
        let known = Arc::clone(self.curves.lock().entry(view).or_default());
        let (next, reader) = &mut *known.lock();
        let mut cursor = self.cursor(view, *next, u64::MAX)?;
        while let Some((number, header)) = cursor.next_line(MAX_SHOWN)? {
            if !header.is_gap {
                reader.add(&plain(cursor.text()));
            }
            *next = number + 1;
        }
        Ok(reader.clone().curves())
    }

    /// Returns a cursor on the existing lines in the range `from..to` of a view.
    fn cursor(&self, view: View, from: u64, to: u64) -> io::Result<Cursor> {
        let to = to.min(self.lines(view));
        Cursor::open(&self.lines_path(), &self.path(view), from.min(to), to)
    }
}

/// Returns the seconds from 1970 to a time.
fn seconds(time: Option<Timestamp>) -> Option<u32> {
    let time = SystemTime::from(time?).duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u32::try_from(time.as_secs()).ok()
}

impl Index {
    /// Returns the index of a task. Adds the task if it is new.
    fn task(&mut self, name: &str) -> u16 {
        let known = self.tasks.iter().position(|known| known.task == name);
        let at = known.unwrap_or_else(|| {
            self.tasks.push(TaskLines { task: name.to_owned(), lines: 0 });
            self.tasks.len() - 1
        });
        // A job has far fewer than 65,535 tasks.
        u16::try_from(at).unwrap_or(u16::MAX)
    }

    fn add(&mut self, header: Header, text: &str, batch: &mut Batch) {
        let text = storable(text);
        let header = Header { len: text.len() as u64, ..header };
        batch.lines.extend(header.to_bytes());
        batch.lines.extend(text.as_bytes());
        let position = self.len.to_le_bytes();
        batch.all.extend(position);
        let task = usize::from(header.task);
        if batch.tasks.len() <= task {
            batch.tasks.resize_with(task + 1, Vec::new);
        }
        batch.tasks[task].extend(position);
        self.len += (HEADER + text.len()) as u64;
        self.lines += 1;
        if let Some(task) = self.tasks.get_mut(task) {
            task.lines += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(task: &str, text: &str) -> NewLine {
        item(task, LogItem::Line(text.to_owned()))
    }

    fn item(task: &str, item: LogItem) -> NewLine {
        let is_of_platform = item.is_of_platform();
        NewLine { task: task.to_owned(), item, is_of_platform, arrived: None }
    }

    fn texts(spool: &Spool, view: View, from: u64, count: u64) -> Vec<String> {
        let lines = spool.window(view, from, count, MAX_SHOWN).unwrap();
        lines.into_iter().map(|line| format!("{} {}", line.number, line.text)).collect()
    }

    #[test]
    fn windows_of_one_task_and_of_all_tasks_are_read() {
        let spool = Spool::create().unwrap();
        spool.add_tasks(&["worker-0".to_owned(), "worker-1".to_owned()]);
        assert!(texts(&spool, None, 0, 10).is_empty());
        let first = vec![line("worker-0", "a"), line("worker-1", "b")];
        spool.append(first).unwrap();
        let gap = item("worker-0", LogItem::Gap { bytes: Some(7) });
        spool.append(vec![line("worker-1", ""), gap, line("worker-2", "ü")]).unwrap();
        assert_eq!(
            texts(&spool, None, 0, 10),
            ["0 a", "1 b", "2 ", "3 7 bytes are missing", "4 ü"]
        );
        assert_eq!(texts(&spool, None, 3, 1), ["3 7 bytes are missing"]);
        assert_eq!(texts(&spool, spool.view("worker-1"), 1, 9), ["1 "]);
        assert!(texts(&spool, spool.view("worker-1"), 2, 9).is_empty());
        assert!(texts(&spool, None, u64::MAX, u64::MAX).is_empty());
        assert_eq!(spool.view("worker-3"), None);
        let lines: Vec<_> = spool.tasks().into_iter().map(|it| it.lines).collect();
        assert_eq!(lines, [2, 2, 1]);
        let lines = spool.window(None, 3, 2, MAX_SHOWN).unwrap();
        assert!(lines[0].is_gap && !lines[1].is_gap);
        assert_eq!((lines[0].task, lines[1].task), (0, 2));
    }

    #[test]
    fn values_of_new_lines_continue_those_that_were_read() {
        let spool = Spool::create().unwrap();
        spool.append(vec![line("worker-0", "step 1 loss=3"), line("worker-1", "x=1")]).unwrap();
        assert!(spool.curves(Some(0)).unwrap().is_empty());
        spool.append(vec![line("worker-0", "step 2 loss=2")]).unwrap();
        assert_eq!(spool.curves(Some(0)).unwrap()[0].points, [(1.0, 3.0), (2.0, 2.0)]);
        spool.append(vec![line("worker-0", "step 3 loss=1"), line("worker-1", "x=2")]).unwrap();
        assert_eq!(spool.curves(Some(0)).unwrap()[0].points.len(), 3);
        assert_eq!(spool.curves(Some(1)).unwrap()[0].name, "x");
        // Nothing is read twice.
        std::fs::remove_file(spool.lines_path()).unwrap();
        assert_eq!(spool.curves(Some(0)).unwrap()[0].points.len(), 3);
    }

    #[test]
    fn a_line_has_its_own_time_or_that_of_its_arrival() {
        let spool = Spool::create().unwrap();
        let arrived = Some("2026-01-15T08:30:09Z".parse().unwrap());
        let texts = [
            "epoch 1",
            "2026-01-15T16:30:07+08:00 epoch 2",
            "2026-01-15 16:30:07 without a zone",
            "[Modelarts Service Log]exiting",
        ];
        let lines = texts.map(|text| NewLine { arrived, ..line("worker-0", text) });
        spool.append(lines.into_iter().chain([line("worker-0", "earlier")]).collect()).unwrap();
        let lines = spool.window(None, 0, 9, MAX_SHOWN).unwrap();
        let facts = lines.iter().map(|it| (it.time.map(|time| time % 60), it.is_read_time));
        let expected =
            [(Some(9), true), (Some(7), false), (Some(9), true), (Some(9), true), (None, false)];
        assert!(lines[3].is_of_platform && !lines[2].is_of_platform);
        assert_eq!(facts.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_long_line_is_cut_between_characters_and_keeps_its_length() {
        let spool = Spool::create().unwrap();
        let text = "ü".repeat(5_000_000);
        spool.append(vec![line("worker-0", &text), line("worker-0", "next")]).unwrap();
        let lines = spool.window(None, 0, 2, MAX_SHOWN + 1).unwrap();
        assert_eq!(lines[0].text, "ü".repeat(2048));
        assert_eq!(lines[0].len, 10_000_000);
        assert!(lines[0].is_cut() && !lines[1].is_cut());
        assert_eq!(lines[1].text, "next");
        let whole = spool.window(None, 0, 1, usize::MAX).unwrap();
        assert!(whole[0].text == text);
    }
}
