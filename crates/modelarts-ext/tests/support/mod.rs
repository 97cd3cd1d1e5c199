//! Helpers of both test programs: clocks, an emulator and scripted servers.

pub(crate) mod clock;
pub(crate) mod create_job;
pub(crate) mod environment;
pub(crate) mod errors;
pub(crate) mod fake_server;
pub(crate) mod faults;
pub(crate) mod network;
pub(crate) mod rule_cases;
pub(crate) mod script_barrier;
pub(crate) mod scripted_list;
pub(crate) mod secrets;
pub(crate) mod server;
pub(crate) mod simulated_site;
pub(crate) mod site;
