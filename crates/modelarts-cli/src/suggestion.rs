//! Suggestions for words that are misspelt.

/// Minimum similarity of a suggestion, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.8;

/// Returns the known word that is most similar to this one; `None` if none is similar.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let similarity = |known: &str| strsim::jaro_winkler(&word, &known.to_lowercase());
    let known = known.into_iter().map(|known| (known, similarity(known)));
    let nearest = known.max_by(|(_, one), (_, other)| one.total_cmp(other));
    nearest
        .filter(|(_, similarity)| *similarity >= MIN_SIMILARITY)
        .map(|(known, _)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_words_are_suggested() {
        let known = [
            "ShowTrainingQuotas",
            "ListTrainingJobs",
            "DeleteTrainingJob",
        ];
        assert_eq!(
            nearest("showtrainingquota", known),
            Some("ShowTrainingQuotas")
        );
        assert_eq!(nearest("ListTrainingJob", known), Some("ListTrainingJobs"));
        assert_eq!(nearest("xyz", known), None);
        assert_eq!(nearest("xyz", []), None);
    }
}
