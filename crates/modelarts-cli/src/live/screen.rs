//! `Screen`: the rows of a live view on the terminal, in an inline viewport of ratatui.
//!
//! The text above the rows is written as by other programs, so that the terminal wraps it and
//! copies it without line breaks; `Terminal::insert_before` would break it. The cursor stays at the
//! beginning of the rows, where a terminal keeps it when a resize wraps lines again, and the rows
//! are then drawn from there: ratatui 0.30 erases the whole screen on a resize (ratatui issue 2666).

use std::io::{self, Write, stdout};
use std::{sync, thread, time::Duration};

use ansi_to_tui::IntoText;
use anstream::{AutoStream, ColorChoice};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::crossterm::terminal::{self, Clear, ClearType::FromCursorDown};
use ratatui::crossterm::{cursor, execute, style};
use ratatui::{Terminal, TerminalOptions, Viewport, backend::CrosstermBackend};
use tokio::sync::mpsc;

use crate::{failure::Failure, output, output::Stdout, session::Session};

/// Key for Ctrl-C, and for a terminal whose keys cannot be read.
pub(crate) const INTERRUPT: char = '\u{3}';
/// Pause between two checks for keys. In between, the position of the cursor can be read.
const KEY_PAUSE: Duration = Duration::from_millis(50);
/// Time for a response of the terminal; crossterm waits two seconds for it.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(3);

/// Rows of a live view. Dropping the screen erases them, and restores the terminal.
pub(crate) struct Screen {
    rows: Terminal<CrosstermBackend<io::Stdout>>,
    /// Columns and rows of the terminal; zeros if the rows must be drawn again.
    size: (u16, u16),
    events: mpsc::UnboundedReceiver<Event>,
    keys: thread::JoinHandle<io::Result<()>>,
    _raw_mode: RawMode,
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The next keys are those of the shell. A closed terminal keeps the thread.
        self.events.close();
        let mut pauses = 0..4;
        while !self.keys.is_finished() && pauses.next().is_some() {
            thread::sleep(KEY_PAUSE);
        }
    }
}

/// The raw mode of the terminal, in which the keys arrive one by one and are not printed.
struct RawMode;

impl Drop for RawMode {
    fn drop(&mut self) {
        let _ = execute!(stdout(), cursor::MoveToColumn(0), Clear(FromCursorDown), cursor::Show);
        let _ = terminal::disable_raw_mode();
    }
}

impl Screen {
    /// Returns an empty screen. Returns `None` if the output of the command is not text on a
    /// terminal with a size that redraws rows and responds, or if `--verbose` prints on the terminal.
    pub(crate) fn open(session: &Session) -> Option<Self> {
        let is_possible = session.output.is_terminal() && session.terminal.has_keys;
        if !is_possible || tracing::enabled!(tracing::Level::DEBUG) {
            return None;
        }
        let size = terminal::size().ok().filter(|(columns, rows)| *columns > 0 && *rows > 0)?;
        style::force_color_output(AutoStream::choice(&stdout()) != ColorChoice::Never);
        terminal::enable_raw_mode().ok()?;
        let raw_mode = RawMode;
        execute!(stdout(), cursor::Hide).ok()?;
        let rows = reserve(1).ok()?;
        let (sender, events) = mpsc::unbounded_channel();
        // A thread, because crossterm 0.29 does not return if the terminal is closed.
        let keys = thread::spawn(move || -> io::Result<()> {
            while !sender.is_closed() {
                while event::poll(Duration::ZERO)? {
                    let _ = sender.send(event::read()?);
                }
                thread::sleep(KEY_PAUSE);
            }
            Ok(())
        });
        Some(Self { rows, size, events, keys, _raw_mode: raw_mode })
    }

    /// Waits for a key. Returns a line break for a key that is no character, and 0 for another event,
    /// such as a resize. Dropping the future loses no key.
    pub(crate) async fn key(&mut self) -> char {
        match self.events.recv().await {
            None => INTERRUPT,
            Some(Event::Key(key)) if !key.is_release() => match key.code {
                KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => INTERRUPT,
                KeyCode::Char(character) if (key.modifiers - KeyModifiers::SHIFT).is_empty() => {
                    character.to_ascii_lowercase()
                }
                _ => '\n',
            },
            Some(event) => {
                if matches!(event, Event::Resize(..)) {
                    self.size = (0, 0);
                }
                '\0'
            }
        }
    }

    /// Returns the columns and the rows of the terminal.
    pub(crate) fn size() -> Result<(u16, u16), Failure> {
        Ok(terminal::size()?)
    }

    /// Writes whole lines above the rows, and draws the rows. Rows that do not fit are cut.
    pub(crate) fn draw(&mut self, above: &str, rows: &[String]) -> Result<(), Failure> {
        let size = terminal::size()?;
        let text = rows.join("\n").into_text().unwrap_or_default();
        let height = u16::try_from(rows.len()).unwrap_or(size.1).min(size.1).max(1);
        let area = self.rows.get_frame().area();
        // A terminal wraps its lines again before the program knows the new size.
        let position = request(cursor::position).ok();
        let is_moved = position != Some((area.x, area.y)) || size != self.size;
        if is_moved || height != area.height || !above.is_empty() {
            execute!(stdout(), cursor::MoveToColumn(0), Clear(FromCursorDown))?;
            let mut stdout = Stdout::lock();
            for line in above.lines() {
                stdout.write(&output::one_line(line.replace('\t', "    ")))?;
                // A style must not affect the lines below.
                stdout.write("\u{1b}[0m\r\n")?;
            }
            stdout.flush()?;
            drop(stdout);
            // A terminal that does not respond in time is asked again by the next call.
            let Ok(rows) = reserve(height) else {
                self.size = (0, 0);
                return Ok(());
            };
            (self.rows, self.size) = (rows, size);
        }
        let mut frame = self.rows.get_frame();
        let area = frame.area();
        frame.render_widget(text, area);
        self.rows.flush()?;
        self.rows.swap_buffers();
        self.rows.set_cursor_position(area.as_position())?;
        Ok(self.rows.backend_mut().flush()?)
    }
}

/// Reserves rows at the cursor. Asks the terminal for the position of the cursor.
fn reserve(height: u16) -> io::Result<Terminal<CrosstermBackend<io::Stdout>>> {
    let options = TerminalOptions { viewport: Viewport::Inline(height) };
    request(|| Terminal::with_options(CrosstermBackend::new(stdout()), options))
}

/// Sends a request to the terminal on a thread, which does not return if the terminal is closed.
fn request<T: Send + 'static>(
    send: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (sender, response) = sync::mpsc::channel();
    thread::spawn(move || sender.send(send()));
    response.recv_timeout(RESPONSE_TIMEOUT).map_err(io::Error::other)?
}
