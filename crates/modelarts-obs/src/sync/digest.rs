//! Checksums and stamps of local files.

use std::{
    fs::{File, Metadata},
    io::{self, Read},
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use md5::{Digest, Md5};
use modelarts_ext::api::hex;
use ring::digest;
use serde::{Deserialize, Serialize};

/// Size of the buffer for reading a file, in bytes.
const BUFFER: usize = 256 << 10;
/// Maximum size of a file that is checked for a private key, in bytes.
const MAX_KEY_FILE: u64 = 64 << 10;
/// Number of bytes at the start of the file that are checked for a private key.
const KEY_HEAD: usize = 4 << 10;
/// Assumed resolution of the time stamps of most file systems.
const RESOLUTION: Duration = Duration::from_millis(20);
/// Age of the modification time that [`Stamp::settle`] sets.
const SETTLED: Duration = Duration::from_millis(40);

/// Properties of a file that change with its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) size: u64,
    /// Modification time, in nanoseconds since the Unix epoch.
    modified: i128,
    /// Inode; 0 on systems without inodes.
    inode: u64,
}

impl Stamp {
    pub(crate) fn new(metadata: &Metadata) -> Self {
        let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
        let nanos = |duration: Duration| i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX);
        Self {
            size: metadata.len(),
            modified: match modified.duration_since(UNIX_EPOCH) {
                Ok(after) => nanos(after),
                Err(before) => -nanos(before.duration()),
            },
            inode: inode(metadata),
        }
    }

    /// Reads the stamp of a file; links are followed.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        std::fs::metadata(path).map(|metadata| Self::new(&metadata))
    }

    /// Returns `true` if the file only seems to have become longer since it had the stamp `before`.
    pub(crate) fn has_grown(&self, before: &Self) -> bool {
        self.inode == before.inode && self.size > before.size
    }

    /// Sets the modification time of a written file to 40 ms ago, so that every later change of the
    /// file changes the stamp. Returns the stamp, or `None` if the time cannot be set, or if the
    /// file system stores it with a lower resolution.
    pub(crate) fn settle(file: &File) -> Option<Self> {
        let now = SystemTime::now();
        file.set_modified(now - SETTLED).ok()?;
        let stamp = Self::new(&file.metadata().ok()?);
        stamp.is_settled(now).then_some(stamp)
    }

    /// Returns `true` if every change after `now` changes the stamp. A time in whole seconds
    /// indicates a file system with a resolution of up to 2 seconds.
    pub(crate) fn is_settled(&self, now: SystemTime) -> bool {
        let resolution = match self.modified % 1_000_000_000 {
            0 => Duration::from_secs(2),
            _ => RESOLUTION,
        };
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i128::try_from(since.saturating_sub(resolution).as_nanos());
        now.is_ok_and(|now| self.modified < now)
    }
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

/// Computation of the SHA-256 of contents, and optionally of their MD5 for a comparison with an
/// entity tag.
pub(crate) struct Hasher {
    sha256: digest::Context,
    md5: Option<Md5>,
}

/// Checksums in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checksums {
    pub(crate) sha256: String,
    pub(crate) md5: Option<String>,
}

impl Hasher {
    pub(crate) fn new(with_md5: bool) -> Self {
        Self { sha256: digest::Context::new(&digest::SHA256), md5: with_md5.then(Md5::new) }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.sha256.update(bytes);
        if let Some(md5) = &mut self.md5 {
            md5.update(bytes);
        }
    }

    /// Hashes up to `length` bytes from a reader. Returns the number of hashed bytes.
    pub(crate) fn read(&mut self, from: &mut impl Read, length: u64) -> io::Result<u64> {
        let mut from = from.take(length);
        let mut buffer = vec![0; BUFFER];
        let mut done = 0;
        loop {
            match from.read(&mut buffer) {
                Ok(0) => return Ok(done),
                Ok(count) => {
                    self.update(&buffer[..count]);
                    done += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn finish(self) -> Checksums {
        Checksums {
            sha256: hex::encode(self.sha256.finish().as_ref()),
            md5: self.md5.map(|md5| hex::encode(&md5.finalize())),
        }
    }
}

/// Returns the SHA-256 of bytes, in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex::encode(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// Reads the first `size` bytes of a file once and computes their checksums. Blocks.
pub(crate) fn hash_file(path: &Path, size: u64, with_md5: bool) -> io::Result<Checksums> {
    let mut hasher = Hasher::new(with_md5);
    hasher.read(&mut File::open(path)?, size)?;
    Ok(hasher.finish())
}

/// Returns the result of [`is_private_key`] for a file, of which at most 4 KiB are read. Blocks.
pub(crate) fn is_key_file(path: &Path, size: u64) -> io::Result<bool> {
    if size == 0 || size > MAX_KEY_FILE {
        return Ok(false);
    }
    let mut head = Vec::with_capacity(KEY_HEAD);
    File::open(path)?.take(KEY_HEAD as u64).read_to_end(&mut head)?;
    Ok(is_private_key(&head, size))
}

/// Returns `true` if the first 4 KiB of a file contain the first line of a private key in PEM
/// format, and `size`, the size of the whole file, is at most 64 KiB.
pub(crate) fn is_private_key(contents: &[u8], size: u64) -> bool {
    let head = &contents[..contents.len().min(KEY_HEAD)];
    let is_begin = |line: &[u8]| {
        let line = line.trim_ascii_end();
        line.starts_with(b"-----BEGIN ") && line.ends_with(b"PRIVATE KEY-----")
    };
    size <= MAX_KEY_FILE && head.split(|byte| *byte == b'\n').any(is_begin)
}

/// Returns the digits of an entity tag in the form of an MD5, or `None` for any other form, such as
/// the entity tag of a multipart upload. The entity tag of an encrypted object has this form, but
/// is not the MD5 of the contents, so a different value does not prove that the contents differ.
pub(crate) fn md5_of_etag(etag: &str) -> Option<&str> {
    let digits = etag.trim_matches('"');
    let is_md5 = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_md5.then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standards() {
        let mut hasher = Hasher::new(true);
        hasher.update(b"ab");
        hasher.update(b"c");
        let sums = hasher.finish();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sums.sha256, expected);
        assert_eq!(sha256(b"abc"), expected);
        assert_eq!(sums.md5.as_deref(), Some("900150983cd24fb0d6963f7d28e17f72"));
        let etag = "\"900150983cd24fb0d6963f7d28e17f72\"";
        assert_eq!(md5_of_etag(etag), sums.md5.as_deref());
        assert_eq!(md5_of_etag("\"900150983cd24fb0d6963f7d28e17f72-2\""), None);
    }

    #[test]
    fn private_keys_are_found_by_their_first_lines() {
        let key = b"Bag Attributes\n-----BEGIN RSA PRIVATE KEY-----\r\nMII";
        assert!(is_private_key(key, 1_000));
        assert!(!is_private_key(key, MAX_KEY_FILE + 1));
        assert!(is_private_key(b"-----BEGIN PRIVATE KEY-----", 27));
        for other in
            [&b"-----BEGIN PUBLIC KEY-----\n"[..], b"KEY = '-----BEGIN PRIVATE KEY-----'\n", b""]
        {
            assert!(!is_private_key(other, other.len() as u64));
        }
    }

    #[test]
    fn a_file_that_was_written_just_now_is_settled() {
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&path, "a").unwrap();
        let before = SystemTime::now();
        assert!(!Stamp::read(path.path()).unwrap().is_settled(before));
        let stamp = Stamp::settle(path.as_file()).unwrap();
        assert_eq!(Stamp::read(path.path()).unwrap(), stamp);
        assert!(stamp.is_settled(SystemTime::now()));
        std::fs::write(&path, "b").unwrap();
        assert_ne!(Stamp::read(path.path()).unwrap(), stamp);
    }

    #[test]
    fn a_stamp_is_settled_after_the_resolution_of_its_time() {
        let at = |nanos: i128| Stamp { size: 1, modified: nanos, inode: 1 };
        let now = UNIX_EPOCH + Duration::from_secs(10);
        assert!(at(9_900_000_001).is_settled(now));
        assert!(!at(9_990_000_001).is_settled(now));
        assert!(at(7_000_000_000).is_settled(now));
        assert!(!at(9_000_000_000).is_settled(now));
        assert!(!at(11_000_000_001).is_settled(now));
    }
}
