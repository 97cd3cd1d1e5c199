//! Check of a form, while it is filled in and before the job is created.

use axum::Json;
use modelarts_ext::{
    masking::mask_described,
    validation::{AlgorithmSpec, FlavorSpec},
};
use serde::Serialize;

use crate::{
    choices::Lists,
    create::{
        finding::{Control, Finding},
        form::{DRAFT, Form},
        plan::Plan,
    },
    display,
    drafts::CODE,
    site::{State, UserRequest},
    snippets::Snippets,
};

#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Checked {
    /// Broken rules, because of which the job cannot be created.
    pub(super) errors: Vec<Finding>,
    /// Advice that the job does not follow.
    pub(super) warnings: Vec<Finding>,
    /// Request body with masked secrets. Placeholders stand for the addresses of dropped files and
    /// of new outputs.
    pub(super) body: String,
    /// Command that creates the job, with local directories in place of dropped files.
    pub(super) command: String,
    /// Description of the dropped files, for each slot.
    pub(super) files: Vec<(String, String)>,
    /// At most 100 dropped Python files, which may be boot files.
    pub(super) scripts: Vec<String>,
}

impl Checked {
    /// Returns the number of broken rules as a sentence.
    pub(super) fn state(&self) -> String {
        match self.errors.len() {
            0 => "The job breaks no rule.".to_owned(),
            1 => "1 rule is broken.".to_owned(),
            count => format!("{count} rules are broken."),
        }
    }

    /// Creates the job of a form, and checks it. Sends no request.
    pub(super) fn new(state: &State, form: &Form, lists: &Lists) -> (Plan, Self) {
        let draft = state.drafts.get(form.get(DRAFT));
        let plan = Plan::new(form, &state.client, &state.staging, draft.as_deref());
        let (errors, warnings) = findings(&plan, form, lists);
        let files = draft.as_ref().map(|draft| draft.summary());
        let files = files.unwrap_or_default().into_iter();
        let files = files.map(|(slot, (count, bytes))| {
            let noun = if count == 1 { "file" } else { "files" };
            (slot, format!("{count} {noun}, {}", display::bytes(bytes)))
        });
        let code = draft.and_then(|draft| draft.dropped(CODE));
        let code = code.into_iter().flat_map(|code| code.files);
        let scripts = code.map(|(path, _)| path).filter(|path| path.ends_with(".py"));
        let context = state.settings.context.as_deref();
        let mut body = plan.job.body();
        mask_described(&mut body, &[]);
        let snippets = Snippets::new(&state.client, context, &body);
        let checked = Self {
            errors,
            warnings,
            command: plan.local_command(snippets.command),
            body: snippets.body,
            files: files.collect(),
            scripts: scripts.take(100).collect(),
        };
        (plan, checked)
    }
}

fn findings(plan: &Plan, form: &Form, lists: &Lists) -> (Vec<Finding>, Vec<Finding>) {
    let mut job = plan.job.clone();
    if let Some(flavor) = lists.flavor(form.get("flavor")) {
        job = job.with_flavor_spec(FlavorSpec::from(flavor));
    }
    let body = job.body();
    let algorithm = body["algorithm"]["id"].as_str().unwrap_or_default();
    if let Some(algorithm) = lists.algorithm(algorithm) {
        job = job.with_algorithm_spec(AlgorithmSpec::from(algorithm.clone()));
    }
    let report = job.check();
    let mut errors = plan.findings.clone();
    errors.extend(resource_type(form, lists));
    let mut violations = report.violations;
    for violation in plan.check_code() {
        // The checks of the job and of the code share the rules on the name of the boot file.
        let is_known = violations
            .iter()
            .any(|known| known.field() == violation.field() && known.rule() == violation.rule());
        if !is_known {
            violations.push(violation);
        }
    }
    for violation in &violations {
        // Values that cannot be sent are missing in the body. Other findings already report them.
        let is_unsent = |known: &Finding| known.path == violation.field();
        if !plan.findings.iter().any(is_unsent) {
            let control = plan.controls.find(violation.field());
            errors.push(Finding::of_violation(violation, control));
        }
    }
    let warnings = report.warnings.iter();
    let warnings =
        warnings.map(|warning| Finding::of_warning(warning, plan.controls.find(warning.field())));
    (errors, warnings.collect())
}

/// Returns a finding if the flavor does not have the chosen resource type.
fn resource_type(form: &Form, lists: &Lists) -> Option<Finding> {
    let wanted = form.get("resource_type");
    let flavor = lists.flavor(form.get("flavor"))?;
    let kind = flavor.flavor_type.as_ref()?.to_string();
    let is_wrong = !wanted.is_empty() && !kind.eq_ignore_ascii_case(wanted);
    is_wrong.then(|| {
        let rule = format!("must be of the resource type {wanted}, and is of type {kind}");
        let control = Control::new("flavor", "Specifications");
        Finding::own(&control, &rule, "choose another flavor, or another resource type")
    })
}

/// Returns the findings, the request body and the command of a form. Changes nothing.
pub(super) async fn check(request: UserRequest) -> Json<Checked> {
    let UserRequest { state, fields, .. } = request;
    let form = Form::parse(&fields);
    let lists = state.cached.choices.known_lists(&state.client).await;
    let (_, checked) = Checked::new(&state, &form, &lists);
    Json(checked)
}
