//! The SDK for ModelArts training management.

mod auth;
mod client;
mod clock;
mod create;
mod error;
mod events;
mod filter;
mod job;
mod list;
mod logs;
mod mismatch;
mod page;
mod patience;
mod record;
mod region;
mod retry;
mod sign;
mod tail;
mod tls;
mod transport;
mod wait;

pub use auth::{Credentials, ProvideCredentials};
pub use client::{Answer, Client, ClientBuilder};
pub use clock::{Clock, SystemClock};
pub use create::CreateJob;
pub use error::{Error, ErrorKind};
pub use events::{Event, Events};
pub use filter::{Between, Filter, Like, OneOf};
pub use job::{Job, TrainingJobs};
pub use list::ListJobs;
pub use logs::{LogItem, Logs};
pub use modelarts_api::{self as api, lenient::Dropped, types};
pub use page::{Page, Results};
pub use retry::RetryPolicy;
pub use wait::{Observation, Outcome, TerminatedBy, Wait, Waited};
