//! Unusual responses that can break generated clients, and a server that returns them. The project
//! id of a request selects the response.

use std::{collections::BTreeMap, process::Command, sync::OnceLock};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{
    steps,
    vectors::{
        self,
        server::{self, Reply},
    },
};

/// Unusual response, with the values that a client may read from it.
#[derive(Debug, Deserialize)]
pub struct Case {
    pub name: String,
    /// Description of the response, for the table.
    pub about: String,
    /// True if the programs read the response, and the table has a row for it.
    #[serde(default)]
    table: bool,
    status: u16,
    headers: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "present")]
    body: Option<Value>,
    text: Option<String>,
    expected: Vec<Expected>,
}

#[derive(Debug, Deserialize)]
struct Expected {
    values: Vec<Value>,
}

impl Case {
    /// Returns the correct values of the first expected field, which is the only field that the
    /// programs read.
    fn right(&self) -> &[Value] {
        self.expected.first().map_or(&[], |first| &first.values)
    }
}

/// Deserializes a body that may be null, and distinguishes null from a missing body.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Returns the cases of the table.
pub fn cases() -> Result<impl Iterator<Item = &'static Case>> {
    Ok(all()?.iter().filter(|case| case.table))
}

/// Returns the cases of `openapi/vectors/awkward.json`.
fn all() -> Result<&'static [Case]> {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    if let Some(cases) = CASES.get() {
        return Ok(cases);
    }
    let cases = vectors::cases("awkward.json")?;
    Ok(CASES.get_or_init(|| cases))
}

/// Runs a program that reads every response. Returns a table cell for each response.
pub fn watch(program: &mut Command) -> Result<BTreeMap<&'static str, String>> {
    let url = serve()?;
    let lines = steps::lines(program.env("MODELARTS_ENDPOINT", url))?;
    let count = cases()?.count();
    ensure!(
        lines.len() == count,
        "printed {} lines for {count} unusual responses",
        lines.len()
    );
    cases()?
        .zip(&lines)
        .map(|(case, line)| Ok((case.name.as_str(), cell(case, line)?)))
        .collect()
}

fn cell(case: &Case, line: &str) -> Result<String> {
    let read = line
        .strip_prefix(case.name.as_str())
        .and_then(|rest| rest.strip_prefix(' '))
        .with_context(|| format!("expected a line about {}, not: {line}", case.name))?;
    if let Some(error) = read.strip_prefix("! ") {
        return Ok(format!("**fails**: `{error}`"));
    }
    let value: Value = serde_json::from_str(read).with_context(|| line.to_owned())?;
    Ok(if case.right().contains(&value) {
        format!("`{value}`")
    } else {
        format!("**wrong**: `{value}`")
    })
}

/// Serves the responses until this program ends, and returns the address. The project id selects
/// the case.
fn serve() -> Result<String> {
    let cases = all()?;
    server::serve(move |target| {
        let project = server::project(target);
        let case = cases.iter().find(|case| case.name == project);
        let case = case.with_context(|| format!("no answer is called {project}"))?;
        let body = case.body.as_ref().map(Value::to_string);
        Ok(Reply {
            status: case.status,
            headers: case.headers.clone(),
            body: case.text.clone().or(body).unwrap_or_default(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str) -> &'static Case {
        all()
            .unwrap()
            .iter()
            .find(|case| case.name == name)
            .unwrap()
    }

    #[test]
    fn a_cell_says_what_was_read_and_whether_that_is_right() {
        let beyond = case("beyond-double");
        for (line, expected) in [
            ("beyond-double 9007199254740993", "`9007199254740993`"),
            (
                "beyond-double 9007199254740992",
                "**wrong**: `9007199254740992`",
            ),
            ("beyond-double ! Overflow", "**fails**: `Overflow`"),
        ] {
            assert_eq!(cell(beyond, line).unwrap(), expected);
        }
        let error = cell(beyond, "null-list 0").unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected a line about beyond-double, not: null-list 0"
        );
    }

    #[test]
    fn the_project_names_the_answer() {
        let url = serve().unwrap();
        let get = |project: &str| {
            let agent: ureq::Agent = ureq::Agent::config_builder()
                .http_status_as_error(false)
                .build()
                .into();
            let mut answer = agent.get(format!("{url}/v2/{project}/x")).call().unwrap();
            let body = answer.body_mut().read_to_string().unwrap();
            (answer.status().as_u16(), body)
        };
        assert_eq!(
            get("null-list"),
            (200, r#"{"events":null,"total":0}"#.into())
        );
        assert_eq!(get("missing-job").0, 400);
        assert_eq!(get("html-502").0, 502);
    }
}
