//! Suggestions for words that are misspelt.

pub(crate) use modelarts_ext::spelling::nearest;
