//! Detection of an unresolved symbolic link in place of a file of the description.
//!
//! If Git may not create symbolic links (the default on Windows), it writes a file that contains
//! the target path of the link. Without this detection, `DESCRIPTION` would contain the target
//! path.

/// Returns an error if `text` is the target path of a link instead of the file.
pub fn check(text: &str) -> Result<(), String> {
    let path = text.trim();
    if !path.starts_with("../") || path.contains('\n') {
        return Ok(());
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    Err(format!(
        "must be a symbolic link to {path}, and is a file with this path; allow git to make links \
         (git config core.symlinks true, then git checkout -- crates/modelarts-api/{name}) or copy \
         the file in its place"
    ))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_path_in_place_of_the_description_is_refused() {
        for path in ["../../openapi/modelarts.yaml", "../../openapi/modelarts.yaml\r\n"] {
            assert_eq!(
                check(path).unwrap_err(),
                "must be a symbolic link to ../../openapi/modelarts.yaml, and is a file with this \
                 path; allow git to make links (git config core.symlinks true, then git checkout \
                 -- crates/modelarts-api/modelarts.yaml) or copy the file in its place"
            );
        }
    }

    #[test]
    fn a_description_is_taken() {
        for text in ["", "openapi: 3.0.3\n", "# ../modelarts.yaml", "{\"openapi\": \"3.0.3\"}"] {
            check(text).unwrap();
        }
        check("../a: 1\nb: 2").unwrap();
    }
}
