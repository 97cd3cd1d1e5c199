//! Checks of identifiers as plain Rust.
//!
//! typify writes a regular expression for each pattern, with an engine of its own at run
//! time. The identifiers in paths need only classes of characters and counts; that builds
//! sooner and checks faster.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, ImplItem, Item, ItemImpl, ItemMod, Stmt, parse_quote};

use super::{super::error::Error, syntax::content};

/// One class of characters, and how many of them there may be.
struct Part {
    /// Ranges of characters, both ends included.
    ranges: Vec<(char, char)>,
    /// Whether blanks belong to the class.
    blank: bool,
    /// Whether all other characters are meant.
    negated: bool,
    least: usize,
    most: usize,
}

/// Replaces the regular expressions in a module of types.
pub fn plain(types: &mut ItemMod) -> Result<(), Error> {
    for item in content(types)? {
        let Item::Impl(ItemImpl { items, .. }) = item else {
            continue;
        };
        for item in items {
            if let ImplItem::Fn(function) = item {
                statements(&mut function.block.stmts)?;
            }
        }
    }
    Ok(())
}

/// `static PATTERN: .. = ..; if PATTERN.find(value).is_none() { .. }`
fn statements(statements: &mut Vec<Stmt>) -> Result<(), Error> {
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
    let parts = parse(&pattern)?.into_iter().map(|part| part.tokens());
    let fits = quote!(crate::identifier::fits(value, &[#(#parts),*]));
    match statements.get_mut(at) {
        Some(Stmt::Expr(Expr::If(test), _)) => {
            test.cond = parse_quote!(!#fits);
            Ok(())
        }
        _ => Err(Error(format!("typify checks {pattern} in another way now"))),
    }
}

/// Reads `^[class]{least,most}..$`. All but the last class stand for a fixed number of
/// characters, so that nothing has to be tried twice.
fn parse(pattern: &str) -> Result<Vec<Part>, Error> {
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
    let mut parts: Vec<Part> = Vec::new();
    while !rest.is_empty() {
        let (class, behind) = rest
            .strip_prefix('[')
            .and_then(|rest| rest.split_once(']'))
            .ok_or_else(unknown)?;
        let (least, most, behind) = match behind.strip_prefix('{') {
            None => (1, 1, behind),
            Some(counts) => {
                let (counts, behind) = counts.split_once('}').ok_or_else(unknown)?;
                let (least, most) = counts.split_once(',').unwrap_or((counts, counts));
                let number = |text: &str| text.parse().map_err(|_| unknown());
                (number(least)?, number(most)?, behind)
            }
        };
        if parts.last().is_some_and(|part| part.least != part.most) {
            return Err(unknown());
        }
        parts.push(read(class, least, most).ok_or_else(unknown)?);
        rest = behind;
    }
    Ok(parts)
}

fn read(text: &str, least: usize, most: usize) -> Option<Part> {
    let (negated, text) = match text.strip_prefix('^') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let mut part = Part {
        ranges: Vec::new(),
        blank: false,
        negated,
        least,
        most,
    };
    let mut characters = text.chars().peekable();
    while let Some(first) = characters.next() {
        if first == '\\' {
            match characters.next()? {
                's' => part.blank = true,
                escaped if !escaped.is_alphanumeric() => part.ranges.push((escaped, escaped)),
                _ => return None,
            }
            continue;
        }
        let mut ahead = characters.clone();
        let last = match (ahead.next(), ahead.next()) {
            // A hyphen at the end stands for itself.
            (Some('-'), Some(last)) => {
                characters = ahead;
                last
            }
            _ => first,
        };
        part.ranges.push((first, last));
    }
    Some(part)
}

impl Part {
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
        let (least, most) = (self.least, self.most);
        quote!((#test, #least, #most))
    }
}
