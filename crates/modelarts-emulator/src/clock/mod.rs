//! The clock that everything in the emulator asks, so that tests never sleep.
//!
//! [`Clock`] is passed in: [`SystemClock`] in use, [`ManualClock`] in tests.
//! [`idle`] finds the moment at which a manual clock may go on, [`timestamp`] has the service's
//! precision and forms, and [`timing`] the delays of the service.

pub(crate) mod idle;
pub(crate) mod manual;
pub(crate) mod system;
pub(crate) mod timestamp;
pub(crate) mod timing;

pub use crate::clock::{
    manual::ManualClock,
    system::{Clock, Sleep, SystemClock},
};
