//! Names of jobs that the user does not name.

use std::{fs, path::Path};

use modelarts_ext::jobs::create::{unique_name, without_suffix};

/// Returns a probably unique name: that of the script or directory `source`, or of the job `base`,
/// and a random suffix.
pub(crate) fn generated_name(source: Option<&str>, base: Option<&str>) -> String {
    if let Some(base) = base {
        return unique_name(without_suffix(base));
    }
    let stem = source.and_then(|source| {
        let path = source.trim_end_matches('/');
        let canonical = fs::canonicalize(path).ok();
        let path = canonical.as_deref().unwrap_or(Path::new(path));
        Some(path.file_stem()?.to_string_lossy().into_owned())
    });
    unique_name(stem.as_deref().unwrap_or_default())
}
