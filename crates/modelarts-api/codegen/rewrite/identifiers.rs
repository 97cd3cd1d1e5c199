//! Conversion of identifier patterns to plain Rust code.
//!
//! typify would generate a regular expression for each pattern, which requires a regex engine at
//! run time. The patterns of identifiers in paths consist only of character classes with counts.
//! For such patterns, plain code compiles and runs faster.

use proc_macro2::TokenStream;
use quote::quote;

use super::super::error::Error;

/// Converts a pattern to a list of `crate::identifier::CharacterRun`.
pub fn runs(pattern: &str) -> Result<TokenStream, Error> {
    parse(pattern).ok_or_else(|| {
        Error(format!(
            "pattern {pattern}: identifiers in paths are described by classes of characters with \
             counts, such as ^[a-z][a-z0-9]{{0,9}}$"
        ))
    })
}

/// Parses a pattern of the form `^[class]{min,max}..$`. Every class except the last must have a
/// fixed count, so that matching requires no backtracking.
fn parse(pattern: &str) -> Option<TokenStream> {
    let mut rest = pattern.strip_prefix('^')?.strip_suffix('$')?;
    let mut runs = Vec::new();
    let mut is_open = false;
    while !rest.is_empty() {
        let (class, behind) = rest.strip_prefix('[')?.split_once(']')?;
        let (counts, behind) = match behind.strip_prefix('{') {
            Some(counts) => counts.split_once('}')?,
            None => ("1", behind),
        };
        let (min, max) = counts.split_once(',').unwrap_or((counts, counts));
        let (min, max) = (min.parse::<usize>().ok()?, max.parse::<usize>().ok()?);
        if is_open {
            return None;
        }
        is_open = min != max;
        let class = test(class)?;
        runs.push(quote!((#class, #min, #max)));
        rest = behind;
    }
    Some(quote!([#(#runs),*]))
}

/// Returns a closure that checks if a character belongs to a class.
fn test(class: &str) -> Option<TokenStream> {
    let (negated, class) = match class.strip_prefix('^') {
        Some(class) => (true, class),
        None => (false, class),
    };
    let mut tests = Vec::new();
    if class.contains("\\s") {
        tests.push(quote!(c.is_whitespace()));
    }
    let characters: Vec<char> = class.replace("\\s", "").chars().collect();
    let mut rest = characters.as_slice();
    while let [first, behind @ ..] = rest {
        let (last, behind) = match behind {
            // A hyphen at the end of a class is a literal hyphen.
            ['-', last, behind @ ..] => (last, behind),
            _ => (first, behind),
        };
        if *first == '\\' {
            return None;
        }
        tests.push(match first == last {
            true => quote!(c == #first),
            false => quote!(matches!(c, #first..=#last)),
        });
        rest = behind;
    }
    Some(match negated {
        true => quote!(|c| !(#(#tests)||*)),
        false => quote!(|c| #(#tests)||*),
    })
}
