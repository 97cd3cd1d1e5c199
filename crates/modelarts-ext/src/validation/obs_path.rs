//! Syntax of OBS paths (`obs://bucket/key`, `/bucket/key`), names, and paths in the container.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObsPath<'a>(Vec<&'a str>);

impl<'a> ObsPath<'a> {
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix("obs://").or_else(|| text.strip_prefix('/'))?;
        if rest.starts_with('/') || rest.chars().any(char::is_control) {
            return None;
        }
        let steps: Vec<_> = rest.split('/').filter(|step| !step.is_empty()).collect();
        let invalid = steps.is_empty() || steps.iter().any(|step| matches!(*step, "." | ".."));
        (!invalid).then_some(Self(steps))
    }

    pub(crate) fn path_below(&self, directory: &Self) -> Option<String> {
        let rest = self.0.strip_prefix(directory.0.as_slice())?;
        (!rest.is_empty()).then(|| rest.join("/"))
    }

    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0) || other.0.starts_with(&self.0)
    }

    pub(super) fn last_below_bucket(&self) -> Option<&'a str> {
        self.0.get(1..)?.last().copied()
    }

    pub(super) fn is_bucket(&self) -> bool {
        self.0.len() == 1
    }
}

/// Returns `true` for 1 to 64 letters, digits, `_` and `-`.
pub(super) fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

pub(super) fn is_variable_name(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

pub(super) fn is_absolute_plain_path(path: &str) -> bool {
    path.starts_with('/')
        && !path.chars().any(char::is_control)
        && !path.split('/').any(|step| matches!(step, "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_read() {
        let directory = ObsPath::parse("obs://bucket/code/").unwrap();
        assert_eq!(ObsPath::parse("/bucket//code"), Some(directory.clone()));
        let file = ObsPath::parse("/bucket/code/src/train.py").unwrap();
        assert_eq!(file.path_below(&directory).as_deref(), Some("src/train.py"));
        assert_eq!(directory.path_below(&directory), None);
        assert!(directory.overlaps(&file) && file.overlaps(&directory));
        assert!(!directory.overlaps(&ObsPath::parse("/bucket/code2").unwrap()));
        assert!(ObsPath::parse("obs://bucket").unwrap().is_bucket());
        for wrong in ["", "bucket/a", "s3://b", "obs://", "obs:///a", "//a", "/", "/b/../c", "/b\n"]
        {
            assert_eq!(ObsPath::parse(wrong), None, "{wrong:?}");
        }
    }
}
