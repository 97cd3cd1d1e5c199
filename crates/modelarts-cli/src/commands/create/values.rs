//! Parsers of the values of flags.

use std::{fmt, str::FromStr};

use modelarts_ext::{jobs::create::Volume, spelling::nearest, types::NotificationEvent};

/// Default events of `--notify`, used if no events are listed.
const NOTIFIED: [NotificationEvent; 3] = [
    NotificationEvent::JobCompleted,
    NotificationEvent::JobFailed,
    NotificationEvent::JobTerminated,
];

/// A name with a value: `epochs=20`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                Ok(Self { name: name.to_owned(), value: value.to_owned() })
            }
            _ => Err("it must be NAME=VALUE".to_owned()),
        }
    }
}

/// An environment variable: `SEED=1`, or `API_KEY` for the value in the environment of the program.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) value: String,
    /// `true` if the value comes from the environment of the program, and may be a secret.
    pub(crate) is_inherited: bool,
}

impl FromStr for Variable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((name, value)) = text.split_once('=') {
            return match name {
                "" => Err("it must be NAME=VALUE or NAME".to_owned()),
                name => {
                    Ok(Self { name: name.to_owned(), value: value.to_owned(), is_inherited: false })
                }
            };
        }
        match std::env::var(text) {
            Ok(value) => Ok(Self { name: text.to_owned(), value, is_inherited: true }),
            Err(_) => Err(format!(
                "the environment must have the variable {text}, or the value must be given: \
                 {text}=VALUE"
            )),
        }
    }
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Variable").field(&self.name).finish()
    }
}

/// An input or an output: `./data`, `name=./data`, `name=obs://bucket/data/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Channel {
    /// Name of the channel. `None` selects the recommended name.
    pub(crate) name: Option<String>,
    pub(crate) place: String,
}

impl FromStr for Channel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_name = |name: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            !name.is_empty() && name.chars().all(plain)
        };
        let (name, place) = match text.split_once('=') {
            Some((name, place)) if is_name(name) => (Some(name.to_owned()), place),
            _ => (None, text),
        };
        match place {
            "" => Err("it must be DIR or NAME=DIR".to_owned()),
            place => Ok(Self { name, place: place.to_owned() }),
        }
    }
}

/// A data set: `name=ID` or `name=ID:VERSION`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DataSet {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) version: Option<String>,
}

impl FromStr for DataSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pair: Pair = text.parse().map_err(|_| "it must be NAME=ID:VERSION")?;
        let (id, version) = match pair.value.split_once(':') {
            Some((id, version)) => (id, Some(version.to_owned())),
            None => (pair.value.as_str(), None),
        };
        Ok(Self { name: pair.name, id: id.to_owned(), version })
    }
}

/// A mount: `10.0.0.5:/share:/mnt/data`, `pfs://file-system/path:/mnt`, `obs://bucket/path:/mnt`.
/// With `:ro` at the end, an SFS Turbo file system is read-only.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mount(pub(crate) Volume);

impl FromStr for Mount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = || {
            "it must be SERVER:/SHARE:/PATH, pfs://FILE-SYSTEM/DIR:/PATH or \
             obs://BUCKET/DIR:/PATH; :ro at the end makes SFS Turbo read-only"
                .to_owned()
        };
        let (text, is_read_only) = match text.strip_suffix(":ro") {
            Some(text) => (text, true),
            None => (text, false),
        };
        let (source, path) = text.rsplit_once(':').ok_or_else(rule)?;
        if !path.starts_with('/') || path.starts_with("//") {
            return Err(rule());
        }
        let volume = if let Some(source) = source.strip_prefix("pfs://") {
            Volume::pfs(format!("/{source}"), path)
        } else if let Some(source) = source.strip_prefix("obs://") {
            Volume::obs(format!("/{source}"), path)
        } else if source.contains(":/") {
            Volume::nfs(source, path)
        } else {
            return Err(rule());
        };
        match (is_read_only, source.contains("://")) {
            (true, true) => {
                Err(":ro must only follow an SFS Turbo file system, SERVER:/SHARE:/PATH".to_owned())
            }
            (true, false) => Ok(Self(volume.read_only())),
            (false, _) => Ok(Self(volume)),
        }
    }
}

/// A notification topic, with the events that are published to it: `urn:smn:…` or
/// `urn:smn:…=JobFailed,JobHanged`.
#[derive(Clone, Debug)]
pub(crate) struct Topic {
    pub(crate) urn: String,
    pub(crate) events: Vec<NotificationEvent>,
}

impl FromStr for Topic {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (urn, events) = match text.split_once('=') {
            Some((urn, events)) => {
                let events: Result<_, _> = events.split(',').map(notification_event).collect();
                (urn, events?)
            }
            None => (text, NOTIFIED.to_vec()),
        };
        // The notification service composes the URN of a topic from these parts.
        let parts: Vec<&str> = urn.split(':').collect();
        match parts.as_slice() {
            ["urn", "smn", rest @ ..] if rest.len() == 3 && !rest.contains(&"") => {
                Ok(Self { urn: urn.to_owned(), events })
            }
            _ => Err(format!(
                "the topic {urn:?} must be a URN of SMN: urn:smn:REGION:PROJECT_ID:TOPIC"
            )),
        }
    }
}

/// Returns the event with this name. Events of later versions of the service can be set with `--set
/// spec.notification=JSON`.
fn notification_event(name: &str) -> Result<NotificationEvent, String> {
    match NotificationEvent::from(name).canonical() {
        NotificationEvent::Other(_) => {
            let known = NotificationEvent::KNOWN;
            let hint = nearest(name, known.iter().copied())
                .map_or_else(String::new, |near| format!("; did you mean {near}?"));
            Err(format!("the event {name:?} must be one of {}{hint}", known.join(", ")))
        }
        event => Ok(event),
    }
}

/// Parses script arguments such as `--epochs 20 --lr=0.1` into hyper-parameters.
pub(crate) fn script_parameters(arguments: &[String]) -> Result<Vec<Pair>, String> {
    let mut parameters = Vec::new();
    let mut arguments = arguments.iter().peekable();
    while let Some(argument) = arguments.next() {
        let wrong = |rule: &str| {
            format!(
                "the argument {argument:?} after -- {rule}; the service starts the script with \
                 --NAME=VALUE for each hyper-parameter, and with nothing else"
            )
        };
        let Some(name) = argument.strip_prefix("--").filter(|name| !name.is_empty()) else {
            return Err(wrong("must be --NAME=VALUE or --NAME VALUE"));
        };
        parameters.push(match name.parse() {
            Ok(pair) => pair,
            Err(_) => {
                let value = arguments.next_if(|value| !value.starts_with("--"));
                Pair {
                    name: name.to_owned(),
                    value: value.ok_or_else(|| wrong("must have a value"))?.clone(),
                }
            }
        });
    }
    Ok(parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_a_script_are_hyper_parameters() {
        let parameters = |text: &str| {
            let arguments: Vec<String> = text.split(' ').map(str::to_owned).collect();
            script_parameters(&arguments).map(|pairs| {
                let pairs = pairs.into_iter();
                pairs.map(|pair| (pair.name, pair.value)).collect::<Vec<_>>()
            })
        };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            parameters("--epochs 20 --lr=1e-3 --shift -1"),
            Ok(vec![pair("epochs", "20"), pair("lr", "1e-3"), pair("shift", "-1")])
        );
        for (arguments, rule) in [
            ("--amp --epochs 20", "\"--amp\" after -- must have a value"),
            ("epochs 20", "\"epochs\" after -- must be --NAME=VALUE"),
        ] {
            let error = parameters(arguments).unwrap_err();
            assert!(error.contains(rule), "{error}");
        }
    }

    #[test]
    fn only_sfs_turbo_can_be_mounted_read_only() {
        for source in ["pfs://fs/dir", "obs://bucket/dir"] {
            let error = format!("{source}:/mnt:ro").parse::<Mount>().unwrap_err();
            assert_eq!(error, ":ro must only follow an SFS Turbo file system, SERVER:/SHARE:/PATH");
        }
    }

    #[test]
    fn a_topic_is_a_urn_with_known_events() {
        let topic = |text: &str| {
            text.parse::<Topic>().map(|topic| {
                let events: Vec<_> = topic.events.iter().map(ToString::to_string).collect();
                (topic.urn, events.join(" "))
            })
        };
        let urn = "urn:smn:eu-de:0c1f3b6a2d9e4f588a7b6c5d4e3f2a1b:training";
        assert_eq!(
            topic(urn),
            Ok((urn.to_owned(), "JobCompleted JobFailed JobTerminated".to_owned()))
        );
        assert_eq!(
            topic(&format!("{urn}=JobFailed,jobhanged")),
            Ok((urn.to_owned(), "JobFailed JobHanged".to_owned()))
        );
        for wrong in [
            "foo",
            "",
            "urn:smn:eu-de:training",
            "urn:smn:eu-de::training",
            "urn:obs:eu-de:project:training",
            "urn:smn:eu-de:project:training:more",
        ] {
            assert_eq!(
                topic(wrong),
                Err(format!(
                    "the topic {wrong:?} must be a URN of SMN: urn:smn:REGION:PROJECT_ID:TOPIC"
                ))
            );
        }
        let known = "must be one of JobStarted, JobCompleted, JobFailed, JobTerminated, \
                     JobRestarted, JobHanged, JobPreempted";
        for (events, rule) in [
            ("", format!("the event \"\" {known}")),
            (
                "JobFailed,JobFinished",
                format!("the event \"JobFinished\" {known}; did you mean JobFailed?"),
            ),
        ] {
            assert_eq!(topic(&format!("{urn}={events}")), Err(rule));
        }
    }

    #[test]
    fn a_name_comes_before_the_place_of_a_channel() {
        let channel = |text: &str| {
            let channel: Channel = text.parse().unwrap();
            (channel.name, channel.place)
        };
        assert_eq!(channel("./data"), (None, "./data".to_owned()));
        assert_eq!(
            channel("valid=obs://b/d/"),
            (Some("valid".to_owned()), "obs://b/d/".to_owned())
        );
        assert_eq!(channel("./a=b"), (None, "./a=b".to_owned()));
    }
}
