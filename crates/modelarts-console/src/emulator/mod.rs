//! Control of the emulator: clock, faults, requests.

pub(crate) mod administration;
mod drawer;
mod faults;

pub(crate) use drawer::routes;
