//! Fault matrix. Each row tests one fault of a response, and each column tests one operation: a
//! read, a stop or a create. The tests also verify that no output contains a secret.
//!
//! A fault occurs before or after the server executes a request. It occurs once or always, and only
//! for the operation of the column. A row with `then` has a second fault, which affects all later
//! requests of that operation. The server stores jobs, so a search after a lost response can find
//! the created job.

mod constants;
mod row;
mod run;
mod service;
mod table;

use std::{fmt::Write as _, time::Duration};

use modelarts_ext::Credentials;

use self::{
    constants::ACCESS_KEY,
    row::{Cell, Effect, End, Fault, Row, Strikes::OnceBefore, Who},
    run::{Happened, print, run},
    table::{CLOCK, EXPIRED, SIGNATURE, table},
};
use crate::{
    captured_log::CapturedLog,
    child::run_alone,
    support::secrets::{ENVIRONMENT, SECRET_KEY, SECURITY_TOKEN, TOKEN},
};

const EFFECTS: [Effect; 3] = [Effect::Read, Effect::Stop, Effect::Create];

fn header(requests: &[String], name: &str) -> Vec<String> {
    let value = |request: &String| {
        let (head, _) = request.split_once("\r\n\r\n")?;
        head.lines().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            (found == name).then(|| value.to_owned())
        })
    };
    requests.iter().filter_map(value).collect()
}

#[tokio::test]
async fn the_matrix() {
    let mut wrong = String::new();
    let table = table();
    assert_eq!(table.len(), 57);
    for row in &table {
        for effect in EFFECTS {
            let happened = run(row, effect, row.who).await;
            let end = match &happened.result {
                Ok(_) => End::Done,
                Err(error) => End::Fails {
                    kind: error.kind(),
                    status: error.status(),
                    attempts: error.attempts(),
                },
            };
            let cell = Cell { seen: happened.seen, executed: happened.executed, end };
            let mut complain = |what: String| {
                let (name, strikes) = (row.name, row.strikes);
                writeln!(wrong, "{name}, {strikes:?}, {effect:?}: {what}").unwrap();
            };
            if cell != row.cell(effect) {
                let expected = row.cell(effect);
                complain(format!("{cell:?}\n  instead of {expected:?}"));
            }
            // If the job exists, it was created exactly once and returned to the caller; otherwise
            // the caller received no job.
            if effect == Effect::Create {
                let reported = usize::from(happened.result.is_ok());
                if (happened.made, happened.executed) != (reported, reported) {
                    complain(format!(
                        "made {}, executed {}, reported {reported}",
                        happened.made, happened.executed
                    ));
                }
            }
            if let Ok(name) = &happened.result {
                let expected = if effect == Effect::Create { "new" } else { "old" };
                assert_eq!(name, expected);
            }
            let pauses: Vec<_> = happened.pauses.iter().map(Duration::as_secs_f64).collect();
            if let Some(seconds) = &row.pauses {
                let seconds: Vec<_> = seconds.iter().map(|s| Duration::from_secs(*s)).collect();
                if happened.pauses != seconds {
                    complain(format!("paused for {pauses:?} instead of {seconds:?}"));
                }
            } else if effect != Effect::Create {
                // The pauses have full jitter, the maximum pause doubles, and each retry follows
                // one pause.
                let refused = match row.fault {
                    Fault::Refused if row.strikes == OnceBefore => 1,
                    Fault::Refused => 5,
                    _ => 0,
                };
                let expected = (happened.seen + refused).saturating_sub(1);
                let ceilings = [0.2, 0.4, 0.8, 1.6];
                if pauses.len() != expected || pauses.iter().zip(ceilings).any(|(p, c)| *p > c) {
                    complain(format!("paused for {pauses:?}, not {expected} times"));
                }
            }
            if happened.led_astray > 0 {
                complain("the redirect was followed".to_owned());
            }
            if let Fault::Flood(status, size) = row.fault
                && status != "200 OK"
            {
                assert!(happened.flooded > 0);
                if happened.flooded >= size {
                    complain("all of the body was read".to_owned());
                }
                let uncut = happened.printed.contains(&"x".repeat(2049));
                let lost = match &happened.result {
                    Ok(_) => false,
                    Err(error) => !error.to_string().contains(&"x".repeat(2048)),
                };
                if uncut || lost {
                    complain("the error is not the beginning of the body".to_owned());
                }
            }
            if row.who == Who::Token && happened.tokens != 2 {
                complain(format!("{} tokens", happened.tokens));
            }
            check_second_chance(row, &happened);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Checks the credentials of the requests that follow a rejection.
fn check_second_chance(row: &Row, happened: &Happened) {
    if row.fault == EXPIRED && row.who == Who::Token {
        let tokens = header(&happened.requests, "x-auth-token");
        assert_eq!(tokens, [format!("{TOKEN}-1"), format!("{TOKEN}-2")]);
    }
    if row.fault == CLOCK {
        let dates = header(&happened.requests, "x-sdk-date");
        assert_eq!(dates, ["20260115T083045Z", "20260115T093045Z"]);
        if let Err(error) = &happened.result {
            let text = error.to_string();
            assert!(text.contains("server time:20260115T093045Z"), "{text}");
        }
    }
    if let Err(error) = &happened.result
        && [EXPIRED, CLOCK, SIGNATURE].contains(&row.fault)
    {
        assert!(error.is_auth() && !error.is_retryable(), "{error}");
    }
}

#[tokio::test]
async fn no_row_shows_a_secret() {
    if !run_alone("fault_matrix::no_row_shows_a_secret") {
        return;
    }
    let log = CapturedLog::start();
    let mut printed = String::new();
    let mut requests = Vec::new();
    for credentials in [Credentials::keys(ACCESS_KEY, SECRET_KEY), Credentials::token(TOKEN)] {
        print(&mut printed, &credentials);
    }
    let mut errors = 0;
    for row in &table() {
        for effect in EFFECTS {
            for who in [Who::Keys, Who::Token] {
                let happened = run(row, effect, who).await;
                printed.push_str(&happened.printed);
                requests.extend(happened.requests);
                errors += usize::from(happened.result.is_err());
            }
        }
    }
    assert!(errors > 100, "{errors}");

    // The requests must have contained the secrets.
    assert!(header(&requests, "x-security-token").contains(&SECURITY_TOKEN.to_owned()));
    let signed = header(&requests, "authorization");
    assert!(signed.iter().all(|value| value.contains(ACCESS_KEY)));
    assert!(header(&requests, "x-auth-token").contains(&format!("{TOKEN}-1")));
    assert!(requests.iter().any(|request| request.contains(ENVIRONMENT)));
    assert!(requests.iter().all(|request| !request.contains(SECRET_KEY)));
    let signatures: Vec<_> =
        signed.iter().map(|value| value.split_once("Signature=").unwrap().1.to_owned()).collect();
    assert!(signatures.len() > 100, "{}", signatures.len());
    let logged = log.text();
    for expected in ["operation=\"CreateTrainingJob\"", "sending again", "TRACE"] {
        assert!(logged.contains(expected), "{expected}");
    }

    let mut shown = String::new();
    for (place, text) in [("printed", &printed), ("logged", &logged)] {
        for line in text.lines().filter(|line| line.contains("-hidden-")) {
            writeln!(shown, "{place}: {line}").unwrap();
        }
        for signature in &signatures {
            assert_eq!(signature.len(), 64);
            if text.contains(signature) {
                writeln!(shown, "{place}: the signature {signature}").unwrap();
            }
        }
    }
    assert!(shown.is_empty(), "{shown}");
}
