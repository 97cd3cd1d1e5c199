//! Tests of users, tokens, access keys and signatures.

mod logins;
mod signing;
