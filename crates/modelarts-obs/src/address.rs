//! Addresses of objects: `obs://bucket/key`.

use std::{fmt, str::FromStr};

use modelarts_ext::{Error, ErrorKind};

/// Address of an object or of a directory in OBS: a bucket and a key.
///
/// `Display` writes the address as `obs://bucket/key`. The key has no leading and no trailing
/// slash, so `obs://bucket/code/` and `/bucket/code` are the same address.
///
/// ```
/// use modelarts_obs::ObsPath;
///
/// let code: ObsPath = "obs://bucket/code/".parse()?;
/// assert_eq!((code.bucket(), code.key()), ("bucket", "code"));
/// assert_eq!(code.join("src/train.py")?.to_string(), "obs://bucket/code/src/train.py");
/// # Ok::<(), modelarts_ext::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObsPath {
    bucket: String,
    key: String,
}

impl ObsPath {
    /// Creates an address from a bucket and a key. An empty key denotes the bucket itself. Leading
    /// and trailing slashes of the key are removed.
    ///
    /// # Errors
    /// Returns an error if the trimmed key is not empty and [`check_key`] rejects it, or if
    /// `bucket` is invalid. A valid name has 3 to 63 lower-case letters, digits, hyphens and dots,
    /// and begins and ends with a letter or a digit.
    pub fn new(bucket: &str, key: &str) -> Result<Self, Error> {
        check_bucket(bucket)?;
        let key = key.trim_matches('/');
        if !key.is_empty() {
            check_key(key)?;
        }
        Ok(Self { bucket: bucket.to_owned(), key: key.to_owned() })
    }

    /// Returns the name of the bucket.
    #[must_use]
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// Returns the key, without leading and trailing slashes. The key of the bucket itself is
    /// empty.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the last segment of the key: the name of the object or the directory. Returns `None`
    /// for the bucket itself.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.key.rsplit('/').next().filter(|name| !name.is_empty())
    }

    /// Returns the address of a path relative to this address.
    ///
    /// # Errors
    /// Returns an error if the resulting key is invalid; see [`check_key`].
    pub fn join(&self, path: &str) -> Result<Self, Error> {
        match self.key.as_str() {
            "" => Self::new(&self.bucket, path),
            key => Self::new(&self.bucket, &format!("{key}/{path}")),
        }
    }

    /// Returns `true` if `other` is this address or an address below it.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        let below = || other.key.strip_prefix(&self.key)?.chars().next();
        self.bucket == other.bucket
            && (self.key.is_empty() || self.key == other.key || below() == Some('/'))
    }
}

impl fmt::Display for ObsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bucket, key } = self;
        write!(f, "obs://{bucket}/{key}")
    }
}

impl From<ObsPath> for String {
    fn from(path: ObsPath) -> Self {
        path.to_string()
    }
}

impl From<&ObsPath> for String {
    fn from(path: &ObsPath) -> Self {
        path.to_string()
    }
}

impl FromStr for ObsPath {
    type Err = Error;

    /// Parses an address of the form `obs://bucket/key` or `/bucket/key`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let rest = text.strip_prefix("obs://").or(text.strip_prefix('/'));
        let rest = rest.ok_or_else(|| {
            invalid(format!(
                "the OBS path {text:?} must begin with obs://, such as obs://bucket/code/"
            ))
        })?;
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        Self::new(bucket, key)
    }
}

/// Checks the key of an object. A valid key has 1 to 1,024 bytes and no ASCII control characters.
/// It has no leading, trailing or double slashes, and no path segments `.` and `..`, which the
/// crate `object_store` rejects.
///
/// # Errors
/// Returns an error with the violated rule if the key is invalid.
pub fn check_key(key: &str) -> Result<(), Error> {
    let rule = if key.is_empty() {
        "must not be empty"
    } else if key.len() > 1024 {
        "must have at most 1,024 bytes in UTF-8"
    } else if key.chars().any(|c| c.is_ascii_control()) {
        "must not contain control characters"
    } else if key.split('/').any(str::is_empty) {
        "must not begin or end with a slash, nor contain two slashes in a row"
    } else if key.split('/').any(|step| matches!(step, "." | "..")) {
        "must not contain the steps . and .."
    } else {
        return Ok(());
    };
    Err(invalid(format!("the key {key:?} {rule}")))
}

fn check_bucket(name: &str) -> Result<(), Error> {
    let is_edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    let fits = (3..=63).contains(&name.len())
        && is_edge(name.chars().next())
        && is_edge(name.chars().next_back())
        && name.chars().all(is_inner);
    if fits {
        return Ok(());
    }
    Err(invalid(format!(
        "the bucket {name:?} must have 3 to 63 lower-case letters, digits, hyphens and dots, and \
         begin and end with a letter or a digit"
    )))
}

pub(crate) fn invalid(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_parsed() {
        let code: ObsPath = "obs://bucket/code/".parse().unwrap();
        assert_eq!("/bucket/code".parse::<ObsPath>().unwrap(), code);
        assert_eq!(code.name(), Some("code"));
        let bucket: ObsPath = "obs://bucket".parse().unwrap();
        assert_eq!((bucket.key(), bucket.name()), ("", None));
        assert_eq!(bucket.to_string(), "obs://bucket/");
        assert_eq!(bucket.join("a").unwrap().to_string(), "obs://bucket/a");
        assert!(bucket.contains(&code) && code.contains(&code));
        assert!(!code.contains(&"obs://bucket/code2".parse().unwrap()));
        assert!(code.contains(&"obs://bucket/code/a b+ü%2F".parse().unwrap()));
    }

    #[test]
    fn wrong_addresses_name_their_rule() {
        for (text, message) in [
            (
                "s3://bucket/a",
                "the OBS path \"s3://bucket/a\" must begin with obs://, such as obs://bucket/code/",
            ),
            (
                "obs://Bucket/a",
                "the bucket \"Bucket\" must have 3 to 63 lower-case letters, digits, hyphens and \
                 dots, and begin and end with a letter or a digit",
            ),
            (
                "obs://bucket/a//b",
                "the key \"a//b\" must not begin or end with a slash, nor contain two slashes in \
                 a row",
            ),
            ("obs://bucket/a/../b", "the key \"a/../b\" must not contain the steps . and .."),
            ("obs://bucket/a\tb", "the key \"a\\tb\" must not contain control characters"),
        ] {
            let error = text.parse::<ObsPath>().unwrap_err();
            assert_eq!(error.to_string(), message);
            assert_eq!(error.kind(), ErrorKind::Invalid);
        }
        let long = "x".repeat(1025);
        assert!(check_key(&long).is_err() && check_key(&long[1..]).is_ok());
    }
}
