//! `Filter`: a compiled jq expression.

use jaq_core::{
    Ctx, Vars,
    compile::Undefined,
    data::JustLut,
    load::{self, Arena, File, Loader},
    unwrap_valr,
};
use jaq_json::Val;
use serde_json::Value;

use crate::failure::Failure;

/// Functions of jq that `jaq` lacks.
const FORMATS: &str = r#"
def _cell(string): if . == null then "" elif isstring then string elif isarray or isobject
  then error("\(tojson) cannot be in a row; it must be text, a number or a boolean")
  else tojson end;
def @csv: [.[] | _cell("\"" + (split("\"") | join("\"\"")) + "\"")] | join(",");
def @tsv: [.[] | _cell(reduce (["\\", "\\\\"], ["\t", "\\t"], ["\n", "\\n"], ["\r", "\\r"]) as $x
  (.; split($x[0]) | join($x[1])))] | join("\t");
"#;

pub(crate) struct Filter {
    filter: jaq_core::Filter<JustLut<Val>>,
}

impl Filter {
    /// Compiles an expression. Errors contain the expression.
    pub(crate) fn compile(code: &str) -> Result<Self, Failure> {
        let invalid = |reason: String| {
            Failure::usage(format_args!(
                "--jq {code:?}: {reason}; it must be an expression of jq, such as .jobs[].id"
            ))
        };
        // The text is a constant, which the tests parse.
        let formats = load::parse(FORMATS, |parser| parser.defs()).unwrap_or_default();
        let known = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
        let loader = Loader::new(known.chain(formats));
        let arena = Arena::default();
        let modules = loader.load(&arena, File { path: (), code }).map_err(|errors| {
            let first = errors.first().map(|(_, error)| syntax_error(error));
            invalid(first.unwrap_or_default())
        })?;
        let filter = jaq_core::Compiler::default()
            .with_funs(jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs()))
            .compile(modules)
            .map_err(|errors| {
                let mut undefined = errors.iter().flat_map(|(_, errors)| errors);
                let first = undefined.next().map(|(name, kind)| {
                    let kind = match kind {
                        Undefined::Filter(0) => "function".to_owned(),
                        Undefined::Filter(1) => "function with one argument".to_owned(),
                        Undefined::Filter(count) => format!("function with {count} arguments"),
                        kind => kind.as_str().to_owned(),
                    };
                    format!("no {kind} is called {name}")
                });
                invalid(first.unwrap_or_default())
            })?;
        Ok(Self { filter })
    }

    pub(crate) fn apply(&self, value: Value) -> Result<Vec<Value>, Failure> {
        let input: Val = serde_json::from_value(value).map_err(Failure::local)?;
        let context = Ctx::<JustLut<Val>>::new(&self.filter.lut, Vars::new([]));
        let results = self.filter.id.run((context, input)).map(unwrap_valr);
        results
            .map(|result| {
                let value =
                    result.map_err(|error| Failure::usage(format_args!("--jq: {error}")))?;
                serde_json::from_str(&value.to_string()).map_err(Failure::local)
            })
            .collect()
    }
}

fn syntax_error(error: &load::Error<&str>) -> String {
    let (expected, found) = match error {
        load::Error::Lex(errors) => match errors.first() {
            Some((expected, found)) => (expected.as_str(), *found),
            None => return "it cannot be parsed".to_owned(),
        },
        load::Error::Parse(errors) => match errors.first() {
            Some((expected, found)) => (expected.as_str(), *found),
            None => return "it cannot be parsed".to_owned(),
        },
        load::Error::Io(_) => return "modules cannot be imported".to_owned(),
    };
    match found {
        "" => format!("{expected} expected at its end"),
        found => format!("{expected} expected before {found:?}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn error(code: &str) -> String {
        match Filter::compile(code) {
            Ok(_) => panic!("{code} was compiled"),
            Err(failure) => failure.to_string(),
        }
    }

    #[test]
    fn results_are_values() {
        let filter = Filter::compile(".jobs[] | select(.nodes > 1) | .name").unwrap();
        let jobs = json!({"jobs": [{"name": "a", "nodes": 1}, {"name": "b", "nodes": 2}]});
        assert_eq!(filter.apply(jobs).unwrap(), [json!("b")]);
    }

    #[test]
    fn rows_are_separated_by_commas_or_tabs() {
        let row = json!([null, "a\"b", 1.5, true, "x\ty\\"]);
        let text = |code| Filter::compile(code).unwrap().apply(row.clone()).unwrap().remove(0);
        assert_eq!(text("@csv"), json!(",\"a\"\"b\",1.5,true,\"x\ty\\\""));
        assert_eq!(text("@tsv"), json!("\ta\"b\t1.5\ttrue\tx\\ty\\\\"));
        let error = Filter::compile("[[1]] | @csv").unwrap().apply(json!(null)).unwrap_err();
        let rule = "--jq: \"[1] cannot be in a row; it must be text, a number or a boolean\"";
        assert_eq!(error.to_string(), rule);
    }

    #[test]
    fn an_expression_that_cannot_be_parsed_is_refused_with_the_place() {
        let hint = "; it must be an expression of jq, such as .jobs[].id";
        for (code, reason) in [
            (".jobs[", "closing bracket expected at its end"),
            (".jobs | select(", "closing parenthesis expected at its end"),
            (".a | ", "term expected at its end"),
            ("", "term expected at its end"),
            (".a b", "nothing expected before \"b\""),
            ("\"a", "closing quote expected at its end"),
            ("if . then 1", "else or end expected at its end"),
            ("nofunction", "no function is called nofunction"),
            ("first(1; 2; 3)", "no function with 3 arguments is called first"),
            ("$x", "no variable is called $x"),
            ("import \"a\" as a; 1", "modules cannot be imported"),
        ] {
            assert_eq!(error(code), format!("--jq {code:?}: {reason}{hint}"));
        }
    }

    #[test]
    fn an_error_of_a_value_is_readable() {
        let filter = Filter::compile(".name.first").unwrap();
        let failure = filter.apply(json!({"name": "a"})).unwrap_err();
        assert_eq!(failure.to_string(), "--jq: cannot index \"a\" with \"first\"");
    }
}
