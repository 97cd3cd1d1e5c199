//! A log grows up to a size.

use std::fs::File;
use std::io::{self, Write};

/// Writes as long as there is room below `cap` bytes, whoever has filled it; the rest is lost, as on
/// the service. True if some was lost: the log says so then, and nothing more belongs into it.
pub(crate) fn append(log: &mut File, bytes: &[u8], cap: u64) -> io::Result<bool> {
    let room = cap.saturating_sub(log.metadata()?.len());
    let count = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
    let (kept, lost) = bytes.split_at(count);
    log.write_all(kept)?;
    if lost.is_empty() {
        return Ok(false);
    }
    // domain.md section 8, with the cap filled in.
    let line = format!(
        "\nmodelarts-pope: log length overflow(max:{cap}; already:{cap}; going to add:{}), process will continue running silently\n",
        lost.len()
    );
    log.write_all(line.as_bytes())?;
    Ok(true)
}
