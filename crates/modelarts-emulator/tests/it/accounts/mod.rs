//! Tests of users, tokens, access keys and signatures.

mod identity;
mod logins;
mod signing;
