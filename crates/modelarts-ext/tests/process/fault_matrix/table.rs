//! Rows of the fault matrix.

use modelarts_ext::ErrorKind;

use super::{
    constants::{FLOOD, JSON, TOO_LONG},
    row::{
        Cell, Fault, Row,
        Strikes::{AlwaysAfter, AlwaysBefore, OnceAfter, OnceBefore},
        Who, done, fails, row,
    },
};

pub(super) const HTML: Fault = Fault::Answer(
    "502 Bad Gateway",
    "content-type: text/html\r\n",
    "<html><head><title>502 Bad Gateway</title></head></html>",
);

pub(super) const EMPTY: Fault = Fault::Answer("500 Internal Server Error", "", "");
pub(super) const BUSY: &str =
    r#"{"error_code":"ModelArts.2799","error_msg":"services too many requests"}"#;
pub(super) const SECONDS: Fault =
    Fault::Answer("429 Too Many Requests", "retry-after: 7\r\n", BUSY);
/// Response with a date in `Retry-After`, seven seconds after the start of the clock.
pub(super) const DATE: Fault = Fault::Answer(
    "429 Too Many Requests",
    "retry-after: Thu, 15 Jan 2026 08:30:52 GMT\r\n",
    BUSY,
);

pub(super) const NO_WORD: Fault = Fault::Answer("429 Too Many Requests", "", BUSY);
pub(super) const UNAVAILABLE: Fault = Fault::Answer("503 Service Unavailable", "", "{}");
/// Rejection that echoes the canonical request, including the security token.
pub(super) const SIGNATURE: Fault = Fault::Answer(
    "401 Unauthorized",
    "",
    r#"{"error_code":"APIGW.0301","error_msg":"Incorrect IAM authentication information: verify aksk signature fail, canonicalRequest:GET|/|x-security-token:st-hidden-2|x|"}"#,
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
    r#"{"error_code":"APIGW.0301","error_msg":"Incorrect IAM authentication information: calc aksk signature fail:signature expired, signature time:20260115T083045Z,server time:20260115T093045Z"}"#,
);

pub(super) const NOTHING: Fault = Fault::Answer("204 No Content", "", "");
pub(super) const ACCEPTED: Fault = Fault::Answer("202 Accepted", "", "");
pub(super) const UNIMPLEMENTED: Fault = Fault::Answer("501 Not Implemented", "", "{}");
pub(super) const CONNECTION_5: Cell = fails(5, 0, ErrorKind::Connection, None, 5);
pub(super) const CONNECTION_5_EXECUTED: Cell = fails(5, 5, ErrorKind::Connection, None, 5);
/// The first stop request is executed, but its response is lost; the service rejects all later stop
/// requests.
pub(super) const CONNECTION_5_STOPPED: Cell = fails(5, 1, ErrorKind::Connection, None, 5);
pub(super) const LATE: Cell = fails(1, 0, ErrorKind::Timeout, None, 1);
pub(super) const LATE_EXECUTED: Cell = fails(1, 1, ErrorKind::Timeout, None, 1);

pub(super) const fn service(seen: usize, executed: usize, status: u16, attempts: u32) -> Cell {
    fails(seen, executed, ErrorKind::Service, Some(status), attempts)
}

/// Returns the expected result after five attempts that each received this status.
pub(super) const fn service_5(executed: usize, status: u16) -> Cell {
    service(5, executed, status, 5)
}

/// Returns the expected result for a response that cannot be decoded.
pub(super) const fn garbled(executed: usize, status: u16) -> Cell {
    fails(1, executed, ErrorKind::Decode, Some(status), 1)
}

pub(super) const fn redirected(status: u16) -> Cell {
    fails(1, 0, ErrorKind::Unexpected, Some(status), 1)
}

pub(super) const fn not_ready(executed: usize) -> Cell {
    fails(1, executed, ErrorKind::NotReady, Some(204), 1)
}

/// The fault of each row, with the expected results for a read, a stop and a create request.
#[rustfmt::skip]
pub(super) const TABLE: &[Row] = &[
    row("connection refused", Fault::Refused, OnceBefore, done(1, 1), done(1, 1), done(1, 1)),
    row("connection refused", Fault::Refused, AlwaysBefore,
        fails(0, 0, ErrorKind::Connection, None, 5),
        fails(0, 0, ErrorKind::Connection, None, 5),
        fails(0, 0, ErrorKind::Connection, None, 5)),

    row("reset before the answer", Fault::Reset, OnceBefore, done(2, 1), done(2, 1), done(2, 1)),
    row("reset before the answer", Fault::Reset, OnceAfter, done(2, 2), done(2, 1), done(1, 1)),
    row("reset before the answer", Fault::Reset, AlwaysBefore,
        CONNECTION_5, CONNECTION_5, fails(5, 0, ErrorKind::Connection, None, 1)),
    row("reset before the answer", Fault::Reset, AlwaysAfter,
        CONNECTION_5_EXECUTED, CONNECTION_5_STOPPED, done(1, 1)),

    row("reset in the answer", Fault::ResetMidway, OnceBefore, done(2, 1), done(2, 1), done(2, 1)),
    row("reset in the answer", Fault::ResetMidway, OnceAfter, done(2, 2), done(2, 1), done(1, 1)),
    row("reset in the answer", Fault::ResetMidway, AlwaysBefore,
        CONNECTION_5, CONNECTION_5, fails(5, 0, ErrorKind::Connection, None, 1)),
    row("reset in the answer", Fault::ResetMidway, AlwaysAfter,
        CONNECTION_5_EXECUTED, CONNECTION_5_STOPPED, done(1, 1)),

    // The first call may take an hour, so it is not repeated; for a create request, the client
    // searches for the job.
    row("slow body", Fault::Slow, AlwaysBefore, LATE, LATE, LATE),
    row("slow body", Fault::Slow, AlwaysAfter, LATE_EXECUTED, LATE_EXECUTED, done(1, 1)),
    row("timeout", Fault::Silent, AlwaysBefore, LATE, LATE, LATE),
    row("timeout", Fault::Silent, AlwaysAfter, LATE_EXECUTED, LATE_EXECUTED, done(1, 1)),

    row("truncated JSON", Fault::Cut, OnceBefore, garbled(0, 200), garbled(0, 200), done(2, 1)),
    row("truncated JSON", Fault::Cut, AlwaysAfter, garbled(1, 200), garbled(1, 200), done(1, 1)),

    row("HTML 502", HTML, OnceBefore, done(2, 1), done(2, 1), done(2, 1)),
    row("HTML 502", HTML, OnceAfter, done(2, 2), done(2, 1), done(1, 1)),
    row("HTML 502", HTML, AlwaysBefore, service_5(0, 502), service_5(0, 502), service(5, 0, 502, 1)),
    row("HTML 502", HTML, AlwaysAfter, service_5(5, 502), service_5(1, 502), done(1, 1)),

    row("empty 500", EMPTY, OnceBefore, done(2, 1), done(2, 1), done(2, 1)),
    row("empty 500", EMPTY, OnceAfter, done(2, 2), done(2, 1), done(1, 1)),
    row("empty 500", EMPTY, AlwaysBefore, service_5(0, 500), service_5(0, 500), service(5, 0, 500, 1)),
    row("empty 500", EMPTY, AlwaysAfter, service_5(5, 500), service_5(1, 500), done(1, 1)),

    // The gateway rejects requests before they reach the service, so create requests are repeated
    // as well.
    row("429 with seconds", SECONDS, OnceBefore, done(2, 1), done(2, 1), done(2, 1)).pausing(&[7]),
    row("429 with seconds", SECONDS, AlwaysBefore, service_5(0, 429), service_5(0, 429), service_5(0, 429))
        .pausing(&[7, 7, 7, 7]),
    row("429 with a date", DATE, OnceBefore, done(2, 1), done(2, 1), done(2, 1)).pausing(&[7]),
    row("429 without a word", NO_WORD, OnceBefore, done(2, 1), done(2, 1), done(2, 1)),
    row("429 without a word", NO_WORD, AlwaysBefore, service_5(0, 429), service_5(0, 429), service_5(0, 429)),

    row("503", UNAVAILABLE, OnceBefore, done(2, 1), done(2, 1), done(2, 1)),
    row("503", UNAVAILABLE, OnceAfter, done(2, 2), done(2, 1), done(1, 1)),
    row("503", UNAVAILABLE, AlwaysBefore, service_5(0, 503), service_5(0, 503), service(5, 0, 503, 1)),
    row("503", UNAVAILABLE, AlwaysAfter, service_5(5, 503), service_5(1, 503), done(1, 1)),

    row("401 for the signature", SIGNATURE, AlwaysBefore,
        service(1, 0, 401, 1), service(1, 0, 401, 1), service(1, 0, 401, 1)).pausing(&[]),
    // The client renews the token once, without a pause.
    row("401 for the token", EXPIRED, OnceBefore, done(2, 1), done(2, 1), done(2, 1))
        .by(Who::Token).pausing(&[]),
    row("401 for the token", EXPIRED, AlwaysBefore,
        service(2, 0, 401, 2), service(2, 0, 401, 2), service(2, 0, 401, 2))
        .by(Who::Token).pausing(&[]),
    // These keys cannot be renewed.
    row("401 for the token", EXPIRED, AlwaysBefore,
        service(1, 0, 401, 1), service(1, 0, 401, 1), service(1, 0, 401, 1)).pausing(&[]),
    row("401 for the clock", CLOCK, OnceBefore, done(2, 1), done(2, 1), done(2, 1)).pausing(&[]),
    row("401 for the clock", CLOCK, AlwaysBefore,
        service(2, 0, 401, 2), service(2, 0, 401, 2), service(2, 0, 401, 2)).pausing(&[]),

    row("redirect", Fault::Redirect("302 Found"), AlwaysBefore,
        redirected(302), redirected(302), redirected(302)),
    row("redirect", Fault::Redirect("307 Temporary Redirect"), AlwaysBefore,
        redirected(307), redirected(307), redirected(307)),

    row("204", NOTHING, OnceBefore, not_ready(0), not_ready(0), done(2, 1)),
    row("204", NOTHING, AlwaysAfter, not_ready(1), not_ready(1), done(1, 1)),

    row("wrong content type", Fault::Good("200 OK", "text/html"), AlwaysAfter,
        done(1, 1), done(1, 1), done(1, 1)).pausing(&[]),

    row("400 of 50 MB", Fault::Flood("400 Bad Request", FLOOD), AlwaysBefore,
        service(1, 0, 400, 1), service(1, 0, 400, 1), service(1, 0, 400, 1)),
    row("500 of 50 MB", Fault::Flood("500 Internal Server Error", FLOOD), OnceBefore,
        done(2, 1), done(2, 1), done(2, 1)),
    row("500 of 50 MB", Fault::Flood("500 Internal Server Error", FLOOD), OnceAfter,
        done(2, 2), done(2, 1), done(1, 1)),
    row("500 of 50 MB", Fault::Flood("500 Internal Server Error", FLOOD), AlwaysBefore,
        service_5(0, 500), service_5(0, 500), service(5, 0, 500, 1)),

    row("undocumented 206", Fault::Good("206 Partial Content", JSON), AlwaysAfter,
        done(1, 1), done(1, 1), done(1, 1)).pausing(&[]),
    row("undocumented 299", Fault::Good("299 Fine", JSON), AlwaysAfter,
        done(1, 1), done(1, 1), done(1, 1)).pausing(&[]),
    row("202 and no body", ACCEPTED, OnceBefore, garbled(0, 202), garbled(0, 202), done(2, 1)),
    row("202 and no body", ACCEPTED, AlwaysAfter, garbled(1, 202), garbled(1, 202), done(1, 1)),

    row("200 of 65 MB", Fault::Flood("200 OK", TOO_LONG), AlwaysAfter,
        fails(1, 1, ErrorKind::Unexpected, Some(200), 1),
        fails(1, 1, ErrorKind::Unexpected, Some(200), 1), done(1, 1)),

    // The three searches after the first create request find nothing; the second create request is
    // a duplicate.
    row("lost and listed late", Fault::Reset, OnceAfter, done(2, 2), done(2, 1), done(2, 1)).unlisted(3),
    // The second create request is rejected for another reason, although the first was executed.
    row("lost and listed late, then 429", Fault::Reset, OnceAfter,
        service_5(1, 429), service_5(1, 429), done(6, 1)).unlisted(3).then(NO_WORD),

    row("lost in a workspace", Fault::Reset, OnceAfter, done(2, 2), done(2, 1), done(1, 1)).workspace("w"),

    row("501", UNIMPLEMENTED, AlwaysBefore,
        service(1, 0, 501, 1), service(1, 0, 501, 1), service(1, 0, 501, 1)).pausing(&[]),
];
