//! The body of a response with a whole log, read piece by piece while it is sent.

use std::{io, sync::Arc};

use axum::body::{Body, Bytes};
use futures::stream;

use crate::{job::worker::Worker, logs::LOG_CHUNK, state::EmulatorState};

/// The current log with its length in bytes, without lines added later; `None` while it is empty.
pub(crate) async fn whole(
    core: Arc<EmulatorState>,
    worker: Worker,
) -> io::Result<Option<(u64, Body)>> {
    let Some(tail) = core.runner.log_tail(worker.clone(), 0).await? else {
        return Ok(None);
    };
    let length = tail.full_size;
    let pieces = stream::try_unfold((core, worker, 0), move |(core, worker, at)| async move {
        if at == length {
            return Ok(None);
        }
        let most = LOG_CHUNK.min(length - at);
        let piece = core.runner.log_part(worker.clone(), at, most).await?;
        if piece.is_empty() {
            // The job has been deleted.
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        let next = at + piece.len() as u64;
        Ok(Some((Bytes::from(piece), (core, worker, next))))
    });
    Ok(Some((length, Body::from_stream(pieces))))
}
