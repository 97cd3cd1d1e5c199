//! Page with the clock, the faults and the requests of an emulator.

mod faults;

use std::{collections::BTreeMap, time::Duration};

use askama::Template;
use axum::{
    Router,
    extract::State as Shared,
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use modelarts_ext::api::{Effect, OPERATIONS};
use serde_json::{Value, json};

use crate::{
    access::visitor::{Fields, Visitor},
    administration::{Administration, ReceivedRequest, RequestCount},
    emulator::faults::{KINDS, Kind, MEMBERS, Member, RuleRow},
    page::{Layout, Page, Section},
    problem::Problem,
    site::{State, UserRequest},
};

const PAGE: &str = "/emulator";
/// Maximum step of the clock in seconds (ten years), as in the emulator.
const MAX_ADVANCE: f64 = 315_360_000.0;
const MAX_REQUESTS: usize = 50;
/// Prefixes of the names of OBS operations that change nothing.
const OBS_READS: [&str; 3] = ["obs.Get", "obs.Head", "obs.List"];

/// Units for a step of the clock, and their lengths in seconds.
const UNITS: [(&str, f64); 4] =
    [("seconds", 1.0), ("minutes", 60.0), ("hours", 3_600.0), ("days", 86_400.0)];

#[derive(Template)]
#[template(path = "emulator/drawer.html")]
struct DrawerPage {
    layout: Layout,
    now: String,
    is_manual: bool,
    units: [(&'static str, f64); 4],
    rules: Vec<RuleRow>,
    kinds: &'static [Kind],
    members: &'static [Member],
    /// Submitted values of the form for a fault rule.
    form: Fields,
    /// Section in which a change was rejected, and the reason.
    problem: Option<(&'static str, String)>,
    operations: Vec<String>,
    filter: RequestFilter,
    requests: Vec<ReceivedRequest>,
    counts: Vec<(String, u64, u64)>,
}

impl DrawerPage {
    /// Returns the value of a field of the form for a fault rule.
    fn value(&self, name: &str) -> &str {
        self.form.get(name).unwrap_or_default()
    }

    /// Returns the reason why a change in this section was rejected.
    fn problem_in(&self, section: &str) -> Option<&str> {
        let problem = self.problem.as_ref().filter(|(known, _)| *known == section);
        problem.map(|(_, reason)| reason.as_str())
    }
}

struct RequestFilter {
    /// Name of the operation; empty for all operations.
    operation: String,
    /// `true` if only requests that change something are shown.
    changes: bool,
}

impl RequestFilter {
    fn new(fields: &Fields) -> Self {
        Self {
            operation: fields.get("operation").unwrap_or_default().to_owned(),
            changes: fields.get("changes").is_some(),
        }
    }

    fn matches(&self, request: &ReceivedRequest) -> bool {
        let name = request.operation.as_str();
        (self.operation.is_empty() || self.operation == name) && !(self.changes && is_read(name))
    }
}

fn is_read(name: &str) -> bool {
    match OPERATIONS.iter().find(|operation| operation.id == name) {
        Some(operation) => operation.effect == Effect::Read,
        None => OBS_READS.iter().any(|start| name.starts_with(start)),
    }
}

pub(crate) fn routes() -> Router<State> {
    Router::new()
        .route(PAGE, get(show))
        .route("/emulator/clock", post(advance))
        .route("/emulator/faults", post(add_fault))
        .route("/emulator/faults/clear", post(clear_faults))
        .route("/emulator/reset", post(reset))
}

/// Returns the control routes. Returns an error if the service is not an emulator.
fn administration(state: &State) -> Result<&Administration, Problem> {
    state
        .emulator
        .as_ref()
        .ok_or_else(|| Problem::not_found("the service is not an emulator on this machine"))
}

async fn show(request: UserRequest) -> Result<Response, Problem> {
    let UserRequest { state, visitor, fields } = request;
    let page = load(&state, &visitor, RequestFilter::new(&fields)).await?;
    Ok(Page(page).into_response())
}

async fn load(
    state: &State,
    visitor: &Visitor,
    filter: RequestFilter,
) -> Result<DrawerPage, Problem> {
    let emulator = administration(state)?;
    let clock = emulator.clock().await?;
    let rules: Vec<Value> = emulator.read("faults").await?;
    let counts: BTreeMap<String, RequestCount> = emulator.read("requests").await?;
    let requests: Vec<ReceivedRequest> = emulator.read("requests/last").await?;
    Ok(DrawerPage {
        layout: Layout::new(state, visitor, Section::Emulator, "Emulator"),
        now: clock.now,
        is_manual: clock.manual,
        units: UNITS,
        rules: rules.iter().map(RuleRow::new).collect(),
        kinds: &KINDS,
        members: &MEMBERS,
        form: Fields::default(),
        problem: None,
        requests: requests
            .into_iter()
            .rev()
            .filter(|request| filter.matches(request))
            .take(MAX_REQUESTS)
            .collect(),
        filter,
        operations: counts.keys().cloned().collect(),
        counts: counts
            .into_iter()
            .filter(|(_, count)| count.received > 0)
            .map(|(name, count)| (name, count.received, count.executed))
            .collect(),
    })
}

fn done() -> Response {
    Redirect::to(PAGE).into_response()
}

async fn advance(request: UserRequest) -> Result<Response, Problem> {
    let step = step(&request.fields).map(|step| json!({ "advance_seconds": step.as_secs_f64() }));
    change(request, "clock", step).await
}

async fn add_fault(request: UserRequest) -> Result<Response, Problem> {
    let rule = faults::parse(&request.fields);
    change(request, "faults", rule).await
}

/// Sends the body of a change to the control route of its section. If the change is rejected,
/// renders the page again with the reason and the submitted values.
async fn change(
    UserRequest { state, visitor, fields }: UserRequest,
    section: &'static str,
    body: Result<Value, String>,
) -> Result<Response, Problem> {
    let emulator = administration(&state)?;
    let result = match body {
        Ok(body) => emulator.change("POST", section, Some(&body)).await,
        Err(reason) => Err(Problem::invalid(reason)),
    };
    let Err(problem) = result else {
        return Ok(done());
    };
    let mut page = load(&state, &visitor, RequestFilter::new(&Fields::default())).await?;
    page.form = fields;
    page.problem = Some((section, problem.message));
    Ok((StatusCode::UNPROCESSABLE_ENTITY, Page(page)).into_response())
}

/// Returns the duration of a clock step from the form.
fn step(fields: &Fields) -> Result<Duration, String> {
    let unit = fields.get("unit").unwrap_or("seconds");
    let unit = UNITS.iter().find(|(name, _)| *name == unit);
    let (_, seconds) = unit.ok_or("Unit: it must be seconds, minutes, hours or days")?;
    let amount = fields.get("amount").unwrap_or_default().trim();
    let step = amount.parse::<f64>().ok().map(|amount| amount * seconds);
    let step = step.filter(|step| (0.0..=MAX_ADVANCE).contains(step));
    step.map(Duration::from_secs_f64)
        .ok_or_else(|| format!("Step: it must be a number from 0 to ten years, and is {amount:?}"))
}

async fn clear_faults(Shared(state): Shared<State>) -> Result<Response, Problem> {
    administration(&state)?.change("DELETE", "faults", None).await?;
    Ok(done())
}

async fn reset(Shared(state): Shared<State>) -> Result<Response, Problem> {
    administration(&state)?.change("POST", "reset", None).await?;
    Ok(done())
}
