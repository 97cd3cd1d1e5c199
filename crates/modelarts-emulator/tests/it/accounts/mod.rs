//! Users, tokens, keys and signatures.

mod logins;
mod signing;
