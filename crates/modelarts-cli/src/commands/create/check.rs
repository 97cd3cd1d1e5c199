//! Command `modelarts check`, which validates a job without sending it.

use clap::Args;
use modelarts_ext::{
    Client, ClientBuilder, Credentials, Error,
    error::Violation,
    jobs::create::CodeDir,
    validation::{Report, Warning},
};
use modelarts_obs::{Obs, Staging, sync::Amount};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    commands::{
        create::{
            choices::complete_engine,
            draft::{Draft, path_below},
            flags::JobFlags,
        },
        sync::{LeftOut, left_out_lines},
    },
    exit_status::ExitStatus,
    failure::Failure,
    output::Document,
    progress::amount,
    session::Session,
    state::written,
    terminal::{Emphasis, Terminal},
};

/// Placeholder bucket for code that is checked but not sent.
const UNSENT: &str = "unsent";

#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    job: JobFlags,
    /// Reads the algorithm, the flavor and the engine of the job from the service, and compares the
    /// job with them. Without it, no request is sent, and no account is needed.
    #[arg(long)]
    service: bool,
}

/// Result of a check.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckResult {
    /// `true` if the job breaks no rule.
    ok: bool,
    /// Name of the job.
    job: String,
    /// Broken rules. The job would not be submitted.
    violations: Vec<Finding>,
    /// Advice that the job does not follow.
    warnings: Vec<Finding>,
    /// Values that only the service knows, and that were not compared with it.
    not_compared: Vec<String>,
    /// The code that would be sent, if the job has a local code directory.
    code: Option<CheckedCode>,
}

/// A finding of a check.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Finding {
    /// Path of the field.
    field: String,
    /// Value of the field; null if it is missing, or may be a secret.
    value: Option<Value>,
    /// The rule, or the advice of a warning.
    rule: String,
    /// Error code with which the service refuses such a job.
    code: Option<String>,
    /// Advice on the finding.
    advice: Option<String>,
    /// File with the field.
    file: Option<String>,
    /// Line of the field in the file, from 1.
    line: Option<u64>,
    /// The finding in one line.
    message: String,
}

/// Local code that would be sent.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckedCode {
    /// Number of files.
    files: u64,
    /// Size in bytes.
    bytes: u64,
    /// Number of files and directories that are left out.
    left_out: usize,
    /// These files and directories.
    left_out_paths: Vec<LeftOut>,
}

/// Findings about a draft, and its local code.
pub(crate) struct Checked {
    pub(crate) violations: Vec<Violation>,
    warnings: Vec<Warning>,
    code: Option<CheckedCode>,
}

impl Check {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let offline;
        let client = match self.service {
            true => session.client().await?,
            false => {
                offline = offline_client(session)?;
                &offline
            }
        };
        let base = Draft::base(&self.job, session).await?;
        let context = session.selection.context()?;
        let mut draft = Draft::new(&self.job, base.as_ref(), &client.training_jobs(), context)?;
        let mut not_compared = Vec::new();
        if self.service {
            complete_engine(&mut draft, client).await?;
            draft.job = draft.job.look_up().await?;
            if let [error, ..] = draft.job.unread() {
                return Err(error.clone().into());
            }
        } else {
            not_compared = values_of_service(&draft);
            if draft.needs_engine() {
                // Placeholder for the default engine, which only the service can determine.
                draft.edit(|job| job.preset_image("PyTorch", "default"));
            }
        }
        let checked = check_draft(&draft, client).await?;
        let violations = draft.all_violations(&checked.violations);
        let status = match violations.is_empty() {
            true => ExitStatus::Success,
            false => ExitStatus::Unchecked,
        };
        let violations = violations.iter().map(|violation| {
            let place = draft.line(violation);
            Finding {
                field: violation.field().to_owned(),
                value: violation.value().cloned(),
                rule: violation.rule().to_owned(),
                code: violation.code().map(str::to_owned),
                advice: Some(violation.advice().to_owned()),
                file: place.map(|(file, _)| file.to_owned()),
                line: place.map(|(_, line)| line),
                message: draft.located(violation),
            }
        });
        let warnings = checked.warnings.iter().map(|warning| Finding {
            field: warning.field().to_owned(),
            rule: warning.advice().to_owned(),
            message: warning.to_string(),
            ..Finding::default()
        });
        session.output.document(&CheckResult {
            ok: status == ExitStatus::Success,
            job: draft.name(),
            violations: violations.collect(),
            warnings: warnings.collect(),
            not_compared,
            code: checked.code,
        })?;
        Ok(status)
    }
}

/// Describes the flavor, the engine and the algorithm of a draft, which only the service knows.
fn values_of_service(draft: &Draft) -> Vec<String> {
    let body = draft.job.body();
    let (resource, algorithm) = (&body["spec"]["resource"], &body["algorithm"]);
    let engine = &algorithm["engine"];
    let version = engine["engine_version"].as_str();
    let version = version.map_or_else(String::new, |version| format!(":{version}"));
    let values = [
        ("flavor", &resource["flavor_id"], ""),
        ("engine", &engine["engine_id"], ""),
        ("engine", &engine["engine_name"], version.as_str()),
        ("algorithm", &algorithm["id"], ""),
    ];
    let set = values.into_iter();
    let set = set.filter_map(|(kind, value, end)| Some((kind, value.as_str()?, end)));
    set.filter(|(_, value, _)| !value.is_empty())
        .map(|(kind, value, end)| format!("the {kind} {value}{end}"))
        .collect()
}

/// Returns an error with all violations of the job if the file of the draft has mistakes.
pub(crate) async fn require_sound_file(draft: &Draft, client: &Client) -> Result<(), Failure> {
    match &draft.file {
        Some(file) if !file.violations.is_empty() => {
            let checked = check_draft(draft, client).await?;
            Err(draft.unchecked(&checked.violations))
        }
        _ => Ok(()),
    }
}

/// Checks a draft and its code directory. Sends no request.
pub(crate) async fn check_draft(draft: &Draft, client: &Client) -> Result<Checked, Failure> {
    let mut job = draft.job.clone();
    if let Some((_, boot_file)) = &draft.code {
        job = job.code_dir(format!("obs://{UNSENT}/code/"));
        if let Some(boot_file) = boot_file {
            let boot_file = boot_file.trim_start_matches("./");
            job = job.boot_file(format!("obs://{UNSENT}/code/{boot_file}"));
        }
    }
    let mut report = job.check();
    let code = check_code(draft, client, &mut report).await?;
    Ok(Checked { violations: report.violations, warnings: report.warnings, code })
}

/// Checks the code directory, if the draft has one, and adds the findings to the report.
async fn check_code(
    draft: &Draft,
    client: &Client,
    report: &mut Report,
) -> Result<Option<CheckedCode>, Failure> {
    let Some((directory, boot_file)) = &draft.code else {
        return Ok(None);
    };
    // An empty directory stands in for OBS, so that no request is sent.
    let empty = tempfile::tempdir().map_err(Failure::local)?;
    std::fs::create_dir(empty.path().join(UNSENT)).map_err(Failure::local)?;
    let obs = Obs::directory(empty.path()).with_cache_dir(empty.path().join("cache"));
    let staging = Staging::new(client).obs(obs).bucket(UNSENT).prefix("");
    let mut stage = staging.code(directory).dry_run(true);
    if let Some(boot_file) = boot_file {
        stage = stage.boot_file(boot_file);
    }
    let inside = draft.data.iter().filter_map(|(_, data)| path_below(data, directory));
    let results = written();
    let results = results.iter().filter_map(|file| path_below(file, directory));
    for path in inside.filter(|path| !path.is_empty()).chain(results) {
        stage = stage.exclude(path);
    }
    let staged = match stage.await {
        Ok(staged) => staged,
        Err(error) if !error.violations().is_empty() => {
            // The checks of the job and of the code share the rules on the name of the boot file.
            for violation in error.violations() {
                let is_same = |known: &Violation| {
                    known.field() == violation.field() && known.rule() == violation.rule()
                };
                if !report.violations.iter().any(is_same) {
                    report.violations.push(violation.clone());
                }
            }
            return Ok(None);
        }
        Err(error) => return Err(Failure::Unchecked(error.to_string(), Vec::new())),
    };
    let sent = staged.summary.transferred;
    let size = CodeDir::from_files([(UNSENT, sent.bytes)]).check(None);
    report.warnings.extend(size.warnings);
    Ok(Some(CheckedCode {
        files: sent.files,
        bytes: sent.bytes,
        left_out: staged.summary.skipped.len(),
        left_out_paths: staged.summary.skipped.iter().map(LeftOut::new).collect(),
    }))
}

/// Returns a client for local checks. The context and the environment determine its cloud.
fn offline_client(session: &Session) -> Result<Client, Failure> {
    let builder = || -> Result<ClientBuilder, Failure> {
        let builder = ClientBuilder::default().environment(session.selection.environment()?);
        Ok(builder.credentials(Credentials::token("unused")).project_id("unused"))
    };
    match builder()?.build() {
        Ok(client) => Ok(client),
        // Without a region, the rules of Huawei Cloud apply.
        Err(_) => Ok(builder()?.endpoint("https://unused.invalid").build()?),
    }
}

impl Draft {
    /// Returns the failure for an error that prevented the creation of the job. Local violations
    /// are listed with their lines in the file, together with the mistakes of the file.
    pub(crate) fn refusal(&self, error: Error) -> Failure {
        match error.violations() {
            [] => Failure::NotCreated(error),
            _ if error.attempts() > 0 => Failure::NotCreated(error),
            violations => self.unchecked(violations),
        }
    }

    /// Returns the failure that lists these violations and the mistakes of the file.
    pub(crate) fn unchecked(&self, violations: &[Violation]) -> Failure {
        let all = self.all_violations(violations);
        let rules = match all.len() {
            1 => "a rule".to_owned(),
            count => format!("{count} rules"),
        };
        let lines: String =
            all.iter().map(|violation| format!("\n  {}", self.located(violation))).collect();
        let text = format!("the job breaks {rules}, so nothing was sent:{lines}");
        Failure::Unchecked(text, all)
    }

    /// Returns the mistakes of the file, and the violations that these mistakes do not explain.
    pub(crate) fn all_violations(&self, checked: &[Violation]) -> Vec<Violation> {
        let mut all = self.file.as_ref().map_or_else(Vec::new, |file| file.violations.clone());
        let in_file = all.len();
        for violation in checked {
            let field = violation.field();
            let name = field.rsplit(['.', ']']).next().unwrap_or_default();
            let is_explained = all[..in_file].iter().any(|mistake| {
                // A misspelt or missing field explains why the value is missing.
                mistake.field() == field
                    || (violation.value().is_none()
                        && !name.is_empty()
                        && mistake.advice().contains(&format!("{name}?")))
            });
            if !is_explained {
                all.push(violation.clone());
            }
        }
        all
    }

    /// Formats a violation with its file and line, if they are known.
    pub(crate) fn located(&self, violation: &Violation) -> String {
        match self.line(violation) {
            Some((file, line)) => format!("{file}:{line}: {violation}"),
            None => violation.to_string(),
        }
    }

    /// Returns the file and the line of a violation; `None` if the value is not from the file.
    pub(crate) fn line(&self, violation: &Violation) -> Option<(&str, u64)> {
        let file = self.file.as_ref()?;
        Some((file.name(), file.line(violation)?))
    }
}

impl Document for CheckResult {
    fn text(&self, _wide: bool, _width: Option<u16>) -> String {
        let mut lines = Vec::new();
        for violation in &self.violations {
            let sign = Terminal::styled("error:", Emphasis::Bad);
            lines.push(format!("{sign} {}", violation.message));
        }
        for warning in &self.warnings {
            let sign = Terminal::styled("warning:", Emphasis::Waiting);
            lines.push(format!("{sign} {}", warning.message));
        }
        if self.ok && !self.not_compared.is_empty() {
            let (values, them) = match self.not_compared.as_slice() {
                [value] => (value.clone(), "it"),
                values => (values.join(", "), "them"),
            };
            lines.push(format!(
                "not compared with the service: {values}; --service compares {them}"
            ));
        }
        if let Some(code) = &self.code {
            let left_out = match code.left_out {
                0 => String::new(),
                count => format!(", {count} left out"),
            };
            lines.push(format!("code: {}{left_out}", amount(Amount::new(code.files, code.bytes))));
            lines.extend(left_out_lines(&code.left_out_paths));
        }
        lines.push(match self.violations.len() {
            0 => format!("{} breaks no rule", self.job),
            1 => format!("{} breaks a rule", self.job),
            count => format!("{} breaks {count} rules", self.job),
        });
        lines.join("\n")
    }
}
