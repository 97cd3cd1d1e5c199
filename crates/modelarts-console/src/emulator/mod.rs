//! Control of the emulator: clock, faults, requests.

mod drawer;
mod faults;

pub(crate) use drawer::routes;
