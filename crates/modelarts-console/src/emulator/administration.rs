//! `Administration`: the control routes of an emulator.

use modelarts_ext::Client;

/// The control routes of an emulator on this machine.
pub(crate) struct Administration {}

impl Administration {
    /// Returns the control routes if the service is an emulator on this machine.
    pub(crate) async fn find(_: &Client) -> Option<Self> {
        None
    }
}
