//! Reading of response bodies up to a maximum size.

use bytes::{Bytes, BytesMut};
use reqwest::Response;

pub(crate) struct Body {
    pub(crate) bytes: Bytes,
    pub(crate) is_cut: bool,
}

/// Reads the body of a response up to `cap` bytes. Does not copy a body of a single chunk.
pub(crate) async fn read(response: &mut Response, cap: usize) -> Result<Body, reqwest::Error> {
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    let mut is_cut = false;
    while !is_cut && let Some(mut chunk) = response.chunk().await? {
        let room = cap - first.len() - rest.len();
        is_cut = chunk.len() > room;
        chunk.truncate(room);
        if first.is_empty() {
            first = chunk;
        } else {
            rest.extend_from_slice(&chunk);
        }
    }
    let bytes = match rest.is_empty() {
        true => first,
        false => [&first[..], &rest[..]].concat().into(),
    };
    Ok(Body { bytes, is_cut })
}
