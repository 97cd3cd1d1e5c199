//! `JobRow`: a job in the list.

use std::{
    hash::{Hash, Hasher},
    time::SystemTime,
};

use modelarts_ext::{Job, Timestamp};

use crate::{action::can_stop, display};

/// A job in the list.
#[derive(Default)]
pub(crate) struct JobRow {
    pub(crate) id: String,
    /// Name, or the id of a job without one.
    pub(crate) name: String,
    pub(crate) phase: String,
    /// Class of the style sheet, and symbol of the phase.
    pub(crate) style: &'static str,
    pub(crate) symbol: &'static str,
    /// `true` if the job can be stopped.
    pub(crate) can_stop: bool,
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
        let resource = details.spec.as_deref().and_then(|spec| spec.resource.as_deref());
        let metadata = details.metadata.as_deref();
        let phase = job.phase();
        let (style, symbol) = display::phase_style(&phase);
        let created = job.created_at();
        let age = created.map(|created| Timestamp::from(now).duration_since(created));
        let place = resource
            .and_then(|resource| resource.pool_id.clone().or_else(|| resource.flavor_id.clone()));
        Self {
            id: job.id().to_owned(),
            name: display::name(job).to_owned(),
            can_stop: can_stop(job),
            phase: phase.to_string(),
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
            user: metadata.and_then(|metadata| metadata.user_name.clone()).unwrap_or_default(),
        }
    }
}

/// Includes all fields but the age, which changes without a change of the job.
impl Hash for JobRow {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self {
            id,
            name,
            phase,
            style: _,
            symbol: _,
            can_stop: _,
            why,
            created,
            age: _,
            ran,
            nodes,
            flavor,
            user,
        } = self;
        for field in [id, name, phase, why, created, ran, nodes, flavor, user] {
            field.hash(state);
        }
    }
}
