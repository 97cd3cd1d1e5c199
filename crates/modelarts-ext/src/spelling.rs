//! Suggestions for misspelt names. Not part of the public interface.

const MIN_LIKENESS: f64 = 0.8;

/// Returns the known name that is most similar to `name`, or `None` if none is similar enough.
#[must_use]
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    known
        .into_iter()
        .map(|known| {
            let lower = known.to_lowercase();
            let likeness = strsim::jaro_winkler(&name, &lower);
            (lower.starts_with(&name), likeness, known)
        })
        .filter(|(_, likeness, _)| *likeness >= MIN_LIKENESS)
        // A known name that begins with `name`, such as a version with a suffix, takes precedence.
        .max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)))
        .map(|(_, _, known)| known)
}

/// Returns advice for an unknown name. `known` contains at least one name.
#[must_use]
pub fn near_names(name: &str, known: &[&str]) -> String {
    let all = known.join(", ");
    match nearest(name, known.iter().copied()) {
        Some(nearest) if nearest == all => format!("did you mean {nearest}?"),
        Some(nearest) => format!("did you mean {nearest}? Otherwise choose one of these: {all}"),
        None => format!("choose one of these: {all}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_words_are_suggested() {
        let known = ["ShowTrainingQuotas", "ListTrainingJobs", "DeleteTrainingJob"];
        for (word, expected) in [
            ("showtrainingquota", Some("ShowTrainingQuotas")),
            ("ListTrainingJob", Some("ListTrainingJobs")),
            ("Delete", Some("DeleteTrainingJob")),
            ("xyz", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
        assert_eq!(nearest("xyz", []), None);
        let choice = "choose one of these: a, b";
        assert_eq!(near_names("xyz", &["a", "b"]), choice);
        assert_eq!(near_names("PyTorhc", &["PyTorch"]), "did you mean PyTorch?");
    }
}
