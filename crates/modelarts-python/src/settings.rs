//! `Settings`: the settings of a client that its jobs and requests share.

use modelarts_obs::Staging;

/// Settings of a client that its jobs share.
pub(crate) struct Settings {
    pub(crate) client: modelarts_ext::Client,
    pub(crate) staging: Staging,
    /// Flavor and pool of jobs that name neither.
    pub(crate) flavor: Option<String>,
    pub(crate) pool: Option<String>,
}
