//! `Filter`: an expression of jq.

use jaq_core::{
    Ctx, Vars,
    data::JustLut,
    load::{Arena, File, Loader},
    unwrap_valr,
};
use jaq_json::Val;
use serde_json::Value;

use crate::failure::Failure;

/// A compiled expression of jq.
pub(crate) struct Filter {
    filter: jaq_core::Filter<JustLut<Val>>,
}

impl Filter {
    /// Compiles an expression. Errors name the expression.
    pub(crate) fn compile(code: &str) -> Result<Self, Failure> {
        let invalid = |reason: String| {
            Failure::usage(format_args!(
                "--jq {code:?}: {reason}; it must be an expression of jq, such as .jobs[].id"
            ))
        };
        let loader = Loader::new(
            jaq_core::defs()
                .chain(jaq_std::defs())
                .chain(jaq_json::defs()),
        );
        let arena = Arena::default();
        let modules = loader
            .load(&arena, File { path: (), code })
            .map_err(|errors| invalid(format!("{:?}", errors.first().map(|(_, error)| error))))?;
        let filter = jaq_core::Compiler::default()
            .with_funs(
                jaq_core::funs()
                    .chain(jaq_std::funs())
                    .chain(jaq_json::funs()),
            )
            .compile(modules)
            .map_err(|errors| {
                let undefined = errors.iter().flat_map(|(_, errors)| errors);
                let names: Vec<String> = undefined.map(|(name, _)| (*name).to_owned()).collect();
                invalid(format!("{} is not defined", names.join(", ")))
            })?;
        Ok(Self { filter })
    }

    /// Returns the results for a value.
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
