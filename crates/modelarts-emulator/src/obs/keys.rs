//! Names of buckets and objects, and their paths below the OBS root.

use std::path::{Path, PathBuf};

use s3s::{S3Error, S3Result, s3_error};

use crate::files::confined_dir::PART_PREFIX;

/// Maximum length of a segment of a key, in bytes: the maximum length of a file name.
const MAX_STEP: usize = 255;

/// Bucket and key of an object. The key is a valid path in a directory tree.
#[derive(Clone, Debug)]
pub(super) struct ObjectName {
    pub(super) bucket: String,
    pub(super) key: String,
}

impl ObjectName {
    /// Parses a name. The error states the rule that the key breaks as a path in a directory tree.
    pub(super) fn parse(bucket: &str, key: &str) -> S3Result<Self> {
        let steps = key.strip_suffix('/').unwrap_or(key);
        for step in steps.split('/') {
            check_step(key, step)?;
        }
        Ok(Self { bucket: bucket.to_owned(), key: key.to_owned() })
    }

    /// Returns `true` if the object is a directory marker, whose key ends with a slash.
    pub(super) fn is_marker(&self) -> bool {
        self.key.ends_with('/')
    }

    pub(super) fn relative(&self) -> PathBuf {
        Path::new(&self.bucket).join(self.key.trim_end_matches('/'))
    }
}

fn check_step(key: &str, step: &str) -> S3Result<()> {
    let objection = match step {
        "" => "must not begin with a slash, nor contain two slashes in a row",
        "." | ".." => "must not contain the steps . and ..",
        _ if step.chars().any(char::is_control) => "must not contain control characters",
        _ if step.starts_with(PART_PREFIX) => {
            "must not contain steps that begin with .copying-, which are incomplete copies"
        }
        _ if step.len() > MAX_STEP => {
            return Err(s3_error!(
                KeyTooLongError,
                "The key must have at most {MAX_STEP} bytes between two slashes, because this \
                 emulator stores objects as files."
            ));
        }
        _ => return Ok(()),
    };
    Err(s3_error!(
        InvalidArgument,
        "The key {key:?} {objection}, because this emulator stores objects as files."
    ))
}

/// Returns `true` if a directory with this name in the OBS root is a bucket.
pub(super) fn may_be_bucket(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && !name.contains(['/', '\\'])
        && !name.chars().any(char::is_control)
}

pub(super) fn check_new_bucket(name: &str) -> S3Result<()> {
    if s3s::path::check_bucket_name(name) {
        return Ok(());
    }
    Err(s3_error!(
        InvalidBucketName,
        "The bucket name {name:?} must have 3 to 63 lower-case letters, digits, hyphens and \
         periods, begin and end with a letter or a digit, and be no IP address."
    ))
}

pub(super) fn no_such_bucket(name: &str) -> S3Error {
    s3_error!(NoSuchBucket, "The bucket {name:?} does not exist: create it first.")
}

pub(super) fn no_such_key(key: &str) -> S3Error {
    s3_error!(NoSuchKey, "The key {key:?} does not exist.")
}

#[cfg(test)]
mod tests {
    use s3s::S3ErrorCode;

    use super::*;

    #[test]
    fn keys_that_are_paths_are_accepted() {
        let long = "x".repeat(255);
        for key in ["a", "a/", "a/b", "a b+c", "ü/%2F", "a.b", "..a", "a..", ".a/-", &long] {
            let name = ObjectName::parse("bucket", key).unwrap();
            assert_eq!(name.is_marker(), key == "a/", "{key}");
            let path = Path::new("bucket").join(key);
            assert_eq!(name.relative(), path, "{key}");
        }
    }

    #[test]
    fn keys_that_are_no_paths_are_refused_with_the_rule() {
        for (key, rule) in [
            ("/a", "slash"),
            ("a//b", "slash"),
            ("a//", "slash"),
            ("/", "slash"),
            ("./a", "the steps . and .."),
            ("a/../b", "the steps . and .."),
            ("a/..", "the steps . and .."),
            ("a\0b", "control characters"),
            ("a\nb", "control characters"),
            ("a/.copying-b", ".copying-"),
        ] {
            let error = ObjectName::parse("bucket", key).unwrap_err();
            assert_eq!(*error.code(), S3ErrorCode::InvalidArgument, "{key:?}");
            let message = error.message().unwrap();
            assert!(message.contains(rule), "{key:?}: {message}");
        }
        let error = ObjectName::parse("bucket", &format!("a/{}", "x".repeat(256))).unwrap_err();
        assert_eq!(*error.code(), S3ErrorCode::KeyTooLongError);
    }

    #[test]
    fn only_plain_names_are_buckets() {
        for name in ["bucket", "B", "a.b", "x_1"] {
            assert!(may_be_bucket(name), "{name:?}");
        }
        for name in ["", ".", "..", ".hidden", "a/b", "a\0"] {
            assert!(!may_be_bucket(name), "{name:?}");
        }
        assert!(check_new_bucket("new-bucket").is_ok());
        for name in ["ab", "New", "-a-", "a..b", "1.2.3.4"] {
            let error = check_new_bucket(name).unwrap_err();
            assert_eq!(*error.code(), S3ErrorCode::InvalidBucketName, "{name}");
        }
    }
}
