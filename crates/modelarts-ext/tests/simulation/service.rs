//! The service of a simulation: an emulator, which may be restarted, and the record of the changes
//! that it has executed.

use std::{
    error::Error,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::body::{Body, to_bytes};
use bytes::Bytes;
use fastrand::Rng;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use modelarts_emulator::{
    Builder, Emulator, Timing,
    jobs::{RunnerKind, StoredJob},
    quirks::{EventsOffset, Quirks},
    script::Script,
    seeds::Seeds,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::RwLock;
use tower::ServiceExt;

use crate::{
    calls::Op,
    clock::{Hold, ServiceClock},
    workload::{past_jobs, script},
};

pub(crate) const TOKEN: &str = "simulation";
/// Number of rows of a page.
const PAGE: usize = 50;

/// A response with its complete body.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A change that a request asked for, with the response of the service.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// Number of the call that sent the request.
    pub(crate) call: Option<usize>,
    pub(crate) op: Op,
    pub(crate) body: Value,
    pub(crate) status: u16,
    /// Id of the job, if the request created it.
    pub(crate) id: Option<String>,
}

impl Change {
    pub(crate) fn is_executed(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Settings that all emulators of a simulation have.
struct Settings {
    clock: ServiceClock,
    huawei: bool,
    quirks: Quirks,
    timing: Timing,
    script: String,
    ids: u64,
    /// The directory of the emulators; `None` if the service is never restarted.
    directory: Option<TempDir>,
    starts: AtomicU64,
}

impl Settings {
    fn builder(&self) -> Result<Builder, Box<dyn Error + Send + Sync>> {
        let starts = self.starts.fetch_add(1, Ordering::Relaxed);
        let builder = Emulator::builder()
            .clock(Arc::new(self.clock))
            .token(TOKEN)
            .id_seed(self.ids.wrapping_add(starts))
            .public_nodes(1000)
            .cloud(match self.huawei {
                true => modelarts_emulator::Cloud::Huawei,
                false => modelarts_emulator::Cloud::Otc,
            })
            .quirks(self.quirks)
            .timing(self.timing.clone())
            .runner(RunnerKind::Simulated(Script::from_json(&self.script)?));
        Ok(match &self.directory {
            Some(directory) => {
                let path = directory.path();
                builder
                    .data_dir(path.join("data"))
                    .obs_root(path.join("obs"))
            }
            None => builder,
        })
    }
}

/// The service. Requests of [`ask`](Self::ask) do not pass the network.
pub(crate) struct Service {
    /// `None` only while the service is restarted, and after a restart that failed.
    emulator: RwLock<Option<Emulator>>,
    settings: Settings,
    pub(crate) project: String,
    changes: Mutex<Vec<Change>>,
}

impl Service {
    /// Starts an emulator that already contains jobs with events.
    pub(crate) async fn start(
        clock: ServiceClock,
        huawei: bool,
        restarts: bool,
        rng: &mut Rng,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let mut quirks = Quirks::default();
        // The unit of the offset of events varies between simulations, because sources disagree
        // about it and the client must detect it.
        if rng.bool() {
            quirks.events_offset = EventsOffset::Page;
        }
        let settings = Settings {
            clock,
            huawei,
            quirks,
            timing: match rng.bool() {
                true => Timing::documented(),
                false => Timing::default(),
            },
            script: script(rng).to_string(),
            ids: rng.u64(..),
            directory: restarts.then(tempfile::tempdir).transpose()?,
            starts: AtomicU64::new(0),
        };
        let mut builder = settings.builder()?;
        for jobs in past_jobs(rng) {
            builder = builder.seed_jobs(Seeds::from_json(&jobs.to_string())?);
        }
        let emulator = builder.start().await?;
        Ok(Self {
            project: emulator.project_id().to_owned(),
            emulator: RwLock::new(Some(emulator)),
            settings,
            changes: Mutex::default(),
        })
    }

    /// Restarts the emulator. Requests meanwhile are refused.
    pub(crate) async fn restart(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut emulator = self.emulator.write().await;
        let _hold = Hold::new();
        if let Some(emulator) = emulator.take() {
            emulator.suspend().await;
        }
        *emulator = Some(self.settings.builder()?.start().await?);
        Ok(())
    }

    /// Sends a request to the emulator. Returns `None` while it is restarted.
    pub(crate) async fn call(&self, head: &http::Request<()>, body: Bytes) -> Option<Answer> {
        let target = target(self.emulator.try_read().ok()?.as_ref()?)?;
        Some(self.send(target, head, body).await)
    }

    async fn send(
        &self,
        (router, host): (axum::Router, HeaderValue),
        head: &http::Request<()>,
        body: Bytes,
    ) -> Answer {
        let mut request = head.clone().map(|()| Body::from(body));
        request.headers_mut().insert(header::HOST, host);
        let _hold = self.settings.directory.as_ref().map(|_| Hold::new());
        let Ok(response) = router.oneshot(request).await;
        let (parts, body) = response.into_parts();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: to_bytes(body, usize::MAX).await.unwrap_or_default(),
        }
    }

    /// Returns the body of a response to a request that does not pass the network.
    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let head = http::Request::builder()
            .method(method)
            .uri(format!("/v2/{}/{path}", self.project))
            .header("x-auth-token", TOKEN)
            .header(header::CONTENT_TYPE, "application/json")
            .body(())
            .unwrap();
        let body = body.map_or_else(Bytes::new, |body| body.to_string().into());
        let target = self.emulator.read().await.as_ref().and_then(target);
        let Some(target) = target else {
            return Value::Null;
        };
        let answer = self.send(target, &head, body).await;
        serde_json::from_slice(&answer.body).unwrap_or_default()
    }

    /// Returns all jobs of a workspace, newest first, as the service shows them.
    pub(crate) async fn rows(&self, workspace: &str) -> Vec<Value> {
        let mut rows: Vec<Value> = Vec::new();
        for offset in 0.. {
            let search = json!({
                "limit": PAGE, "offset": offset, "order": "desc", "sort_by": "create_time",
                "workspace_id": workspace,
            });
            let mut page = self
                .ask("POST", "training-job-searches", Some(search))
                .await;
            let Some(items) = page["items"].as_array_mut() else {
                break;
            };
            rows.append(items);
            if rows.len() < (offset + 1) * PAGE {
                break;
            }
        }
        rows
    }

    /// Returns the details of a job, as the service shows them.
    pub(crate) async fn details(&self, id: &str) -> Value {
        self.ask("GET", &format!("training-jobs/{id}"), None).await
    }

    /// Returns the stored job, unless it was deleted.
    pub(crate) async fn stored(&self, id: &str) -> Option<StoredJob> {
        let emulator = self.emulator.read().await;
        let job = emulator.as_ref()?.stored_job(id).ok()??;
        (!job.deleted).then_some(job)
    }

    pub(crate) async fn log(&self, id: &str, task: u32) -> Option<String> {
        let emulator = self.emulator.read().await;
        let log = emulator.as_ref()?.stored_log(id, task).await.ok()?;
        Some(String::from_utf8_lossy(&log).into_owned())
    }

    /// Returns the time from the start of the simulation at which a job reached its final phase.
    pub(crate) async fn ended_at(&self, id: &str) -> Option<Duration> {
        let ended = self.stored(id).await?.ended?;
        self.settings.clock.since_start(ended)
    }

    /// Records a change that a request asked for.
    pub(crate) fn record(&self, op: Op, call: Option<usize>, body: &[u8], answer: &Answer) {
        if !matches!(op, Op::Create | Op::Stop | Op::Delete | Op::Change) {
            return;
        }
        let shown: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let id = shown.pointer("/metadata/id").and_then(Value::as_str);
        let change = Change {
            call,
            op,
            body: serde_json::from_slice(body).unwrap_or_default(),
            status: answer.status.as_u16(),
            id: id
                .filter(|_| answer.status == StatusCode::CREATED)
                .map(str::to_owned),
        };
        self.changes.lock().unwrap().push(change);
    }

    /// Returns the recorded changes, in the order of their execution.
    pub(crate) fn changes(&self) -> Vec<Change> {
        self.changes.lock().unwrap().clone()
    }
}

/// Returns the routes of an emulator, with the header `Host` of its requests.
fn target(emulator: &Emulator) -> Option<(axum::Router, HeaderValue)> {
    let host = emulator.url().trim_start_matches("http://");
    Some((emulator.router(), HeaderValue::from_str(host).ok()?))
}
