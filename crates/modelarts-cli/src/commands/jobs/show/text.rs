//! Text output of a job with its settings, phases and tasks.

use std::{fmt::Write, time::Duration};

use modelarts_ext::Timestamp;
use serde_json::{Map, Value};

use crate::{
    commands::jobs::{
        results::local_time,
        show::document::{Channel, JobDocument, Settings},
    },
    output::{self, Document},
    terminal::{Emphasis, Terminal},
};

const LABEL: usize = 13;

impl Document for JobDocument {
    fn text(&self, wide: bool, _width: Option<u16>) -> String {
        let mut text = Text::default();
        text.head(self);
        text.settings(&self.settings, wide);
        text.phases(self);
        text.tasks(self, wide);
        text.0.truncate(text.0.trim_end().len());
        text.0
    }

    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn line(&mut self, line: &str) {
        // Line breaks of values, such as those of a command, must not look like other fields.
        let line = output::one_line(line.to_owned());
        self.0.push_str(line.trim_end());
        self.0.push('\n');
    }

    fn heading(&mut self, heading: &str) {
        let heading = Terminal::styled(heading, Emphasis::Bold);
        let _ = write!(self.0, "\n{heading}\n");
    }

    fn field(&mut self, label: &str, value: Option<impl AsRef<str>>) {
        if let Some(value) = value {
            let label = Terminal::styled(format_args!("{label:<LABEL$}"), Emphasis::Dim);
            self.line(&format!("{label}{}", value.as_ref()));
        }
    }

    fn head(&mut self, job: &JobDocument) {
        let name = Terminal::styled(&job.name, Emphasis::Bold);
        let why = job.why.as_ref().map(|why| format!("  {why}"));
        let phase = output::phase(&job.typed_phase);
        self.line(&format!("{name}  {phase}{}", why.unwrap_or_default()));
        self.field("Id", Some(&job.id));
        let secondary = job.secondary_phase.as_ref();
        self.field("Detail", secondary.filter(|phase| **phase != job.phase));
        self.field("Description", job.description.as_ref());
        self.field("User", job.user.as_ref());
        let created = job.created.map(|created| {
            let age = output::age(job.now.duration_since(created));
            format!("{} ({age} ago)", local_time(created))
        });
        self.field("Created", created);
        let duration = |seconds: Option<u64>| {
            seconds.map(|seconds| output::duration(Duration::from_secs(seconds)))
        };
        self.field("Queued", duration(job.seconds_queued));
        self.field("Ran", duration(job.seconds_run));
        let restarts = job.restarts.filter(|restarts| *restarts > 0);
        self.field("Restarts", restarts.map(|restarts| restarts.to_string()));
        let best = job.best_trial.as_ref().map(|trial| {
            let values = trial.values.iter().map(|(name, value)| match value.as_str() {
                Some(text) => format!("  {name}={text}"),
                None => format!("  {name}={value}"),
            });
            format!("{}{}", trial.id, values.collect::<String>())
        });
        self.field("Best trial", best);
        self.values("Endpoint", &job.endpoints);
    }

    fn settings(&mut self, settings: &Settings, wide: bool) {
        self.heading("Settings");
        let nodes = settings.nodes.map(|nodes| format!(" × {nodes}"));
        let nodes = nodes.unwrap_or_default();
        let flavor = settings.flavor.as_ref();
        self.field("Flavor", flavor.map(|flavor| format!("{flavor}{nodes}")));
        self.field("Pool", settings.pool.as_ref());
        let priority = settings.priority.map(|priority| priority.to_string());
        self.field("Priority", priority);
        self.field("Image", settings.image.as_ref());
        self.field("Algorithm", settings.algorithm.as_ref());
        self.field("Code", settings.code_dir.as_ref());
        self.field("Script", settings.boot_file.as_ref());
        self.field("Command", settings.command.as_ref());
        self.field("Code in job", settings.local_code_dir.as_ref());
        self.field("Directory", settings.working_dir.as_ref());
        self.field("User in job", settings.run_user.as_ref());
        let stop = settings.auto_stop_seconds.map(Duration::from_secs);
        self.field("Auto stop", stop.map(output::duration));
        for input in &settings.inputs {
            self.channel("Input", input, "→");
        }
        for output in &settings.outputs {
            self.channel("Output", output, "←");
        }
        for volume in &settings.volumes {
            self.field("Volume", Some(volume));
        }
        self.field("Notification", settings.notification.as_ref());
        for directory in &settings.log_dirs {
            self.field("Logs", Some(directory));
        }
        self.values("Parameter", &settings.parameters);
        self.values("Environment", &settings.environment);
        for (key, value) in &settings.tags {
            self.field("Tag", Some(format!("{key}={value}")));
        }
        if wide {
            self.values("Annotation", &settings.annotations);
        }
    }

    fn channel(&mut self, label: &str, channel: &Channel, arrow: &str) {
        let local = channel.local_dir.as_ref().filter(|path| !path.is_empty());
        let local = local.map(|path| format!(" {arrow} {path}"));
        let source = channel.source.as_deref().unwrap_or("-");
        let data = channel.data.as_ref().map(|data| format!("  ({data})"));
        let (local, data) = (local.unwrap_or_default(), data.unwrap_or_default());
        let text = format!("{}  {source}{local}{data}", channel.name);
        self.field(label, Some(text));
    }

    fn values(&mut self, label: &str, values: &Map<String, Value>) {
        for (name, value) in values {
            let value = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            self.field(label, Some(format!("{name}={value}")));
        }
    }

    fn phases(&mut self, job: &JobDocument) {
        if job.steps.is_empty() {
            return;
        }
        self.heading("Phases");
        let names = job.steps.iter().map(|step| step.phase.to_string().len());
        let width = names.max().unwrap_or_default();
        for step in &job.steps {
            let start = step.start.map_or_else(|| "-".to_owned(), local_time);
            let duration = step.duration(job.now).map(output::duration).unwrap_or_default();
            self.line(&format!("{start}  {:<width$}  {duration}", step.phase.to_string()));
        }
    }

    fn tasks(&mut self, job: &JobDocument, wide: bool) {
        if !job.tasks.is_empty() {
            self.heading("Tasks");
        }
        for task in &job.tasks {
            let exit = match task.exit_code {
                Some(0) => "exit code 0".to_owned(),
                Some(code) => Terminal::styled(format_args!("exit code {code}"), Emphasis::Bad),
                None => String::new(),
            };
            let message = task.message.as_deref().unwrap_or_default();
            let host = task.host_ip.as_deref().filter(|_| wide).unwrap_or_default();
            let state = task.state.as_deref().unwrap_or("-");
            self.line(&format!("{:<LABEL$}{state:<9}  {exit}  {message}  {host}", task.name));
        }
        if job.runs.len() < 2 {
            return;
        }
        self.heading("Runs");
        let time = |time: Option<Timestamp>| time.map_or_else(|| "-".to_owned(), local_time);
        for (number, run) in job.runs.iter().enumerate() {
            let (start, end) = (time(run.times.0), time(run.times.1));
            let reason = run.reason.as_deref().unwrap_or_default();
            let task = run.task.as_deref().unwrap_or_default();
            let kind = run.start_type.as_deref().unwrap_or_default();
            let recovery = run.recovery.as_ref().map(|it| format!("recovery {it}"));
            let recovery = recovery.unwrap_or_default();
            let parts = [kind, reason, task, &recovery].map(|part| format!("  {part}"));
            let parts = parts.into_iter().filter(|part| part.trim() != "");
            let parts: String = parts.collect();
            self.line(&format!("{}  {start}  {end}{parts}", number + 1));
        }
    }
}
