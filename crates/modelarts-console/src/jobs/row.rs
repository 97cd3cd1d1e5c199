//! `JobRow`: a job in the list.

use std::time::SystemTime;

use modelarts_ext::{Job, Timestamp};

use crate::display;

/// A job in the list.
pub(crate) struct JobRow {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) phase: String,
    /// Class of the style sheet, and symbol of the phase.
    pub(crate) style: &'static str,
    pub(crate) symbol: &'static str,
    /// Reason of the phase, from the facts of the list.
    pub(crate) why: String,
    /// Time of the creation, RFC 3339.
    pub(crate) created: String,
    pub(crate) age: String,
    pub(crate) ran: String,
    pub(crate) nodes: String,
    pub(crate) flavor: String,
    pub(crate) user: String,
}

impl JobRow {
    pub(crate) fn new(job: &Job, now: SystemTime) -> Self {
        let details = job.details();
        let resource = details
            .spec
            .as_deref()
            .and_then(|spec| spec.resource.as_deref());
        let metadata = details.metadata.as_deref();
        let (style, symbol) = display::phase_style(&job.phase());
        let created = job.created_at();
        let age = created.map(|created| Timestamp::from(now).duration_since(created));
        let place = resource.and_then(|resource| {
            resource
                .pool_id
                .clone()
                .or_else(|| resource.flavor_id.clone())
        });
        Self {
            id: job.id().to_owned(),
            name: job.name().to_owned(),
            phase: job.phase().to_string(),
            style,
            symbol,
            why: job.status_reason().unwrap_or_default(),
            created: created.map(|time| time.to_string()).unwrap_or_default(),
            age: age.map(display::duration).unwrap_or_default(),
            ran: job.time_run().map(display::duration).unwrap_or_default(),
            nodes: resource
                .and_then(|resource| resource.node_count)
                .map(|nodes| nodes.to_string())
                .unwrap_or_default(),
            flavor: place.unwrap_or_default(),
            user: metadata
                .and_then(|metadata| metadata.user_name.clone())
                .unwrap_or_default(),
        }
    }
}
