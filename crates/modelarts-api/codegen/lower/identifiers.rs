//! Identifiers in paths, and the classes of characters that their patterns admit.
//!
//! typify generates a regular expression for each pattern, which needs a regex engine at run time.
//! Identifiers need only classes and counts, which `src/identifier.rs` checks.

use super::super::error::Error;

/// A schema of a path parameter with a pattern.
pub struct Identifier {
    pub name: String,
    pub pattern: String,
    /// Classes of characters, with their minimum and maximum counts.
    pub runs: Vec<(String, usize, usize)>,
}

impl Identifier {
    /// Reads a pattern.
    pub fn read(name: &str, pattern: &str) -> Result<Self, Error> {
        let runs = runs(pattern).ok_or_else(|| {
            Error(format!(
                "pattern {pattern}: identifiers in paths are described by classes of characters \
                 with counts, such as ^[a-z][a-z0-9]{{0,9}}$"
            ))
        })?;
        Ok(Self {
            name: name.to_owned(),
            pattern: pattern.to_owned(),
            runs,
        })
    }
}

/// Parses `^[class]{min,max}..$`. All classes but the last must have a fixed count, so that
/// matching needs no backtracking.
fn runs(pattern: &str) -> Option<Vec<(String, usize, usize)>> {
    let mut rest = pattern.strip_prefix('^')?.strip_suffix('$')?;
    let mut runs: Vec<(String, usize, usize)> = Vec::new();
    while !rest.is_empty() {
        let (class, behind) = rest.strip_prefix('[')?.split_once(']')?;
        let (counts, behind) = match behind.strip_prefix('{') {
            Some(counts) => counts.split_once('}')?,
            None => ("1", behind),
        };
        let (min, max) = counts.split_once(',').unwrap_or((counts, counts));
        let is_simple = |c: char| c.is_ascii() && c != '\\';
        if runs.last().is_some_and(|run| run.1 != run.2)
            || !class.replace("\\s", "").chars().all(is_simple)
        {
            return None;
        }
        runs.push((class.to_owned(), min.parse().ok()?, max.parse().ok()?));
        rest = behind;
    }
    Some(runs)
}
