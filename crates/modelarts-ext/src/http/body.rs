//! Reading of response bodies, up to a cap.

use bytes::{Bytes, BytesMut};
use reqwest::Response;

/// The body of a response.
pub(crate) struct Body {
    pub(crate) bytes: Bytes,
    /// `true` if the body was truncated at the cap.
    pub(crate) is_cut: bool,
}

/// Reads the body of a response up to a cap.
pub(crate) async fn read(response: &mut Response, cap: usize) -> Result<Body, reqwest::Error> {
    let mut chunks = Chunks::default();
    let mut is_cut = false;
    while let Some(mut chunk) = response.chunk().await? {
        let room = cap - chunks.len();
        is_cut = chunk.len() > room;
        if is_cut {
            chunk.truncate(room);
        }
        chunks.push(chunk);
        if is_cut {
            break;
        }
    }
    Ok(Body {
        bytes: chunks.finish(),
        is_cut,
    })
}

/// The chunks of a body. A body of a single chunk is not copied.
#[derive(Default)]
struct Chunks {
    first: Bytes,
    rest: BytesMut,
}

impl Chunks {
    fn len(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    fn push(&mut self, chunk: Bytes) {
        if self.first.is_empty() {
            self.first = chunk;
        } else {
            self.rest.extend_from_slice(&chunk);
        }
    }

    fn finish(self) -> Bytes {
        if self.rest.is_empty() {
            return self.first;
        }
        let mut whole = BytesMut::with_capacity(self.first.len() + self.rest.len());
        whole.extend_from_slice(&self.first);
        whole.extend_from_slice(&self.rest);
        whole.freeze()
    }
}
