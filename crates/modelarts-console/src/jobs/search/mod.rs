//! `Search`: the conditions of the job list, parsed from the search text.

mod created;
mod key;
mod words;

use std::{net::IpAddr, time::SystemTime};

use modelarts_ext::{Client, Filter, client::CurrentUser, jobs::ListJobs, types::Phase};

use crate::{
    display::{PHASES, tags},
    jobs::search::words::{quoted, words},
};

pub(crate) use key::{KEYS, Key};

/// Maximum number of values of a condition, according to modelarts-ext.
const MAX_VALUES: usize = 10;
/// Length of an IAM user id, in characters.
const USER_ID_LENGTH: usize = 32;

/// Conditions of the job list. A job must meet all conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Search {
    terms: Vec<Term>,
}

/// A condition with its values. No value is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    key: Key,
    values: Vec<String>,
}

impl Search {
    /// Parses the search text. The error contains the wrong part and the rule.
    pub(crate) fn parse(text: &str, now: SystemTime) -> Result<Self, String> {
        let mut search = Self::default();
        for word in words(text)? {
            let error = |rule: &str| Err(format!("{}: {rule}", word.text));
            let key = match word.key.as_deref() {
                None if word.text == Key::Mine.help().name => Key::Mine,
                None => Key::Name,
                Some(name) => match Key::named(name).filter(|key| *key != Key::Mine) {
                    Some(key) => key,
                    None => return Err(unknown_key(&word.text, name)),
                },
            };
            let mut values = match (key, key.has_list()) {
                (Key::Mine, _) => Vec::new(),
                (_, true) => word.values,
                (_, false) => vec![word.values.join(",")],
            };
            if values.iter().any(|value| value.trim().is_empty()) {
                return Err(format!(
                    "{}: {} must have a value, such as {}",
                    word.text,
                    key.help().name,
                    key.help().example
                ));
            }
            if let Err(rule) = check(key, &mut values, now) {
                return error(&rule);
            }
            if let Err(rule) = search.add(key, values) {
                return error(&rule);
            }
        }
        Ok(search)
    }

    /// Adds a condition. The values of a key that accepts lists are alternatives, even in several
    /// terms. Duplicates are removed.
    fn add(&mut self, key: Key, values: Vec<String>) -> Result<(), String> {
        let is_own = matches!(key, Key::Name | Key::Algorithm);
        let known = self.terms.iter().position(|term| term.key == key).filter(|_| !is_own);
        let name = key.help().name;
        if known.is_some() && key.is_single() {
            return Err(format!("{name} must occur once"));
        }
        let index = known.unwrap_or_else(|| {
            self.terms.push(Term { key, values: Vec::new() });
            self.terms.len() - 1
        });
        let known = &mut self.terms[index].values;
        for value in values {
            if !known.contains(&value) {
                known.push(value);
            }
        }
        match known.len() {
            0..=MAX_VALUES => Ok(()),
            count => Err(format!("{name} has {count} values, and must have at most {MAX_VALUES}")),
        }
    }

    fn term(&self, key: Key) -> Option<&Term> {
        self.terms.iter().find(|term| term.key == key)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    pub(crate) fn has(&self, key: Key) -> bool {
        self.term(key).is_some()
    }

    pub(crate) fn has_phase(&self, phase: &Phase) -> bool {
        let term = self.term(Key::Phase);
        term.is_some_and(|term| term.values.iter().any(|value| value == phase.as_str()))
    }

    pub(crate) fn without(&self, key: Key) -> Self {
        let terms = self.terms.iter().filter(|term| term.key != key);
        Self { terms: terms.cloned().collect() }
    }

    /// Returns the search with this phase as the only phase.
    pub(crate) fn with_only(&self, phase: &Phase) -> Self {
        let mut search = self.without(Key::Phase);
        search.terms.push(Term { key: Key::Phase, values: vec![phase.to_string()] });
        search
    }

    /// Returns the search with this phase added, or removed if the search already has it.
    pub(crate) fn toggle_phase(&self, phase: &Phase) -> Self {
        let mut search = self.clone();
        let Some(term) = search.terms.iter_mut().find(|term| term.key == Key::Phase) else {
            return self.with_only(phase);
        };
        let count = term.values.len();
        term.values.retain(|value| value != phase.as_str());
        if term.values.len() == count {
            term.values.push(phase.to_string());
        }
        search.terms.retain(|term| term.key == Key::Mine || !term.values.is_empty());
        search
    }

    /// Returns the search with `mine` in place of `user`, or without `mine` if the search has it.
    pub(crate) fn toggle_mine(&self) -> Self {
        if self.has(Key::Mine) {
            return self.without(Key::Mine);
        }
        let mut search = self.without(Key::User);
        search.terms.push(Term { key: Key::Mine, values: Vec::new() });
        search
    }

    pub(crate) fn text(&self) -> String {
        let words = self.terms.iter().map(|term| {
            let values: Vec<String> = term.values.iter().map(|value| quoted(value)).collect();
            let (name, values) = (term.key.help().name, values.join(","));
            match term.key {
                Key::Mine => name.to_owned(),
                Key::Name if values != Key::Mine.help().name && !values.contains(':') => values,
                _ => format!("{name}:{values}"),
            }
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Returns the list request of the search. `user` must be the user of the credentials if the
    /// search has [`Key::Mine`].
    pub(crate) fn list(
        &self,
        client: &Client,
        user: Option<&CurrentUser>,
        now: SystemTime,
    ) -> Result<ListJobs, String> {
        let mut list = client.training_jobs().list();
        for Term { key, values } in &self.terms {
            let first = || values.first().map(String::as_str).unwrap_or_default();
            let texts = values;
            let values = || texts.iter().cloned();
            let filter = match key {
                Key::Name => Filter::name().like(first()),
                Key::Algorithm => Filter::algorithm_name().like(first()),
                Key::Phase => Filter::phase().is_in(values()),
                Key::Mine => match user {
                    Some(user) => Filter::user_id().is(user.id.as_str()),
                    None => continue,
                },
                Key::User if values().all(|value| is_user_id(&value)) => {
                    Filter::user_id().is_in(values())
                }
                Key::User => Filter::user_name().is_in(values()),
                Key::Pool => Filter::pool_id().is_in(values()),
                Key::Id => Filter::id().is_in(values()),
                Key::Kind => Filter::kind().is_in(values()),
                Key::Runtime => Filter::runtime_type().is_in(values()),
                Key::Priority => {
                    Filter::priority().is_in(values().filter_map(|value| value.parse::<u8>().ok()))
                }
                Key::Experiment => Filter::training_experiment_id().is_in(values()),
                Key::Created => {
                    let range = created::range(first(), now);
                    let (start, end) =
                        range.map_err(|rule| format!("created:{0}: created {rule}", first()))?;
                    Filter::create_time().between(start, end)
                }
                Key::Tag => {
                    for (tag, values) in tags(texts) {
                        list = list.tag(tag, values);
                    }
                    continue;
                }
                Key::Host => {
                    list = list.host_ips(values().filter_map(|host| host.parse::<IpAddr>().ok()));
                    continue;
                }
                Key::Workspace => {
                    list = list.workspace(first());
                    continue;
                }
            };
            list = list.filter(filter);
        }
        Ok(list)
    }
}

fn unknown_key(word: &str, name: &str) -> String {
    let keys = KEYS.iter().filter(|help| help.key != Key::Mine);
    let keys: Vec<&str> = keys.map(|help| help.name).collect();
    format!("{word}: the key {name} is not known; it must be one of {}", keys.join(", "))
}

/// Checks the values of a condition, and replaces phases by the spelling of the service.
fn check(key: Key, values: &mut [String], now: SystemTime) -> Result<(), String> {
    let names = || PHASES.iter().map(Phase::as_str);
    for value in values {
        let broken = match key {
            Key::Phase => match names().find(|phase| phase.eq_ignore_ascii_case(value)) {
                Some(known) => {
                    known.clone_into(value);
                    None
                }
                None => Some(format!("must be one of {}", names().collect::<Vec<_>>().join(", "))),
            },
            Key::Priority => {
                (!matches!(value.as_str(), "1" | "2" | "3")).then(|| "must be 1, 2 or 3".to_owned())
            }
            Key::Host => value.parse::<IpAddr>().err().map(|_| "must be an IP address".to_owned()),
            Key::Tag => {
                let (tag, value) = value.split_once('=').unwrap_or((value, "any"));
                (tag.is_empty() || value.is_empty())
                    .then(|| "must be a key, or a key and a value such as team=nlp".to_owned())
            }
            Key::Created => created::range(value, now).err().map(str::to_owned),
            _ => None,
        };
        if let Some(rule) = broken {
            return Err(format!("{} {rule}", key.help().name));
        }
    }
    Ok(())
}

/// Returns `true` if a text is an IAM user id: 32 hexadecimal digits.
fn is_user_id(text: &str) -> bool {
    text.len() == USER_ID_LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Search, String> {
        Search::parse(text, SystemTime::now())
    }

    #[test]
    fn a_search_is_written_as_it_is_parsed() {
        for (text, canonical) in [
            ("", ""),
            ("  bert ", "bert"),
            ("name:mine mine mine", "name:mine mine"),
            ("phase:running phase:Pending,Running", "phase:Running,Pending"),
            ("a b name:\"c d\"", "a b \"c d\""),
            ("tag:team=nlp,gpu created:7d", "tag:team=nlp,gpu created:7d"),
            ("created:2026-01-15T08:30:00Z", "created:\"2026-01-15T08:30:00Z\""),
        ] {
            let search = parse(text).unwrap();
            assert_eq!(search.text(), canonical);
            assert_eq!(parse(canonical), Ok(search));
        }
    }

    #[test]
    fn a_bad_search_names_the_part_and_the_rule() {
        let phases = "Creating, Pending, Running, Terminating, Completed, Failed, Abnormal, \
                      Terminated";
        for (text, error) in [
            ("a phase:Runing", &*format!("phase:Runing: phase must be one of {phases}")),
            ("phase:", "phase:: phase must have a value, such as phase:Running,Pending"),
            ("pool:a,,b", "pool:a,,b: pool must have a value, such as pool:pool-7a1b"),
            ("priority:4", "priority:4: priority must be 1, 2 or 3"),
            ("host:here", "host:here: host must be an IP address"),
            ("tag:=x", "tag:=x: tag must be a key, or a key and a value such as team=nlp"),
            ("created:1d created:2d", "created:2d: created must occur once"),
            (
                "mine:yes",
                "mine:yes: the key mine is not known; it must be one of name, phase, user, \
                 created, pool, tag, algorithm, id, kind, runtime, priority, experiment, host, \
                 workspace",
            ),
            ("\"open", "\"open: a quote must be closed"),
            (
                "created:60d",
                "created:60d: created must be a range of at most 31 days, which is the most that \
                 the service searches; use one such as 2026-01-01..2026-01-31 for earlier jobs",
            ),
            (
                "id:1,2,3,4,5,6 id:7,8,9,10,11",
                "id:7,8,9,10,11: id has 11 values, and must have at most 10",
            ),
        ] {
            assert_eq!(parse(text), Err(error.to_owned()));
        }
    }

    #[test]
    fn chips_toggle_their_conditions() {
        let search = parse("bert phase:Running").unwrap();
        let more = search.toggle_phase(&Phase::Failed);
        assert_eq!(more.text(), "bert phase:Running,Failed");
        assert_eq!(more.toggle_phase(&Phase::Failed), search);
        assert_eq!(search.toggle_phase(&Phase::Running).text(), "bert");
        assert_eq!(search.toggle_mine().text(), "bert phase:Running mine");
        assert_eq!(search.toggle_mine().toggle_mine(), search);
        let of_user = parse("user:0123 mine").unwrap();
        assert_eq!(of_user.toggle_phase(&Phase::Failed).text(), "user:0123 mine phase:Failed");
        assert_eq!(parse("user:0123").unwrap().toggle_mine().text(), "mine");
    }
}
