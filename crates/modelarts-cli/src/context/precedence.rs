//! Environment variables that select another service or project than the context.

use std::{env, fmt};

use modelarts_ext::{
    client::contexts::{ENDPOINTS, endpoint},
    config::Environment,
};

use crate::{context::selection::Selection, failure::Failure};

const PROJECTS: [&str; 3] = ["HUAWEICLOUD_SDK_PROJECT_ID", "HW_PROJECT_ID", "OS_PROJECT_ID"];

/// An environment variable whose endpoint or project is not that of the context.
pub(crate) struct Difference {
    variable: &'static str,
    of_variable: String,
    of_context: String,
    context: String,
}

impl Difference {
    /// Returns a clause that states which setting applies and which does not.
    pub(crate) fn result(&self) -> String {
        let Self { variable, of_variable, of_context, context } = self;
        format!(
            "{of_context} of the context {context} applies, and {of_variable} of {variable} does \
             not"
        )
    }

    pub(crate) fn remedy(&self) -> String {
        let (variable, context) = (self.variable, &self.context);
        format!(
            "select the context with `--context {context}` or MODELARTS_CONTEXT={context}, or none \
             with `modelarts context use --none`, or unset {variable}"
        )
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} addresses {}, and the current context {} {}; they must not differ: {}",
            self.variable,
            self.of_variable,
            self.context,
            self.of_context,
            self.remedy()
        )
    }
}

impl Selection {
    /// Returns an error if an environment variable sets another endpoint or project than the
    /// context, unless `--context` or its environment variable selects the context.
    pub(crate) fn require_agreement(&self) -> Result<(), Failure> {
        match (self.requested(), self.difference()?) {
            (None, Some(difference)) => Err(Failure::usage(difference)),
            _ => Ok(()),
        }
    }

    /// Returns an environment variable whose endpoint or project is not that of the context.
    pub(crate) fn difference(&self) -> Result<Option<Difference>, Failure> {
        let Some(context) = self.name()? else {
            return Ok(None);
        };
        let difference = |variable, of_variable: String, of_context: Option<String>| {
            let of_context = of_context.filter(|of_context| *of_context != of_variable)?;
            let context = context.to_owned();
            Some(Difference { variable, of_variable, of_context, context })
        };
        if let Some((variable, _)) = first(&ENDPOINTS)
            && let Some(of_variable) = endpoint(Environment::of_process())
            && let Some(found) = difference(variable, of_variable, endpoint(self.own()?))
        {
            return Ok(Some(found));
        }
        Ok(match first(&PROJECTS) {
            Some((variable, project)) => {
                difference(variable, project, self.own()?.variable(PROJECTS[0]))
            }
            None => None,
        })
    }
}

/// Returns the first environment variable that is not empty, with its value.
fn first(names: &[&'static str]) -> Option<(&'static str, String)> {
    let mut values = names.iter().filter_map(|name| Some((*name, env::var(name).ok()?)));
    values.find(|(_, value)| !value.is_empty())
}
