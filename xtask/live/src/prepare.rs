//! Prepares an emulator: creates the objects that the calls of a transcript refer to.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result};
use modelarts_emulator::seeds::Seeds;
use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::{
    description::{Description, Member},
    replay::{FINAL, Replay, id_of, is},
    transcript::{Call, Transcript},
};

impl Replay {
    /// Creates jobs and directories, and maps the flavors, engines and pools of the service to
    /// those of the emulator. Returns the jobs that the emulator could not create in the state that
    /// the transcript shows.
    pub(crate) async fn prepare(
        &mut self,
        description: &Description,
        transcript: &Transcript,
    ) -> Result<Vec<String>> {
        for (key, list, path) in [
            ("flavor_id", "flavors", "training-job-flavors"),
            ("engine_id", "items", "training-job-engines"),
        ] {
            let path = format!("/v2/{}/{path}", self.emulator.project_id());
            let none = BTreeMap::new();
            let (_, answer) = self.send(&Method::GET, &path, &none, None).await?;
            let rows = answer[list].as_array().into_iter().flatten();
            let ids = rows.filter_map(|row| Some(row[key].as_str()?.to_owned()));
            let ids: BTreeSet<String> = ids.collect();
            let first = ids.first().cloned().unwrap_or_default();
            self.instead.insert(key, (ids, first));
        }
        let pools = ["pool-cpu", "pool-gpu"].map(str::to_owned);
        let pools = (pools.into(), "pool-cpu".into());
        self.instead.insert("pool_id", pools);
        for body in transcript.calls.iter().filter_map(|it| it.request.as_ref()) {
            self.objects(body)?;
        }
        self.jobs(description, transcript).await
    }

    /// Creates the jobs that responses of the transcript contain, but that no request of the
    /// transcript creates.
    async fn jobs(
        &mut self,
        description: &Description,
        transcript: &Transcript,
    ) -> Result<Vec<String>> {
        let answers = |name: &'static str| {
            let calls = transcript.calls.iter().filter(move |it| is(it, name));
            calls.filter_map(|it| it.answer.as_ref())
        };
        let details = answers("ShowTrainingJobDetails").filter_map(|it| Some((id_of(it)?, it)));
        let details: BTreeMap<&str, &Value> = details.collect();
        let lists = answers("ListTrainingJobs").filter_map(|it| it["items"].as_array());
        let mut jobs: Vec<&Value> = lists.flatten().collect();
        jobs.extend(details.values());
        let mut seen = self.created.clone();
        jobs.retain(|job| id_of(job).is_some_and(|id| seen.insert(id.to_owned())));
        // Lists contain the newest job first, so jobs are created in reverse order.
        jobs.reverse();
        jobs.sort_by_key(|job| job["metadata"]["create_time"].as_i64());
        // Uses current times instead of those in the transcript, because the emulator, like the
        // service, deletes old logs.
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let first = now - Duration::from_secs(jobs.len() as u64);
        let mut failed = Vec::new();
        for (at, row) in jobs.into_iter().enumerate() {
            let id = id_of(row).unwrap_or_default();
            let job = details.get(id).copied().unwrap_or(row);
            let created = first + Duration::from_secs(at as u64);
            let mut seed = seed(transcript, id, job);
            seed["created"] = u64::try_from(created.as_millis())?.into();
            if let Err(why) = self.seed(description, &seed, job).await? {
                failed.push(format!("the job {id} as it is: {why}"));
            }
        }
        Ok(failed)
    }

    /// Creates a job in the state that the transcript shows. If the emulator rejects it, creates an
    /// ended job with the same body, and otherwise a plain ended job with the same id, which is
    /// added to `missing`. Returns the reason of the first rejection.
    async fn seed(
        &mut self,
        description: &Description,
        seed: &Value,
        job: &Value,
    ) -> Result<Result<(), String>> {
        let create = description.operation("CreateTrainingJob");
        let schema = create.and_then(|it| description.request(it));
        let schema = schema.context("the description has no CreateTrainingJob")?;
        let mut body = described(description, schema, job);
        count_nodes(&mut body, &job["status"]["tasks"]);
        if body["kind"].is_null() {
            body["kind"] = "job".into();
        }
        self.objects(&body)?;
        self.translate(&mut body, "");
        let mut whole = seed.clone();
        whole["job"] = body;
        let mut why = None;
        let ended = |seed: &Value| {
            let mut ended = seed.clone();
            ended["phase"] = FINAL[0].into();
            ended
        };
        for seed in [&whole, &ended(&whole), &ended(seed)] {
            if seed.get("job").is_none() {
                self.missing.extend(id_of(job).map(str::to_owned));
            }
            let seeds = Seeds::from_json(&json!({"jobs": [seed]}).to_string());
            let planted = match &seeds {
                Ok(seeds) => self.emulator.seed(seeds).await.map_err(|it| it.to_string()),
                Err(error) => Err(error.to_string()),
            };
            match planted {
                Ok(_) => break,
                Err(error) => why = why.or(Some(error)),
            }
        }
        Ok(why.map_or(Ok(()), Err))
    }

    /// Creates the directories and files that a request names, in the emulator's OBS.
    fn objects(&self, body: &Value) -> Result<()> {
        match body {
            Value::String(text) => {
                let path = text.strip_prefix("obs://").or(text.strip_prefix('/'));
                // Creates only directories whose names are placeholders of the redaction.
                let Some(path) = path.filter(|it| it.starts_with("bucket-") && !it.contains(".."))
                else {
                    return Ok(());
                };
                let place = self.emulator.obs_root().join(path);
                if path.ends_with('/') {
                    fs::create_dir_all(place)?;
                } else if let Some(directory) = place.parent() {
                    fs::create_dir_all(directory)?;
                    if !place.is_dir() {
                        fs::write(place, "")?;
                    }
                }
                Ok(())
            }
            Value::Array(list) => list.iter().try_for_each(|it| self.objects(it)),
            Value::Object(members) => members.values().try_for_each(|it| self.objects(it)),
            _ => Ok(()),
        }
    }
}

/// Returns the seed of a job with the properties that the transcript shows. The command is
/// replaced.
fn seed(transcript: &Transcript, id: &str, job: &Value) -> Value {
    let has = |name: &str, member: &str| {
        let of_job = |it: &&Call| is(it, name) && it.job() == Some(id);
        let answer = transcript.calls.iter().find(of_job)?.answer.as_ref()?;
        answer.get(member).filter(|it| !it.is_null())
    };
    let mut seed = json!({
        "id": id,
        "name": job["metadata"]["name"],
        "phase": job["status"]["phase"],
    });
    let task = job.pointer("/status/tasks/0").and_then(Value::as_str);
    let task = task.unwrap_or("worker-0");
    if has("ShowTrainingJobLogsPreview", "content").is_some() {
        seed["logs"] = json!({task: "x\n"});
    }
    if has("ShowTrainingJobMetrics", "metrics").is_some() {
        seed["metrics"] = json!({task: {"cpuUsage": [-1.0, -1.0, 5.0]}});
    }
    let tags = has("ShowTrainJobTags", "tags").and_then(Value::as_array);
    for tag in tags.into_iter().flatten() {
        if let (Some(key), Some(value)) = (tag["key"].as_str(), tag["value"].as_str()) {
            seed["tags"][key] = value.into();
        }
    }
    seed
}

/// Sets the number of nodes of each role of a job. Responses do not contain this number, but they
/// list one task for each node, which is named after its role, such as `worker-0`.
fn count_nodes(body: &mut Value, tasks: &Value) {
    let names: Vec<&str> = tasks
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let roles = body.get_mut("tasks").and_then(Value::as_array_mut);
    for role in roles.into_iter().flatten() {
        let name = role["role"].as_str().unwrap_or_default();
        let of_role = |it: &&&str| it.rsplit_once('-').is_some_and(|(role, _)| role == name);
        let count = names.iter().filter(of_role).count();
        if let Some(resource) = role.get_mut("task_resource").and_then(Value::as_object_mut)
            && count > 0
        {
            resource.entry("node_count").or_insert(count.into());
        }
    }
}

/// Returns the part of a value that a schema describes.
fn described(description: &Description, schema: &Value, value: &Value) -> Value {
    let facts = description.facts(schema);
    match value {
        Value::Object(members) => {
            let mut kept = Map::new();
            for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                match facts.property(name) {
                    Member::Named(schema) | Member::OfMap(schema) => {
                        kept.insert(name.clone(), described(description, schema, value));
                    }
                    Member::Free => {
                        kept.insert(name.clone(), value.clone());
                    }
                    Member::Unknown => {}
                }
            }
            Value::Object(kept)
        }
        Value::Array(list) => match facts.items {
            Some(items) => list
                .iter()
                .map(|it| described(description, items, it))
                .collect(),
            None => value.clone(),
        },
        other => other.clone(),
    }
}
