//! Trials of a sweep: the values of hyper-parameters, their combinations and their names.

use std::collections::BTreeSet;

use ring::digest;

use crate::{commands::create::values::Pair, failure::Failure};

/// Maximum number of trials.
const MAX_TRIALS: u64 = 1_000;
/// Maximum length of a job name, in characters.
const MAX_NAME: usize = 64;

/// A hyper-parameter with several values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dimension {
    pub(super) name: String,
    values: Vec<String>,
}

/// A combination of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trial {
    /// Name of the job.
    pub(super) name: String,
    /// Names and values of the hyper-parameters of the sweep.
    pub(super) parameters: Vec<(String, String)>,
}

/// Separates hyper-parameters with one value from those with several. `others` are given to the
/// script in another way.
pub(super) fn split(
    parameters: &[Pair],
    others: &[Pair],
) -> Result<(Vec<Pair>, Vec<Dimension>), Failure> {
    let (mut constants, mut dimensions) = (Vec::new(), Vec::new());
    for (at, parameter) in parameters.iter().enumerate() {
        let name = &parameter.name;
        if parameters[..at].iter().chain(others).any(|other| other.name == *name) {
            return Err(Failure::usage(format_args!(
                "the hyper-parameter {name} must be given once; a list has several values: \
                 -p {name}=1,2"
            )));
        }
        let mut values = values(&parameter.value)
            .map_err(|rule| Failure::usage(format_args!("-p {name}: {rule}")))?;
        if values.len() == 1 {
            let value = values.remove(0);
            constants.push(Pair { name: name.clone(), value });
            continue;
        }
        if let Some(twice) = values.iter().enumerate().find(|(at, it)| values[..*at].contains(it)) {
            return Err(Failure::usage(format_args!(
                "-p {name}: each value must be given once, and {} is given twice",
                twice.1
            )));
        }
        dimensions.push(Dimension { name: name.clone(), values });
    }
    Ok((constants, dimensions))
}

/// Returns the values of a list such as `0.1,0.2`, or of a range such as `1..5`.
fn values(text: &str) -> Result<Vec<String>, String> {
    let mut items = vec![String::new()];
    for part in text.split(',') {
        let Some(item) = items.last_mut() else { break };
        match part.strip_suffix('\\') {
            // A comma after a backslash belongs to the value.
            Some(start) => *item += &format!("{start},"),
            None => {
                item.push_str(part);
                items.push(String::new());
            }
        }
    }
    items.pop_if(|item| item.is_empty());
    let mut values = Vec::new();
    for item in &items {
        match range(item) {
            Some((first, last)) if first < last && last.abs_diff(first) < MAX_TRIALS => {
                values.extend((first..=last).map(|number| number.to_string()));
            }
            Some(_) => {
                return Err(format!(
                    "the range {item} must ascend, and have at most {MAX_TRIALS} numbers"
                ));
            }
            None if item.is_empty() && items.len() > 1 => {
                return Err(format!("the list {text} must have no empty value"));
            }
            None => values.push(item.clone()),
        }
    }
    Ok(values)
}

fn range(value: &str) -> Option<(i64, i64)> {
    let (first, last) = value.split_once("..")?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// Returns all combinations, or some that are chosen at random: the same ones at each call.
pub(super) fn trials(
    base: &str,
    dimensions: &[Dimension],
    random: Option<u64>,
) -> Result<Vec<Trial>, Failure> {
    let sizes = dimensions.iter().map(|dimension| dimension.values.len() as u64);
    let all = sizes.fold(1_u64, u64::saturating_mul);
    let chosen: Vec<u64> = match random {
        Some(count) if count <= all.min(MAX_TRIALS) => {
            let text = format!("{dimensions:?}");
            let mut random = fastrand::Rng::with_seed(hash(&text));
            let mut chosen = BTreeSet::new();
            while (chosen.len() as u64) < count {
                chosen.insert(random.u64(..all));
            }
            chosen.into_iter().collect()
        }
        Some(_) => {
            return Err(Failure::usage(format_args!(
                "--random must be at most {}, and there are {all} combinations",
                all.min(MAX_TRIALS)
            )));
        }
        None if all <= MAX_TRIALS => (0..all).collect(),
        None => {
            return Err(Failure::usage(format_args!(
                "the sweep has {all} combinations; it must have at most {MAX_TRIALS}: --random N \
                 runs N of them"
            )));
        }
    };
    let mut trials: Vec<Trial> = Vec::new();
    for number in chosen {
        let mut left = number;
        let mut parameters: Vec<(String, String)> = Vec::new();
        // The last hyper-parameter varies first.
        for dimension in dimensions.iter().rev() {
            let size = dimension.values.len() as u64;
            let value = usize::try_from(left % size).ok().and_then(|at| dimension.values.get(at));
            left /= size;
            parameters.insert(0, (dimension.name.clone(), value.cloned().unwrap_or_default()));
        }
        let mut name = trial_name(base, &parameters);
        if trials.iter().any(|other| other.name == name) {
            name = hashed_name(base, &parameters);
        }
        trials.push(Trial { name, parameters });
    }
    Ok(trials)
}

/// Returns a name that tells the values, such as `train-lr0_1-seed3`.
fn trial_name(base: &str, parameters: &[(String, String)]) -> String {
    let plain = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() || letter == '-' => letter,
        _ => '_',
    };
    let values = parameters.iter().map(|(name, value)| format!("-{name}{value}"));
    let name = format!("{base}{}", values.collect::<String>());
    match name.chars().count() <= MAX_NAME {
        true => name.chars().map(plain).collect(),
        false => hashed_name(base, parameters),
    }
}

fn hashed_name(base: &str, parameters: &[(String, String)]) -> String {
    let base: String = base.chars().take(MAX_NAME - 17).collect();
    format!("{base}-{:016x}", hash(&format!("{parameters:?}")))
}

fn hash(text: &str) -> u64 {
    let digest = digest::digest(&digest::SHA256, text.as_bytes());
    digest.as_ref().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(texts: &[(&str, &str)]) -> Vec<Pair> {
        let pair = |(name, value): &(&str, &str)| Pair {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
        };
        texts.iter().map(pair).collect()
    }

    fn names(texts: &[(&str, &str)], random: Option<u64>) -> Vec<String> {
        let (_, dimensions) = split(&pairs(texts), &[]).unwrap();
        let trials = trials("train", &dimensions, random).unwrap();
        trials.into_iter().map(|trial| trial.name).collect()
    }

    #[test]
    fn a_value_is_a_list_a_range_or_one_value() {
        for (text, expected) in [
            ("0.1,0.2", Ok(vec!["0.1", "0.2"])),
            ("1..3", Ok(vec!["1", "2", "3"])),
            ("-1..1,7", Ok(vec!["-1", "0", "1", "7"])),
            ("a\\,b", Ok(vec!["a,b"])),
            ("a\\b", Ok(vec!["a\\b"])),
            ("a\\,", Ok(vec!["a,"])),
            ("", Ok(vec![""])),
            ("../x", Ok(vec!["../x"])),
            ("1,,2", Err("the list 1,,2 must have no empty value")),
            ("1,", Err("the list 1, must have no empty value")),
            ("3..1", Err("the range 3..1 must ascend, and have at most 1000 numbers")),
            ("0..1000", Err("the range 0..1000 must ascend, and have at most 1000 numbers")),
        ] {
            let expected = expected
                .map(|values| values.into_iter().map(str::to_owned).collect())
                .map_err(str::to_owned);
            assert_eq!(values(text), expected, "{text}");
        }
        let error = split(&pairs(&[("lr", "1,2,1")]), &[]).unwrap_err();
        let rule = "-p lr: each value must be given once, and 1 is given twice";
        assert_eq!(error.to_string(), rule);
        for (given, others) in
            [(vec![("lr", "1,2"), ("lr", "3")], vec![]), (vec![("lr", "1,2")], vec![("lr", "3")])]
        {
            let error = split(&pairs(&given), &pairs(&others)).unwrap_err();
            let rule =
                "the hyper-parameter lr must be given once; a list has several values: -p lr=1,2";
            assert_eq!(error.to_string(), rule);
        }
    }

    #[test]
    fn names_tell_the_values_and_differ() {
        let expected = ["train-lr0_1-seed1", "train-lr0_1-seed2", "train-lr1e-3-seed1"];
        let found = names(&[("lr", "0.1,1e-3"), ("seed", "1..2"), ("epochs", "3")], None);
        assert_eq!(found[..3], expected);
        let alike = names(&[("op", "a.b,a_b")], None);
        assert_eq!(alike[0], "train-opa_b");
        assert!(alike[1].starts_with("train-") && alike[1].len() == 22, "{alike:?}");
        let long = names(&[("path", &format!("{0}1,{0}2", "x".repeat(60)))], None);
        assert!(long[0] != long[1] && long.iter().all(|name| name.len() == 22), "{long:?}");
    }

    #[test]
    fn a_random_choice_is_the_same_at_each_call() {
        let space = [("lr", "1..100"), ("seed", "1..100")];
        let first = names(&space, Some(5));
        assert_eq!(first.len(), 5);
        assert_eq!(names(&space, Some(5)), first);
        // A larger choice has the trials of the smaller one.
        let more = names(&space, Some(8));
        assert!(first.iter().all(|name| more.contains(name)), "{first:?} {more:?}");
        let (_, dimensions) = split(&pairs(&space), &[]).unwrap();
        for (random, error) in [
            (
                None,
                "the sweep has 10000 combinations; it must have at most 1000: --random N runs N of them",
            ),
            (Some(1001), "--random must be at most 1000, and there are 10000 combinations"),
        ] {
            assert_eq!(trials("t", &dimensions, random).unwrap_err().to_string(), error);
        }
    }
}
