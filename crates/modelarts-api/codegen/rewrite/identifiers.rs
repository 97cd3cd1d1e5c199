//! Replaces the patterns of identifiers by plain Rust code.
//!
//! typify generates a regular expression for each pattern, which needs a regex engine at run time.
//! The identifiers in paths need only character classes and counts; plain code for these builds and
//! runs faster.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, ImplItem, Item, ItemImpl, ItemMod, Stmt, parse_quote};

use super::{super::error::Error, syntax::content};

/// A run of characters of one class, with its minimum and maximum length.
struct CharacterRun {
    /// Ranges of characters, both ends included.
    ranges: Vec<(char, char)>,
    /// Blanks belong to the class.
    blank: bool,
    /// The class consists of all other characters.
    negated: bool,
    min: usize,
    max: usize,
}

/// Replaces the regular expressions in a module of types.
pub fn replace_patterns(types: &mut ItemMod) -> Result<(), Error> {
    for item in content(types)? {
        let Item::Impl(ItemImpl { items, .. }) = item else {
            continue;
        };
        for item in items {
            if let ImplItem::Fn(function) = item {
                replace_pattern(&mut function.block.stmts)?;
            }
        }
    }
    Ok(())
}

/// Replaces `static PATTERN: .. = ..; if PATTERN.find(value).is_none() { .. }`.
fn replace_pattern(statements: &mut Vec<Stmt>) -> Result<(), Error> {
    let Some(at) = statements.iter().position(
        |statement| matches!(statement, Stmt::Item(Item::Static(item)) if item.ident == "PATTERN"),
    ) else {
        return Ok(());
    };
    let Stmt::Item(Item::Static(item)) = statements.remove(at) else {
        return Ok(());
    };
    let expression = &item.expr;
    let text = quote!(#expression).to_string();
    let pattern = text
        .split_once("Regex :: new (")
        .and_then(|(_, rest)| rest.split_once(") . unwrap"))
        .and_then(|(literal, _)| syn::parse_str::<syn::LitStr>(literal.trim()).ok())
        .ok_or_else(|| Error(format!("typify writes patterns in another way now: {text}")))?
        .value();
    let runs = parse(&pattern)?.into_iter().map(|run| run.tokens());
    let test = quote!(crate::identifier::matches(value, &[#(#runs),*]));
    match statements.get_mut(at) {
        Some(Stmt::Expr(Expr::If(check), _)) => {
            check.cond = parse_quote!(!#test);
            Ok(())
        }
        _ => Err(Error(format!("typify checks {pattern} in another way now"))),
    }
}

/// Parses `^[class]{min,max}..$`. All classes but the last must have a fixed count, so that
/// matching needs no backtracking.
fn parse(pattern: &str) -> Result<Vec<CharacterRun>, Error> {
    let unknown = || {
        Error(format!(
            "pattern {pattern}: identifiers in paths are described by classes of characters \
             with counts, such as ^[a-z][a-z0-9]{{0,9}}$"
        ))
    };
    let mut rest = pattern
        .strip_prefix('^')
        .and_then(|rest| rest.strip_suffix('$'))
        .ok_or_else(unknown)?;
    let mut runs: Vec<CharacterRun> = Vec::new();
    while !rest.is_empty() {
        let (class, behind) = rest
            .strip_prefix('[')
            .and_then(|rest| rest.split_once(']'))
            .ok_or_else(unknown)?;
        let (min, max, behind) = match behind.strip_prefix('{') {
            None => (1, 1, behind),
            Some(counts) => {
                let (counts, behind) = counts.split_once('}').ok_or_else(unknown)?;
                let (min, max) = counts.split_once(',').unwrap_or((counts, counts));
                let number = |text: &str| text.parse().map_err(|_| unknown());
                (number(min)?, number(max)?, behind)
            }
        };
        if runs.last().is_some_and(|run| run.min != run.max) {
            return Err(unknown());
        }
        runs.push(read_class(class, min, max).ok_or_else(unknown)?);
        rest = behind;
    }
    Ok(runs)
}

fn read_class(text: &str, min: usize, max: usize) -> Option<CharacterRun> {
    let (negated, text) = match text.strip_prefix('^') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let mut run = CharacterRun {
        ranges: Vec::new(),
        blank: false,
        negated,
        min,
        max,
    };
    let mut characters = text.chars().peekable();
    while let Some(first) = characters.next() {
        if first == '\\' {
            match characters.next()? {
                's' => run.blank = true,
                escaped if !escaped.is_alphanumeric() => run.ranges.push((escaped, escaped)),
                _ => return None,
            }
            continue;
        }
        let mut ahead = characters.clone();
        let last = match (ahead.next(), ahead.next()) {
            // A hyphen at the end of a class stands for itself.
            (Some('-'), Some(last)) => {
                characters = ahead;
                last
            }
            _ => first,
        };
        run.ranges.push((first, last));
    }
    Some(run)
}

impl CharacterRun {
    fn tokens(&self) -> TokenStream {
        let ranges: Vec<TokenStream> = self
            .ranges
            .iter()
            .map(|(first, last)| match first == last {
                true => quote!(#first),
                false => quote!(#first ..= #last),
            })
            .collect();
        let mut tests = Vec::new();
        if !ranges.is_empty() {
            tests.push(quote!(matches!(c, #(#ranges)|*)));
        }
        if self.blank {
            tests.push(quote!(c.is_whitespace()));
        }
        let inside = quote!(#(#tests)||*);
        let test = match self.negated {
            true => quote!(|c| !(#inside)),
            false => quote!(|c| #inside),
        };
        let (min, max) = (self.min, self.max);
        quote!((#test, #min, #max))
    }
}
