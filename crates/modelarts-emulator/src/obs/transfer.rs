//! Transfer of bytes between connections and files. Files are accessed on blocking threads, in
//! large chunks, while the connection transfers the next or the previous chunk.

use std::{
    fs::File,
    io::{self, Read, Write},
};

use axum::http::HeaderMap;
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use futures::{StreamExt, stream};
use md5::{Digest, Md5};
use modelarts_api::hex;
use s3s::{
    S3Error, S3ErrorCode, S3Result, StdError, TrailingHeaders,
    checksum::ChecksumHasher,
    crypto::Checksum as _,
    dto::{Checksum, StreamingBlob},
    s3_error,
};
use tempfile::NamedTempFile;
use tokio::task::{JoinHandle, spawn_blocking};

/// Number of bytes that are read or written in one step.
const CHUNK: usize = 512 << 10;

/// Runs blocking work, such as access to files, outside the asynchronous threads.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> S3Result<T> + Send + 'static,
) -> S3Result<T> {
    match spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(S3Error::internal_error(error)),
    }
}

pub(super) fn io_error(error: io::Error) -> S3Error {
    if error.kind() != io::ErrorKind::StorageFull {
        return s3_error!(InternalError, "The files of OBS cannot be used: {error}.");
    }
    let code = S3ErrorCode::Custom("InsufficientStorage".into());
    let mut error = S3Error::with_message(
        code,
        "The disk of the emulator is full: free some space, or choose another OBS root.",
    );
    error.set_status_code(axum::http::StatusCode::INSUFFICIENT_STORAGE);
    error
}

/// Complete temporary file of a received body, with the digests of its content.
pub(super) struct Received {
    pub(super) file: NamedTempFile,
    pub(super) length: u64,
    pub(super) md5: [u8; 16],
    pub(super) checksum: Checksum,
}

impl Received {
    /// Wraps a file of joined parts. Its ETag consists of their digests, so the file needs none.
    pub(super) fn of_parts(file: NamedTempFile, length: u64) -> Self {
        Self { file, length, md5: [0; 16], checksum: Checksum::default() }
    }
}

struct Writing {
    file: NamedTempFile,
    length: u64,
    md5: Md5,
    checksum: ChecksumHasher,
}

impl Writing {
    fn new(file: NamedTempFile, checksum: ChecksumHasher) -> Self {
        Self { file, length: 0, md5: Md5::new(), checksum }
    }

    fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.file.as_file_mut().write_all(chunk)?;
        self.md5.update(chunk);
        self.checksum.update(chunk);
        self.length += chunk.len() as u64;
        Ok(())
    }

    fn finish(self) -> Received {
        Received {
            file: self.file,
            length: self.length,
            md5: self.md5.finalize().into(),
            checksum: self.checksum.finalize(),
        }
    }
}

/// Length and digests that a client has declared for a body, in headers or in trailers.
pub(super) struct Declared {
    pub(super) length: Option<i64>,
    pub(super) md5: Option<String>,
    pub(super) headers: HeaderMap,
    pub(super) trailers: Option<TrailingHeaders>,
}

const CHECKSUMS: [&str; 5] = [
    "x-amz-checksum-crc32",
    "x-amz-checksum-crc32c",
    "x-amz-checksum-crc64nvme",
    "x-amz-checksum-sha1",
    "x-amz-checksum-sha256",
];

impl Declared {
    /// Returns a hasher for the checksums in the headers or announced for the trailers.
    fn hasher(&self) -> ChecksumHasher {
        let announced = self.headers.get_all("x-amz-trailer").iter();
        let announced: Vec<_> = announced
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .map(|name| name.trim().to_ascii_lowercase())
            .collect();
        let [crc32, crc32c, crc64nvme, sha1, sha256] = CHECKSUMS
            .map(|name| self.headers.contains_key(name) || announced.iter().any(|it| it == name));
        ChecksumHasher {
            crc32: crc32.then(s3s::crypto::Crc32::new),
            crc32c: crc32c.then(s3s::crypto::Crc32c::new),
            crc64nvme: crc64nvme.then(s3s::crypto::Crc64Nvme::new),
            sha1: sha1.then(s3s::crypto::Sha1::new),
            sha256: sha256.then(s3s::crypto::Sha256::new),
        }
    }

    fn check(&self, received: &Received) -> S3Result<()> {
        if let Some(length) = self.length
            && u64::try_from(length) != Ok(received.length)
        {
            return Err(s3_error!(
                IncompleteBody,
                "The body has {} bytes, and {length} were declared.",
                received.length
            ));
        }
        if let Some(declared) = &self.md5 {
            let expected = BASE64_STANDARD.decode(declared);
            let Some(expected) = expected.ok().filter(|digest| digest.len() == 16) else {
                return Err(s3_error!(
                    InvalidDigest,
                    "Content-MD5 must be the MD5 of the body in base64, and is {declared:?}."
                ));
            };
            if expected != received.md5 {
                return Err(s3_error!(
                    BadDigest,
                    "The body has the MD5 {}, and Content-MD5 declares {}.",
                    hex::encode(&received.md5),
                    hex::encode(&expected)
                ));
            }
        }
        let sums = &received.checksum;
        let computed = [
            &sums.checksum_crc32,
            &sums.checksum_crc32c,
            &sums.checksum_crc64nvme,
            &sums.checksum_sha1,
            &sums.checksum_sha256,
        ];
        let trailers = self.trailers.as_ref();
        let trailers = trailers.and_then(|trailers| trailers.read(HeaderMap::clone));
        for (name, computed) in CHECKSUMS.iter().zip(computed) {
            let trailer = trailers.as_ref().and_then(|trailers| trailers.get(*name));
            let declared = self.headers.get(*name).or(trailer);
            if let (Some(declared), Some(computed)) = (declared, computed)
                && declared.as_bytes() != computed.as_bytes()
            {
                return Err(s3_error!(
                    BadDigest,
                    "The body has another checksum than {name} declares."
                ));
            }
        }
        Ok(())
    }
}

/// File that is written while the connection fills a second buffer.
enum Disk {
    Idle(Box<Writing>, Vec<u8>),
    Busy(JoinHandle<io::Result<(Box<Writing>, Vec<u8>)>>),
}

impl Disk {
    async fn idle(self) -> S3Result<(Box<Writing>, Vec<u8>)> {
        match self {
            Self::Idle(writing, buffer) => Ok((writing, buffer)),
            Self::Busy(task) => match task.await {
                Ok(result) => result.map_err(io_error),
                Err(error) => Err(S3Error::internal_error(error)),
            },
        }
    }

    /// Waits for the previous write, starts to write `full`, and returns an empty buffer.
    async fn write(self, full: Vec<u8>) -> S3Result<(Self, Vec<u8>)> {
        let (mut writing, empty) = self.idle().await?;
        let task = spawn_blocking(move || {
            writing.write(&full)?;
            let mut empty = full;
            empty.clear();
            Ok((writing, empty))
        });
        Ok((Self::Busy(task), empty))
    }
}

pub(super) async fn receive(
    body: Option<StreamingBlob>,
    declared: &Declared,
    file: NamedTempFile,
) -> S3Result<Received> {
    let writing = Writing::new(file, declared.hasher());
    let mut disk = Disk::Idle(Box::new(writing), Vec::new());
    let mut buffer = Vec::new();
    if let Some(mut body) = body {
        while let Some(part) = body.next().await {
            buffer.extend_from_slice(&part.map_err(body_error)?);
            if buffer.len() >= CHUNK {
                (disk, buffer) = disk.write(buffer).await?;
            }
        }
    }
    if !buffer.is_empty() {
        (disk, _) = disk.write(buffer).await?;
    }
    let received = disk.idle().await?.0.finish();
    declared.check(&received)?;
    Ok(received)
}

/// Converts an error of a body. The error types of s3s are private, so their texts are compared.
fn body_error(error: StdError) -> S3Error {
    let text = error.to_string();
    if text.contains("Sha256Mismatch") {
        let code = S3ErrorCode::Custom("XAmzContentSHA256Mismatch".into());
        let mut error = S3Error::with_message(
            code,
            "The body has another SHA-256 than x-amz-content-sha256 declares.",
        );
        error.set_status_code(axum::http::StatusCode::BAD_REQUEST);
        return error;
    }
    if text.contains("SignatureMismatch") {
        return s3_error!(SignatureDoesNotMatch, "A chunk of the body has a wrong signature.");
    }
    s3_error!(IncompleteBody, "The body cannot be read: {text}.")
}

pub(super) fn copy(source: &mut impl Read, file: NamedTempFile) -> io::Result<Received> {
    let mut writing = Writing::new(file, ChecksumHasher::default());
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = source.read(&mut chunk)?;
        if read == 0 {
            return Ok(writing.finish());
        }
        writing.write(&chunk[..read])?;
    }
}

/// Task that reads a chunk of a file. Returns the chunk, the file and the number of bytes left.
type Reading = JoinHandle<io::Result<(Bytes, File, u64)>>;

/// Starts to read the next chunk, with `rest` bytes left to read. Returns `None` if `rest` is 0.
fn read_next(mut file: File, rest: u64) -> Option<Reading> {
    let length = rest.min(CHUNK as u64);
    (length > 0).then(|| {
        spawn_blocking(move || {
            let mut chunk = Vec::with_capacity(CHUNK.min(length as usize));
            (&mut file).take(length).read_to_end(&mut chunk)?;
            if chunk.len() as u64 != length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Ok((chunk.into(), file, rest - length))
        })
    })
}

/// Streams the next `length` bytes of a file. The stream fails if the file ends before that.
pub(super) fn body(file: File, length: u64) -> StreamingBlob {
    let first = read_next(file, length);
    StreamingBlob::wrap(stream::unfold(first, |reading| async move {
        // The next chunk is read while the connection sends the current chunk.
        match reading?.await.map_err(io::Error::other).flatten() {
            Ok((chunk, file, rest)) => Some((Ok(chunk), read_next(file, rest))),
            Err(error) => Some((Err(error), None)),
        }
    }))
}
