//! `DataAddress`: an address of staged data, which names a version of a directory.

use std::fmt;

use crate::{address::ObsPath, staging::HASH_DIGITS};

/// First characters of the id of a version.
const VERSION: &str = "v-";

/// Address at which [`Staging::data`](crate::Staging::data) stores a directory.
///
/// ```
/// use modelarts_obs::staging::DataAddress;
///
/// let url = "obs://bucket/modelarts/data/ann/0123456789abcdef/v-0011223344556677/images/";
/// let address = DataAddress::parse(url).unwrap();
/// assert_eq!(address.version(), Some("v-0011223344556677"));
/// let url = "obs://bucket/modelarts/data/ann/0123456789abcdef/images/";
/// assert_eq!(DataAddress::parse(url).unwrap().version(), None);
/// assert_eq!(DataAddress::parse("obs://bucket/images/"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataAddress {
    /// Address of all versions of the directory.
    pub(super) place: ObsPath,
    version: Option<String>,
}

impl DataAddress {
    /// Parses the address of an input. Returns `None` if the address is not one of staged data.
    #[must_use]
    pub fn parse(url: &str) -> Option<Self> {
        let path: ObsPath = url.parse().ok()?;
        let (place, _name) = path.key().rsplit_once('/')?;
        let (place, version) = match place.rsplit_once('/')? {
            (place, id) if is_version(id) => (place, Some(id.to_owned())),
            _ => (place, None),
        };
        let mut steps = place.rsplit('/');
        let (hash, _user, data) = (steps.next()?, steps.next()?, steps.next()?);
        let place = ObsPath::new(path.bucket(), place).ok()?;
        (data == "data" && is_hash(hash)).then_some(Self { place, version })
    }

    /// Returns the id of the version, or `None` if the data is not versioned, so that it may differ
    /// from the data that an earlier job read at this address.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }
}

/// Writes the id of the version, or that the data is not versioned.
impl fmt::Display for DataAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.version().unwrap_or("data not versioned, may differ"))
    }
}

/// Returns the id of a version with these hexadecimal digits.
pub(super) fn version_of(digits: &str) -> String {
    format!("{VERSION}{}", &digits[..HASH_DIGITS])
}

pub(super) fn is_version(id: &str) -> bool {
    id.strip_prefix(VERSION).is_some_and(is_hash)
}

fn is_hash(text: &str) -> bool {
    let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    text.len() == HASH_DIGITS && text.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versioned_unversioned_and_other_addresses_are_told_apart() {
        let version = Some("v-0011223344556677");
        for (key, expected) in [
            ("p/data/ann/0123456789abcdef/v-0011223344556677/d", Some(version)),
            ("data/ann/0123456789abcdef/v-0011223344556677/d/", Some(version)),
            ("p/data/ann/0123456789abcdef/d", Some(None)),
            // The name of the directory looks like a version.
            ("p/data/ann/0123456789abcdef/v-0011223344556677", Some(None)),
            ("p/data/ann/0123456789abcdef/v-0011223344556677/d/below", None),
            ("p/data/ann/0123456789ABCDEF/d", None),
            ("p/data/ann/0123456789abcde/d", None),
            ("p/code/ann/0123456789abcdef/d", None),
            ("d", None),
            ("", None),
        ] {
            let found = DataAddress::parse(&format!("/bucket/{key}"));
            let found = found.as_ref().map(DataAddress::version);
            assert_eq!(found, expected, "{key}");
        }
        let both = ["v-0011223344556677/d", "v-8899aabbccddeeff/d"].map(|end| {
            DataAddress::parse(&format!("obs://bucket/data/ann/0123456789abcdef/{end}")).unwrap()
        });
        assert_eq!(both[0].place, both[1].place);
        assert_eq!(both[0].to_string(), "v-0011223344556677");
    }
}
