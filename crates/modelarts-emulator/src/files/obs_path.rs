//! OBS locations, `obs://bucket/key` and `/bucket/key`, as paths below the OBS root.

use std::{fmt, path::PathBuf};

/// Folder of the charts of a search. The service draws them, the emulator does not.
pub(crate) const CHARTS: &str = "hyperparameter-analysis/fanova/";

/// Parsed OBS location. No part is empty, `.` or `..`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObsPath {
    parts: Vec<String>,
    folder: bool,
}

impl ObsPath {
    /// Parses a location. Merges repeated slashes. Errors are phrases that follow the field name.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let rest = text
            .strip_prefix("obs://")
            .or_else(|| text.strip_prefix('/'))
            .ok_or("it must start with obs:// or /")?;
        if rest.chars().any(char::is_control) {
            return Err("control characters are not allowed");
        }
        let parts: Vec<String> =
            rest.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        if parts.iter().any(|part| part == "." || part == "..") {
            return Err("the steps . and .. are not allowed");
        }
        if parts.is_empty() || rest.starts_with('/') {
            return Err("it names no bucket");
        }
        let folder = rest.ends_with('/') || parts.len() == 1;
        Ok(Self { parts, folder })
    }

    pub(crate) fn relative(&self) -> PathBuf {
        self.parts.iter().collect()
    }

    /// Returns `true` if the location is a bucket or ends with a slash, and is thus not an object.
    pub(crate) fn is_directory(&self) -> bool {
        self.folder
    }

    pub(crate) fn bucket(&self) -> &str {
        self.parts.first().map_or("", String::as_str)
    }

    /// Returns the last part, which names the copy when the service downloads a directory.
    pub(crate) fn last(&self) -> &str {
        self.parts.last().map_or("", String::as_str)
    }

    /// Returns the path relative to `directory`, or `None` if this location is not inside it.
    pub(crate) fn below(&self, directory: &Self) -> Option<PathBuf> {
        let rest = self.parts.strip_prefix(directory.parts.as_slice())?;
        (!rest.is_empty()).then(|| rest.iter().collect())
    }
}

/// Formats the location as `/bucket/key`, the form that the service stores and shows.
impl fmt::Display for ObsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.parts.join("/"))?;
        if self.folder { f.write_str("/") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_mean_the_same() {
        let url = ObsPath::parse("obs://bucket/a/demo-code/").unwrap();
        assert_eq!(url, ObsPath::parse("/bucket/a//demo-code/").unwrap());
        assert_eq!(url.to_string(), "/bucket/a/demo-code/");
        assert_eq!(url.last(), "demo-code");
        assert_eq!(url.relative(), PathBuf::from("bucket/a/demo-code"));
        let boot = ObsPath::parse("/bucket/a/demo-code/src/train.py").unwrap();
        assert_eq!(boot.to_string(), "/bucket/a/demo-code/src/train.py");
        assert_eq!(boot.below(&url), Some(PathBuf::from("src/train.py")));
        assert_eq!(url.below(&url), None);
        assert_eq!(url.below(&boot), None);
        assert_eq!(ObsPath::parse("/bucket").unwrap().to_string(), "/bucket/");
    }

    #[test]
    fn keys_do_not_lead_out_of_the_root() {
        for (text, sentence) in [
            ("obs://bucket/../../etc/passwd", "the steps . and .. are not allowed"),
            ("/..", "the steps . and .. are not allowed"),
            ("obs://bucket/./a", "the steps . and .. are not allowed"),
            ("obs:///etc/passwd", "it names no bucket"),
            ("//etc/passwd", "it names no bucket"),
            ("obs://", "it names no bucket"),
            ("", "it must start with obs:// or /"),
            ("bucket/key", "it must start with obs:// or /"),
            ("https://bucket/key", "it must start with obs:// or /"),
            ("/bucket/a\0b", "control characters are not allowed"),
        ] {
            assert_eq!(ObsPath::parse(text), Err(sentence), "{text:?}");
        }
    }
}
