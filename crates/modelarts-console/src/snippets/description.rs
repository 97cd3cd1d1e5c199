//! `Description`: the settings of a request body, as flags of `modelarts submit` and as SDK calls.

use std::ops::RangeInclusive;

use modelarts_ext::Client;
use serde_json::{Value, json};

use crate::{
    display::obs_address,
    parameters::{self, Kind, Method, parameters, pointer, step},
};

/// Paths of fields with their defaults. The details of a job contain these fields even if the user
/// has not set them.
pub(crate) const DEFAULTS: [(&str, &str); 3] =
    [("kind", "job"), ("metadata.workspace_id", "0"), ("spec.runtime_type", "production")];
/// Path of the number of nodes, whose default is 1.
const NODES: &str = "/spec/resource/node_count";
/// Parent directory of the default local directories of inputs and outputs.
const CHANNELS: &str = "/home/ma-user/modelarts";

/// A request body, split into pieces.
pub(super) struct Description {
    pub(super) name: String,
    /// Address of the script in its code directory, which is the first argument of the command.
    pub(super) script: Option<String>,
    pub(super) pieces: Vec<Piece>,
}

pub(super) struct Piece {
    pub(super) flag: Option<(&'static str, String)>,
    /// Call of the job builder, such as `.nodes(2)`.
    pub(super) call: Option<String>,
}

/// Part of a body for which no piece exists yet.
struct Rest(Value);

impl Description {
    /// Returns the description of a body; `None` if flags cannot describe the body, for example a
    /// job without code, image and algorithm.
    pub(super) fn new(client: &Client, body: &Value) -> Option<Self> {
        let mut rest = Rest(body.clone());
        for (path, default) in DEFAULTS {
            let path = pointer(path);
            if rest.peek(&path) == Some(default) {
                rest.take(&path);
            }
        }
        if rest.0.pointer(NODES) == Some(&json!(1)) {
            rest.take(NODES);
        }
        let mut description =
            Self { name: rest.text("/metadata/name")?, script: None, pieces: Vec::new() };
        // Numbers of parameters in the form: basic settings, algorithm, resources.
        description.fields(&mut rest, 1..=2);
        description.engine(&mut rest);
        description.code(&mut rest)?;
        description.fields(&mut rest, 3..=12);
        if !description.can_start() {
            return None;
        }
        description.channels(&mut rest);
        description.values(&mut rest);
        description.fields(&mut rest, 13..=32);
        description.notification(&mut rest);
        description.fields(&mut rest, 0..=0);
        description.others(client, body, &rest.0)?;
        Some(description)
    }

    fn add(&mut self, flag: &'static str, value: impl Into<String>, call: impl Into<String>) {
        self.pieces.push(Piece { flag: Some((flag, value.into())), call: Some(call.into()) });
    }

    /// Adds a field with a text as its value.
    fn text(&mut self, rest: &mut Rest, path: &str, flag: &'static str, method: &str) {
        if let Some(text) = rest.text(path) {
            let call = format!(".{method}({text:?})");
            self.add(flag, text, call);
        }
    }

    /// Adds a field with a number as its value, which may be stored as text.
    fn number(&mut self, rest: &mut Rest, path: &str, flag: &'static str, method: &str) {
        let number = rest.0.pointer(path).and_then(|value| match value {
            Value::String(text) => text.parse::<u32>().ok(),
            value => u32::try_from(value.as_u64()?).ok(),
        });
        if let Some(number) = number {
            rest.take(path);
            self.add(flag, number.to_string(), format!(".{method}({number})"));
        }
    }

    /// Adds the engine, by name and version or by id.
    fn engine(&mut self, rest: &mut Rest) {
        const NAME: &str = "/algorithm/engine/engine_name";
        const VERSION: &str = "/algorithm/engine/engine_version";
        const ID: &str = "/algorithm/engine/engine_id";
        match (rest.peek(NAME), rest.peek(VERSION)) {
            (Some(name), Some(version)) if !name.contains(':') => {
                let flag = format!("{name}:{version}");
                let call = format!(".preset_image({name:?}, {version:?})");
                rest.take(NAME);
                rest.take(VERSION);
                self.add("--engine", flag, call);
            }
            (None, None) if rest.peek(ID).is_some_and(|id| !id.contains(':')) => {
                self.text(rest, ID, "--engine", "preset_engine");
            }
            _ => {}
        }
    }

    fn code(&mut self, rest: &mut Rest) -> Option<()> {
        let code_dir = rest.address("/algorithm/code_dir");
        let boot_file = rest.address("/algorithm/boot_file");
        if let Some(code_dir) = &code_dir {
            let parent = boot_file.as_deref().and_then(|file| file.rsplit_once('/'));
            let is_parent = parent.is_some_and(|(parent, _)| *code_dir == format!("{parent}/"));
            self.pieces.push(Piece {
                flag: (!is_parent).then(|| ("--code-dir", code_dir.clone())),
                call: Some(format!(".code_dir({code_dir:?})")),
            });
        }
        if let Some(boot_file) = boot_file {
            // The command derives the code directory from the script, so the job must have one.
            code_dir.as_ref()?;
            self.pieces
                .push(Piece { flag: None, call: Some(format!(".boot_file({boot_file:?})")) });
            self.script = Some(boot_file);
        }
        Some(())
    }

    /// Adds the parameters of the table that have these numbers in the form of the service.
    fn fields(&mut self, rest: &mut Rest, numbers: RangeInclusive<u8>) {
        let parameters = parameters().filter(|parameter| numbers.contains(&parameter.number));
        for parameter in parameters.filter(|parameter| parameter.kind != Kind::Engine) {
            let method = parameter.method();
            let (Some(flag), Some(call), Some(method)) = (&parameter.flag, parameter.call, method)
            else {
                continue;
            };
            let path = pointer(parameter.path);
            match method {
                Method::Text(_) if parameter.path.ends_with("obs_url") => {
                    if let Some(url) = rest.address(&path) {
                        let call = format!(".{call}({url:?})");
                        self.add(flag.name, url, call);
                    }
                }
                Method::Text(_) => self.text(rest, &path, flag.name, call),
                Method::Number(_) | Method::SmallNumber(_) => {
                    self.number(rest, &path, flag.name, call);
                }
                Method::Time(_) => self.hours(rest, flag.name, call),
            }
        }
    }

    /// Adds the time after which the job is stopped automatically.
    fn hours(&mut self, rest: &mut Rest, flag: &'static str, method: &str) {
        const STOP: &str = "/spec/auto_stop";
        let hours = rest.0.pointer(STOP).and_then(|stop| {
            let is_hours = stop["time_unit"] == "HOURS";
            stop["duration"].as_u64().filter(|_| is_hours)
        });
        if let Some(hours) = hours {
            rest.take(STOP);
            let call = format!(".{method}(Duration::from_secs({hours} * 3600))");
            self.add(flag, format!("{hours}h"), call);
        }
    }

    /// Returns `true` if the command has code, an image or an algorithm to start.
    fn can_start(&self) -> bool {
        let needed = ["--command", "--algorithm", "--code-dir"];
        let mut flags = self.pieces.iter().filter_map(|piece| piece.flag.as_ref());
        self.script.is_some() || flags.any(|(flag, _)| needed.contains(flag))
    }

    /// Adds inputs and outputs. Their other fields stay in `rest`, with unchanged indexes.
    fn channels(&mut self, rest: &mut Rest) {
        let is_name = |name: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            !name.is_empty() && name.chars().all(plain)
        };
        for (list, flag, kind) in [("inputs", "--data", "Input"), ("outputs", "--out", "Output")] {
            let root = format!("/algorithm/{list}");
            let path = |index: usize, field: &str| format!("{root}/{index}/{field}");
            let count = rest.0.pointer(&root).and_then(Value::as_array).map_or(0, Vec::len);
            let all_are_simple = (0..count).all(|index| {
                rest.peek(&path(index, "name")).is_some_and(is_name)
                    && rest.peek(&path(index, "remote/obs/obs_url")).is_some()
            });
            if !all_are_simple {
                continue;
            }
            for index in 0..count {
                let Some(name) = rest.text(&path(index, "name")) else {
                    continue;
                };
                let Some(url) = rest.address(&path(index, "remote/obs/obs_url")) else {
                    continue;
                };
                let local_dir = path(index, "local_dir");
                let default = format!("{CHANNELS}/{list}/{name}_{index}");
                if rest.peek(&local_dir) == Some(&default) {
                    rest.take(&local_dir);
                }
                let mut call = format!("{kind}::obs({name:?}, {url:?})");
                let by_env = rest.peek(&path(index, "access_method")) == Some("env");
                if by_env {
                    rest.take(&path(index, "access_method"));
                    call += ".from_env()";
                }
                let prefetch = path(index, "prefetch_to_local");
                let is_prefetched =
                    kind == "Output" && rest.0.pointer(&prefetch) == Some(&Value::Bool(true));
                if is_prefetched {
                    rest.take(&prefetch);
                    call += ".predownload()";
                }
                self.add(
                    flag,
                    format!("{name}={url}"),
                    format!(".add_{}({call})", kind.to_lowercase()),
                );
                let flag_only = |flag| Piece { flag: Some((flag, name.clone())), call: None };
                if by_env {
                    self.pieces.push(flag_only("--pass-by-env"));
                }
                if is_prefetched {
                    self.pieces.push(flag_only("--predownload"));
                }
            }
        }
    }

    /// Adds hyper-parameters and environment variables.
    fn values(&mut self, rest: &mut Rest) {
        let root = "/algorithm/parameters";
        // Constraint that the service adds to a hyper-parameter without one.
        let default = json!({"editable": true, "required": false, "sensitive": false,
                             "type": "String", "valid_type": "None"});
        let parameters = rest.0.pointer_mut(root).and_then(Value::as_array_mut);
        for parameter in parameters.into_iter().flatten() {
            if let Some(members) = parameter.as_object_mut()
                && members.get("constraint") == Some(&default)
            {
                members.remove("constraint");
            }
        }
        let parameters = rest.0.pointer(root).and_then(Value::as_array);
        let names = parameters.into_iter().flatten().map(|parameter| {
            let name = parameter["name"].as_str();
            name.filter(|name| !name.is_empty() && !name.contains('='))
                .filter(|_| parameter["value"].is_string())
        });
        let names: Option<Vec<String>> = names.map(|name| name.map(str::to_owned)).collect();
        let mut distinct = names.clone().unwrap_or_default();
        distinct.sort_unstable();
        distinct.dedup();
        // A flag replaces an earlier hyper-parameter of the same name.
        let names = names.filter(|names| names.len() == distinct.len());
        for (index, name) in names.into_iter().flatten().enumerate() {
            rest.take(&format!("{root}/{index}/name"));
            let value = rest.take(&format!("{root}/{index}/value"));
            let value = value.as_ref().and_then(Value::as_str).unwrap_or_default();
            self.add("-p", format!("{name}={value}"), format!(".parameter({name:?}, {value:?})"));
        }
        let root = "/algorithm/environments";
        let variables = rest.0.pointer_mut(root).and_then(Value::as_object_mut);
        let Some(variables) = variables else {
            return;
        };
        let is_simple = |name: &str, value: &Value| {
            !name.is_empty() && !name.contains('=') && value.is_string()
        };
        let simple: Vec<(String, String)> = variables
            .iter()
            .filter(|(name, value)| is_simple(name, value))
            .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect();
        variables.retain(|name, value| !is_simple(name, value));
        for (name, value) in simple {
            let call = format!(".env({name:?}, {value:?})");
            self.add("--env", format!("{name}={value}"), call);
        }
    }

    /// Adds the notification topic, if it has events.
    fn notification(&mut self, rest: &mut Rest) {
        let path = "/spec/notification";
        let Some(Value::Object(notification)) = rest.0.pointer(path) else {
            return;
        };
        let topic = notification.get("topic_urn").and_then(Value::as_str);
        let events = notification.get("events").and_then(Value::as_array);
        let events = events.into_iter().flatten().map(Value::as_str);
        let events: Option<Vec<&str>> = events.collect();
        let (Some(topic), Some(events)) = (topic, events) else {
            return;
        };
        if notification.len() > 2 || events.is_empty() || topic.contains('=') {
            return;
        }
        let flag = format!("{topic}={}", events.join(","));
        let typed: Vec<String> = events.iter().map(|it| format!("{it:?}.into()")).collect();
        let call = format!(".notify({topic:?}, [{}])", typed.join(", "));
        rest.take(path);
        self.add("--notify", flag, call);
    }

    /// Adds all other fields by their paths. Returns `None` if a field cannot be set by its path.
    fn others(&mut self, client: &Client, body: &Value, rest: &Value) -> Option<()> {
        let mut fields = Vec::new();
        collect(rest, "", "", &mut fields)?;
        // The type of a field determines how its text is parsed, so the result is compared.
        let mut others = body.clone();
        for (_, pointer, _) in &fields {
            if let Some(value) = others.pointer_mut(pointer) {
                *value = Value::Null;
            }
        }
        let jobs = client.training_jobs();
        let mut job = jobs.from_value(&others).ok()?;
        for (path, _, value) in &fields {
            job = job.set_field(path, &text_of(value)).ok()?;
        }
        if job.body() != jobs.from_value(body).ok()?.body() {
            return None;
        }
        for (path, _, value) in fields {
            let text = text_of(value);
            let call = format!(".set_field({path:?}, {text:?})?");
            self.add("--set", format!("{path}={text}"), call);
        }
        Some(())
    }
}

/// Returns the text that sets a field to this value.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// Collects the values below a value, with their paths and JSON Pointers. Returns `None` if a key
/// cannot be part of a path.
fn collect<'a>(
    value: &'a Value,
    path: &str,
    pointer: &str,
    fields: &mut Vec<(String, String, &'a Value)>,
) -> Option<()> {
    match value {
        Value::Object(members) => members.iter().try_for_each(|(key, member)| {
            let joined = match path {
                "" => key.clone(),
                path => format!("{path}.{key}"),
            };
            let step = step(key);
            let is_plain = !key.is_empty() && !key.contains(['=', '[', '"', '\n']);
            is_plain.then_some(())?;
            collect(member, &joined, &format!("{pointer}/{step}"), fields)
        }),
        Value::Array(items) => items.iter().enumerate().try_for_each(|(index, item)| {
            let (path, pointer) = (format!("{path}[{index}]"), format!("{pointer}/{index}"));
            collect(item, &path, &pointer, fields)
        }),
        Value::Null => Some(()),
        value => {
            fields.push((path.to_owned(), pointer.to_owned(), value));
            Some(())
        }
    }
}

impl Rest {
    /// Returns the text at a JSON Pointer, unless the text is empty.
    fn peek(&self, path: &str) -> Option<&str> {
        let text = self.0.pointer(path)?.as_str();
        text.filter(|text| !text.is_empty())
    }

    fn take(&mut self, path: &str) -> Option<Value> {
        parameters::take(&mut self.0, path)
    }

    /// Removes and returns the text at a JSON Pointer.
    fn text(&mut self, path: &str) -> Option<String> {
        let text = self.peek(path)?.to_owned();
        self.take(path);
        Some(text)
    }

    /// Removes and returns an OBS path, and adds the scheme, which the service omits.
    fn address(&mut self, path: &str) -> Option<String> {
        self.text(path).as_deref().map(obs_address)
    }
}
