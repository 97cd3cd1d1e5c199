//! Compares a transcript with the description, the generated types and the emulator.

use anyhow::Result;
use serde_json::Value;

use crate::{
    comparison,
    description::{Declared, Description, Operation},
    differences::{Differences, Party, label, shown},
    replay,
    transcript::{Call, Transcript},
};

/// Prints the differences between the transcript and the project. Returns true if none were found.
pub async fn run(description: &Description, transcript: &Transcript) -> Result<bool> {
    let mut differences = Differences::default();
    for call in &transcript.calls {
        let mut say = |party, text| differences.add(label(call), party, text);
        match call
            .operation
            .as_ref()
            .and_then(|id| description.operation(id))
        {
            Some(operation) => check(description, operation, call, &mut say),
            None => say(
                Party::Description,
                format!("{} {} is not described", call.method, call.path),
            ),
        }
    }
    let left_out = replay::run(description, transcript, &mut differences).await?;
    differences.print();
    for why in &left_out {
        println!("not replayed: {why}");
    }
    let count = differences.count();
    println!(
        "{} calls, {} not replayed, {count} differences",
        transcript.calls.len(),
        left_out.len()
    );
    Ok(count == 0)
}

fn check(
    description: &Description,
    operation: &Operation,
    call: &Call,
    say: &mut impl FnMut(Party, String),
) {
    let Some(status) = call.status else {
        return;
    };
    for name in call.query.keys() {
        if description.query(operation, name).is_none() {
            say(
                Party::Description,
                format!("the query parameter {name} is not described"),
            );
        }
    }
    // The body of a rejected request may be invalid, so it is not compared.
    if let (Some(body), Some(schema), true) =
        (&call.request, description.request(operation), status < 400)
    {
        both(description, schema, body, "request ", say);
    }
    let empty = call
        .answer
        .as_ref()
        .is_none_or(|it| it.is_null() || it == "");
    match (description.answer(operation, status), &call.answer) {
        (Declared::Nothing, _) => {
            say(
                Party::Description,
                format!("the status {status} is not described"),
            );
        }
        (Declared::NoBody, _) if empty => {}
        (Declared::NoBody, _) => {
            say(
                Party::Description,
                format!("{status} has a body, and none is described"),
            );
        }
        (Declared::Body(schema), Some(body)) => both(description, schema, body, "", say),
        (Declared::Body(_), None) => {
            let problem = call.problem.as_deref().unwrap_or("no body");
            say(
                Party::Description,
                format!("{status} has {problem}, and one is described"),
            );
        }
    }
    if status >= 400
        && let Some(code) = call.answer.as_ref().and_then(|it| it["error_code"].as_str())
        // Gateways use their own error codes.
        && !code.starts_with("APIGW.")
        && !description.documents(operation, status, code)
    {
        say(
            Party::Description,
            format!("the code {code} with the status {status} is not described"),
        );
    }
}

/// Compares a body with its schema, and with the result of decoding and encoding it with its
/// generated type.
fn both(
    description: &Description,
    schema: &Value,
    body: &Value,
    prefix: &str,
    say: &mut impl FnMut(Party, String),
) {
    for difference in description.differences(schema, body) {
        let place = shown(&difference.place);
        say(
            Party::Description,
            format!("{prefix}{place} {}", difference.text),
        );
    }
    let Some(name) = Description::name(schema) else {
        return;
    };
    match comparison::of(&description.root, name, body.to_string().as_bytes()) {
        Ok((findings, _)) => {
            for finding in findings.iter().filter(|it| it.kind != "note") {
                let place = any_element(&finding.pointer);
                say(Party::Types, format!("{prefix}{place} is {}", finding.kind));
            }
        }
        Err(error) => say(Party::Types, format!("{prefix}{error}")),
    }
}

/// Replaces the indices of elements in a JSON pointer by `*`.
fn any_element(pointer: &str) -> String {
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|c| c.is_ascii_digit());
    let parts = pointer
        .split('/')
        .map(|it| if is_number(it) { "*" } else { it });
    parts.collect::<Vec<_>>().join("/")
}
