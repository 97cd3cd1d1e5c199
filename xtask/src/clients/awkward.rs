//! Answers that services give and generated clients stumble over, and a server that gives
//! them. The project of a request names the answer.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::Command,
    thread,
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::steps;

/// One answer, and what a client should read of it.
pub struct Case {
    pub name: &'static str,
    /// For the table.
    pub about: &'static str,
    status: u16,
    /// JSON, or else the page of a load balancer.
    body: fn() -> Option<Value>,
    /// What may be read: nothing is lost or made up.
    right: fn() -> Vec<Value>,
}

pub const CASES: &[Case] = &[
    Case {
        name: "unknown-enum",
        about: "phase `Hibernating`, which nobody knows",
        status: 200,
        body: || Some(job(json!({ "phase": "Hibernating" }))),
        right: || vec![json!("Hibernating")],
    },
    Case {
        name: "number-as-text",
        about: "`total` of events is `\"27\"`",
        status: 200,
        body: || Some(json!({ "total": "27", "limit": "50", "offset": "0", "events": [] })),
        right: || vec![json!("27"), json!(27)],
    },
    Case {
        name: "beyond-double",
        about: "`duration` is 2^53 + 1",
        status: 200,
        body: || {
            Some(job(
                json!({ "phase": "Running", "duration": 9_007_199_254_740_993_i64 }),
            ))
        },
        right: || vec![json!(9_007_199_254_740_993_i64)],
    },
    Case {
        name: "null-list",
        about: "`events` is null: how many there are",
        status: 200,
        body: || Some(json!({ "total": 0, "events": null })),
        right: || vec![json!(0)],
    },
    Case {
        name: "null-object",
        about: "`algorithm` is null",
        status: 200,
        body: || {
            let mut job = job(json!({ "phase": "Running" }));
            job["algorithm"] = Value::Null;
            Some(job)
        },
        right: || vec![Value::Null],
    },
    Case {
        name: "missing-field",
        about: "no `phase`",
        status: 200,
        body: || Some(job(json!({ "duration": 0 }))),
        right: || vec![Value::Null],
    },
    Case {
        name: "extra-field",
        about: "a field that nobody knows, beside `name`",
        status: 200,
        body: || {
            let mut job = job(json!({ "phase": "Running", "mood": { "good": true } }));
            job["metadata"]["mood"] = json!("good");
            Some(job)
        },
        right: || vec![json!("leaves")],
    },
    Case {
        name: "missing-job",
        about: "not found, as status 400: the code",
        status: 400,
        body: || {
            Some(json!({ "error_code": "ModelArts.2775", "error_msg": "The job does not exist." }))
        },
        right: || vec![json!("ModelArts.2775")],
    },
    Case {
        name: "html-502",
        about: "an HTML page with status 502: the status",
        status: 502,
        body: || None,
        right: || vec![json!(502)],
    },
];

fn job(status: Value) -> Value {
    json!({
        "kind": "job",
        "metadata": { "id": "c1b7e5de-0f43-4a57-9d0e-6a2f1f8f2b11", "name": "leaves" },
        "status": status,
        "algorithm": { "name": "leaves" },
    })
}

/// Runs a program that reads every answer. One cell of the table for each.
pub fn watch(program: &mut Command) -> Result<BTreeMap<&'static str, String>> {
    let url = serve()?;
    let lines = steps::lines(program.env("MODELARTS_ENDPOINT", url))?;
    ensure!(
        lines.len() == CASES.len(),
        "printed {} lines for {} awkward answers",
        lines.len(),
        CASES.len()
    );
    CASES
        .iter()
        .zip(&lines)
        .map(|(case, line)| Ok((case.name, cell(case, line)?)))
        .collect()
}

fn cell(case: &Case, line: &str) -> Result<String> {
    let read = line
        .strip_prefix(case.name)
        .and_then(|rest| rest.strip_prefix(' '))
        .with_context(|| format!("expected a line about {}, not: {line}", case.name))?;
    if let Some(error) = read.strip_prefix("! ") {
        return Ok(format!("**fails**: `{error}`"));
    }
    let value: Value = serde_json::from_str(read).with_context(|| line.to_owned())?;
    Ok(if (case.right)().contains(&value) {
        format!("`{value}`")
    } else {
        format!("**wrong**: `{value}`")
    })
}

/// Answers until this program ends.
fn serve() -> Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let url = format!("http://{}", listener.local_addr()?);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that breaks off is no matter here; what it prints is.
            let _ = answer(stream);
        }
    });
    Ok(url)
}

/// One request for each connection is all that is needed.
fn answer(stream: TcpStream) -> Result<()> {
    let mut reader = BufReader::new(&stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let project = line.split('/').nth(2).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
    }
    reader.take(length).read_to_end(&mut Vec::new())?;
    let Some(case) = CASES.iter().find(|case| case.name == project) else {
        bail!("no answer is called {project}");
    };
    let (kind, body) = match (case.body)() {
        Some(body) => ("application/json", body.to_string()),
        None => ("text/html", "<html><h1>502 Bad Gateway</h1></html>".into()),
    };
    write!(
        &stream,
        "HTTP/1.1 {} -\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        case.status,
        body.len()
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str) -> &'static Case {
        CASES.iter().find(|case| case.name == name).unwrap()
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
