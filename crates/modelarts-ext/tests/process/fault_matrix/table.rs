//! Rows of the fault matrix.

use modelarts_ext::ErrorKind;

use super::{
    constants::{FLOOD, JSON, TOO_LONG},
    row::{
        Cell, End, Fault, Row,
        Strikes::{AlwaysAfter, AlwaysBefore, OnceAfter, OnceBefore},
        Who,
    },
};

const HTML: Fault = Fault::Answer(
    "502 Bad Gateway",
    "content-type: text/html\r\n",
    "<html><head><title>502 Bad Gateway</title></head></html>",
);

const EMPTY: Fault = Fault::Answer("500 Internal Server Error", "", "");
const BUSY: &str = r#"{"error_code":"ModelArts.2799","error_msg":"services too many requests"}"#;
const SECONDS: Fault = Fault::Answer("429 Too Many Requests", "retry-after: 7\r\n", BUSY);
/// Response with a date in `Retry-After`, seven seconds after the start of the clock.
const DATE: Fault =
    Fault::Answer("429 Too Many Requests", "retry-after: Thu, 15 Jan 2026 08:30:52 GMT\r\n", BUSY);

const NO_WORD: Fault = Fault::Answer("429 Too Many Requests", "", BUSY);
const UNAVAILABLE: Fault = Fault::Answer("503 Service Unavailable", "", "{}");
/// Rejection that echoes the canonical request, including the security token.
pub(super) const SIGNATURE: Fault = Fault::Answer(
    "401 Unauthorized",
    "",
    "{\"error_code\":\"APIGW.0301\",\"error_msg\":\"Incorrect IAM authentication information: \
     verify aksk signature fail, canonicalRequest:GET|/|x-security-token:st-hidden-2|x|\"}",
);

pub(super) const EXPIRED: Fault = Fault::Answer(
    "401 Unauthorized",
    "",
    r#"{"error_code":"APIGW.0307","error_msg":"The token must be updated"}"#,
);

/// Rejection by a gateway whose clock is an hour ahead.
pub(super) const CLOCK: Fault = Fault::Answer(
    "401 Unauthorized",
    "",
    "{\"error_code\":\"APIGW.0301\",\"error_msg\":\"Incorrect IAM authentication information: calc \
     aksk signature fail:signature expired, signature time:20260115T083045Z,server \
     time:20260115T093045Z\"}",
);

const NOTHING: Fault = Fault::Answer("204 No Content", "", "");
const ACCEPTED: Fault = Fault::Answer("202 Accepted", "", "");
const UNIMPLEMENTED: Fault = Fault::Answer("501 Not Implemented", "", "{}");

/// Returns the fault with this name.
fn fault(name: &str) -> Fault {
    match name {
        "refused" => Fault::Refused,
        "reset" => Fault::Reset,
        "reset midway" => Fault::ResetMidway,
        "slow" => Fault::Slow,
        "silent" => Fault::Silent,
        "cut" => Fault::Cut,
        "html" => HTML,
        "empty" => EMPTY,
        "seconds" => SECONDS,
        "date" => DATE,
        "no word" => NO_WORD,
        "unavailable" => UNAVAILABLE,
        "signature" => SIGNATURE,
        "expired" => EXPIRED,
        "clock" => CLOCK,
        "nothing" => NOTHING,
        "accepted" => ACCEPTED,
        "unimplemented" => UNIMPLEMENTED,
        "redirect 302" => Fault::Redirect("302 Found"),
        "redirect 307" => Fault::Redirect("307 Temporary Redirect"),
        "good as html" => Fault::Good("200 OK", "text/html"),
        "good 206" => Fault::Good("206 Partial Content", JSON),
        "good 299" => Fault::Good("299 Fine", JSON),
        "flood 200" => Fault::Flood("200 OK", TOO_LONG),
        "flood 400" => Fault::Flood("400 Bad Request", FLOOD),
        "flood 500" => Fault::Flood("500 Internal Server Error", FLOOD),
        other => panic!("no fault is named {other:?}"),
    }
}

/// Reads an expected result, such as `2/1` or `5/0 Service 503 x5`.
fn cell(text: &str) -> Cell {
    let mut words = text.split(' ');
    let (seen, executed) = words.next().unwrap().split_once('/').unwrap();
    let end = match words.next() {
        None => End::Done,
        Some(kind) => {
            let kinds = [
                ErrorKind::Connection,
                ErrorKind::Timeout,
                ErrorKind::Service,
                ErrorKind::NotReady,
                ErrorKind::Decode,
                ErrorKind::Unexpected,
            ];
            let mut kinds = kinds.into_iter();
            let attempts = words.next_back().unwrap().strip_prefix('x').unwrap();
            End::Fails {
                kind: kinds.find(|known| format!("{known:?}") == kind).unwrap(),
                status: words.next().map(|status| status.parse().unwrap()),
                attempts: attempts.parse().unwrap(),
            }
        }
    };
    Cell { seen: seen.parse().unwrap(), executed: executed.parse().unwrap(), end }
}

fn row(line: &'static str) -> Row {
    let mut cells = line.split('|').map(str::trim);
    let mut next = || cells.next().unwrap();
    let mut row = Row {
        name: next(),
        who: Who::Keys,
        fault: fault(next()),
        strikes: match next() {
            "once before" => OnceBefore,
            "once after" => OnceAfter,
            "always before" => AlwaysBefore,
            "always after" => AlwaysAfter,
            other => panic!("{other}"),
        },
        then: None,
        workspace: None,
        unlisted: 0,
        read: cell(next()),
        stop: cell(next()),
        create: cell(next()),
        pauses: None,
    };
    for option in cells.next().into_iter().flat_map(|options| options.split(", ")) {
        match option.split_once(' ').unwrap() {
            ("by", "token") => row.who = Who::Token,
            ("then", name) => row.then = Some(fault(name)),
            ("unlisted", searches) => row.unlisted = searches.parse().unwrap(),
            ("workspace", name) => row.workspace = Some(name),
            ("pauses", "none") => row.pauses = Some(Vec::new()),
            ("pauses", seconds) => {
                let seconds = seconds.split(' ').map(|text| text.parse().unwrap());
                row.pauses = Some(seconds.collect());
            }
            other => panic!("{other:?}"),
        }
    }
    row
}

/// Returns the rows of the matrix.
pub(super) fn table() -> Vec<Row> {
    let lines = include_str!("../../cases/fault_matrix.txt").lines();
    let rows = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(row).collect()
}
