//! `Cursor`: reads the lines of a view of a spool, one after another.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::Path,
};

/// Size of the position of a line, in bytes.
const POSITION: u64 = 8;
/// Size of the header of a line, in bytes.
pub(super) const HEADER: usize = 16;
/// Size of the buffer for reading lines, in bytes.
const BUFFER: usize = 256 << 10;

const IS_GAP: u64 = 1 << 16;
const IS_OF_PLATFORM: u64 = 1 << 17;
const IS_READ_TIME: u64 = 1 << 18;

/// Header of a line, which precedes its text in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Index of the task.
    pub(super) task: u16,
    pub(super) is_gap: bool,
    /// `true` for a line of the platform.
    pub(super) is_of_platform: bool,
    /// Time of the line in seconds since 1970; `None` if it is not known.
    pub(super) time: Option<u32>,
    /// `true` if the time is that at which the line was read.
    pub(super) is_read_time: bool,
    /// Length of the text, in bytes.
    pub(super) len: u64,
}

impl Header {
    pub(super) fn to_bytes(self) -> [u8; HEADER] {
        let time = u64::from(self.time.unwrap_or_default()) << 32;
        let gap = if self.is_gap { IS_GAP } else { 0 };
        let platform = if self.is_of_platform { IS_OF_PLATFORM } else { 0 };
        let read = if self.is_read_time { IS_READ_TIME } else { 0 };
        let flags = u64::from(self.task) | gap | platform | read | time;
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&flags.to_le_bytes());
        bytes[8..].copy_from_slice(&self.len.to_le_bytes());
        bytes
    }

    fn read(reader: &mut impl Read) -> io::Result<Self> {
        let [flags, len] = [read_u64(reader)?, read_u64(reader)?];
        Ok(Self {
            task: (flags & 0xffff) as u16,
            is_gap: flags & IS_GAP != 0,
            is_of_platform: flags & IS_OF_PLATFORM != 0,
            is_read_time: flags & IS_READ_TIME != 0,
            time: Some((flags >> 32) as u32).filter(|time| *time > 0),
            len,
        })
    }
}

fn read_u64(reader: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    reader.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Reader of the lines of a view.
pub(super) struct Cursor {
    /// Open files; `None` if there are no lines to read.
    files: Option<Files>,
    /// Number of the next line.
    next: u64,
    /// Exclusive end of the range of lines to read.
    end: u64,
    text: Vec<u8>,
}

struct Files {
    lines: BufReader<File>,
    /// Current position in `lines`.
    at: u64,
    positions: BufReader<File>,
}

impl Cursor {
    /// Opens the files at the line `from`, to read the lines before `end`.
    pub(super) fn open(lines: &Path, positions: &Path, from: u64, end: u64) -> io::Result<Self> {
        let files = match from < end {
            true => Some(Files::open(lines, positions, from)?),
            false => None,
        };
        Ok(Self { files, next: from, end, text: Vec::new() })
    }

    /// Reads up to `max` bytes of the next line. Returns its number and header; `None` at the end.
    pub(super) fn next_line(&mut self, max: usize) -> io::Result<Option<(u64, Header)>> {
        let Some(files) = self.files.as_mut().filter(|_| self.next < self.end) else {
            return Ok(None);
        };
        let position = read_u64(&mut files.positions)?;
        let distance = i64::try_from(position - files.at).map_err(io::Error::other)?;
        if distance != 0 {
            files.lines.seek_relative(distance)?;
        }
        let header = Header::read(&mut files.lines)?;
        let max = u64::try_from(max).unwrap_or(u64::MAX).min(header.len);
        self.text.clear();
        let lines = &mut files.lines;
        lines.take(max).read_to_end(&mut self.text)?;
        files.at = position + HEADER as u64 + max;
        let number = self.next;
        self.next += 1;
        Ok(Some((number, header)))
    }

    /// Returns the text of the last read line, without an incomplete character at its end.
    pub(super) fn text(&self) -> &str {
        match std::str::from_utf8(&self.text) {
            Ok(text) => text,
            Err(error) => {
                std::str::from_utf8(&self.text[..error.valid_up_to()]).unwrap_or_default()
            }
        }
    }
}

impl Files {
    fn open(lines: &Path, positions: &Path, from: u64) -> io::Result<Self> {
        let mut positions = BufReader::new(File::open(positions)?);
        positions.seek(SeekFrom::Start(from * POSITION))?;
        Ok(Self { lines: BufReader::with_capacity(BUFFER, File::open(lines)?), at: 0, positions })
    }
}
