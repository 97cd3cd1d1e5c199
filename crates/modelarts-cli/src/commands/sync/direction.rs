//! `Direction`: source and target of a synchronization.

use std::path::{Path, PathBuf};

use modelarts_obs::{DirectorySync, Obs, ObsPath};

use crate::failure::Failure;

/// Source and target.
pub(super) enum Direction {
    Up(PathBuf, ObsPath),
    Down(ObsPath, PathBuf),
    Copy(ObsPath, ObsPath),
}

impl Direction {
    pub(super) fn new(source: &str, target: &str) -> Result<Self, Failure> {
        match (address("SOURCE", source)?, address("TARGET", target)?) {
            (Some(source), Some(target)) => Ok(Self::Copy(source, target)),
            (Some(source), None) => Ok(Self::Down(source, PathBuf::from(target))),
            (None, Some(target)) => {
                let path = Path::new(source);
                if let Err(error) = path.metadata() {
                    return Err(Failure::usage(format_args!(
                        "SOURCE {source}: {error}; it must be a directory, a file or an obs:// \
                         address"
                    )));
                }
                Ok(Self::Up(path.to_owned(), target))
            }
            (None, None) => Err(Failure::usage(
                "SOURCE and TARGET are paths of this machine; at least one must be an address such \
                 as obs://my-bucket/data",
            )),
        }
    }

    pub(super) fn sync(&self, obs: &Obs) -> DirectorySync {
        match self {
            Self::Up(source, target) => obs.sync_up(source, target),
            Self::Down(source, target) => obs.sync_down(source, target),
            Self::Copy(source, target) => obs.copy(source, target),
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Up(..) => "upload",
            Self::Down(..) => "download",
            Self::Copy(..) => "copy",
        }
    }

    /// Returns the transfer as a verb, and in the past tense.
    pub(super) fn verbs(&self) -> (&'static str, &'static str) {
        match self {
            Self::Up(..) => ("send", "sent"),
            Self::Down(..) => ("receive", "received"),
            Self::Copy(..) => ("copy", "copied"),
        }
    }
}

/// Parses an address of OBS; `None` for a path of this machine.
fn address(name: &str, text: &str) -> Result<Option<ObsPath>, Failure> {
    let Some((scheme, path)) = text.split_once("://") else {
        return match text.is_empty() {
            true => Err(Failure::usage(format_args!("{name} must not be empty"))),
            false => Ok(None),
        };
    };
    match scheme {
        "obs" => {
            text.parse().map(Some).map_err(|error| Failure::usage(format_args!("{name}: {error}")))
        }
        _ => Err(Failure::usage(format_args!(
            "{name} {text}: it must be a path of this machine or an obs:// address, such as \
             obs://{path}"
        ))),
    }
}
