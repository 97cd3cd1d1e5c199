//! Names of jobs that the user does not name.

use std::{fs, path::Path};

/// Characters of the random suffix of a generated name.
const RANDOM: &str = "abcdefghijkmnpqrstuvwxyz23456789";
/// Length of the random suffix of a generated name, in characters.
const SUFFIX: usize = 4;
/// Maximum length of the script name in a generated name, in characters.
const MAX_STEM: usize = 50;

/// Returns a name without the random suffix of a generated name.
pub(crate) fn without_suffix(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((stem, suffix))
            if !stem.is_empty()
                && suffix.len() == SUFFIX
                && suffix.chars().all(|letter| RANDOM.contains(letter)) =>
        {
            stem
        }
        _ => name,
    }
}

/// Returns a probably unique name: that of the script or directory `source`, or of the job `base`,
/// and a random suffix.
pub(crate) fn generated_name(source: Option<&str>, base: Option<&str>) -> String {
    if let Some(base) = base {
        let stem: String = without_suffix(base).chars().take(MAX_STEM).collect();
        return format!("{stem}-{}", random_suffix());
    }
    let stem = source.and_then(|source| {
        let path = source.trim_end_matches('/');
        let canonical = fs::canonicalize(path).ok();
        let path = canonical.as_deref().unwrap_or(Path::new(path));
        Some(path.file_stem()?.to_string_lossy().into_owned())
    });
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || c == '_' => c,
        _ => '-',
    };
    let stem: String = stem.iter().flat_map(|stem| stem.chars()).map(plain).collect();
    // Other commands would read a name that begins with a hyphen as a flag.
    let stem = match stem.trim_matches('-') {
        "" => "job".to_owned(),
        stem => stem.chars().take(MAX_STEM).collect(),
    };
    format!("{stem}-{}", random_suffix())
}

fn random_suffix() -> String {
    let letters: Vec<char> = RANDOM.chars().collect();
    (0..SUFFIX).filter_map(|_| letters.get(fastrand::usize(..letters.len()))).collect()
}
