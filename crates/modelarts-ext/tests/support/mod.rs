//! What the tests share: a clock, the emulator, servers that answer by a script.

#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "each test program uses a part of it; helpers of tests fail by panicking"
)]

mod child;
mod clock;
mod gate;
pub(crate) mod network;
mod server;
mod site;

pub(crate) use child::{child, is_child};
pub(crate) use clock::TestClock;
pub(crate) use gate::Gate;
pub(crate) use server::{PROJECT, Reply, Server, json_answer, read_request, words_for_a_reset};
pub(crate) use site::Site;

use modelarts_ext::Error;

/// What a user sees, with what differs from run to run replaced.
pub(crate) fn message(error: &Error) -> String {
    let text = error.to_string();
    match error.request_id() {
        Some(id) => text.replace(id, "REQUEST"),
        None => text,
    }
}

/// `expect_err` without `Debug` of what is there instead.
pub(crate) fn refused<T>(result: Result<T, Error>) -> Error {
    match result {
        Ok(_) => panic!("that should have been refused"),
        Err(error) => error,
    }
}
