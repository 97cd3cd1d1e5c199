//! The service of a simulation: an emulator, which may be restarted, and the record of the changes
//! that it has executed.

use axum::body::{Body, to_bytes};
use modelarts_emulator::{
    Builder, Cloud, Emulator, Timing,
    jobs::{RunnerKind, StoredJob},
    quirks::{EventsOffset, Quirks},
    script::Script,
    seeds::Seeds,
};
use tokio::sync::RwLock;
use tower::ServiceExt;

use crate::{
    prelude::*,
    workload::{past_jobs, script},
};

pub(crate) const TOKEN: &str = "simulation";
/// Number of rows of a page.
pub(crate) const PAGE: usize = 50;

pub(crate) type AnyError = Box<dyn std::error::Error + Send + Sync>;

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

/// The service. Requests of [`ask`](Self::ask) do not pass the network.
pub(crate) struct Service {
    /// `None` only while the service is restarted, and after a restart that failed.
    emulator: RwLock<Option<Emulator>>,
    /// Returns the settings of each emulator.
    builder: Box<dyn Fn() -> Result<Builder, AnyError> + Send + Sync>,
    clock: ServiceClock,
    is_restarted: bool,
    pub(crate) project: String,
    changes: Mutex<Vec<Change>>,
}

impl Service {
    /// Starts an emulator that already contains jobs with events.
    pub(crate) async fn start(
        clock: ServiceClock,
        conditions: &Conditions,
        rng: &mut Rng,
    ) -> Result<Self, AnyError> {
        let huawei = conditions.huawei;
        let is_restarted = !conditions.restarts.is_empty();
        let mut quirks = Quirks::default();
        // The unit of the offset of events varies between simulations, because sources disagree
        // about it and the client must detect it.
        if rng.bool() {
            quirks.events_offset = EventsOffset::Page;
        }
        let is_documented = rng.bool();
        let script = script(rng).to_string();
        let ids = AtomicU64::new(rng.u64(..));
        let directory = is_restarted.then(tempfile::tempdir).transpose()?;
        let builder = move || -> Result<Builder, AnyError> {
            let builder = Emulator::builder()
                .clock(Arc::new(clock))
                .token(TOKEN)
                .id_seed(ids.fetch_add(1, Relaxed))
                .public_nodes(1000)
                .cloud(if huawei { Cloud::Huawei } else { Cloud::Otc })
                .quirks(quirks)
                .timing(match is_documented {
                    true => Timing::documented(),
                    false => Timing::default(),
                })
                .runner(RunnerKind::Simulated(Script::from_json(&script)?));
            let Some(directory) = &directory else {
                return Ok(builder);
            };
            let (data, obs) = (directory.path().join("data"), directory.path().join("obs"));
            Ok(builder.data_dir(data).obs_root(obs))
        };
        let mut first = builder()?;
        for jobs in past_jobs(rng) {
            first = first.seed_jobs(Seeds::from_json(&jobs.to_string())?);
        }
        let emulator = first.start().await?;
        Ok(Self {
            project: emulator.project_id().to_owned(),
            emulator: RwLock::new(Some(emulator)),
            builder: Box::new(builder),
            clock,
            is_restarted,
            changes: Mutex::default(),
        })
    }

    /// Restarts the emulator. Requests meanwhile are refused.
    pub(crate) async fn restart(&self) -> Result<(), AnyError> {
        let mut emulator = self.emulator.write().await;
        let _hold = hold();
        if let Some(emulator) = emulator.take() {
            emulator.suspend().await;
        }
        *emulator = Some((self.builder)()?.start().await?);
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
        let _hold = self.is_restarted.then(hold);
        let Ok(response) = router.oneshot(request).await;
        let (parts, body) = response.into_parts();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: to_bytes(body, usize::MAX).await.unwrap_or_default(),
        }
    }

    /// Returns the body of a response to a request that does not pass the network.
    async fn ask(&self, method: &str, path: &str, body: Bytes) -> Option<Value> {
        let head = http::Request::builder()
            .method(method)
            .uri(format!("/v2/{}/{path}", self.project))
            .header("x-auth-token", TOKEN)
            .header(header::CONTENT_TYPE, "application/json");
        let target = target(self.emulator.read().await.as_ref()?)?;
        let answer = self.send(target, &head.body(()).ok()?, body).await;
        serde_json::from_slice(&answer.body).ok()
    }

    /// Returns all rows of a search, which does not pass the network.
    pub(crate) async fn search(&self, mut search: Value) -> Vec<Value> {
        let mut rows: Vec<Value> = Vec::new();
        search["limit"] = PAGE.into();
        for offset in 0.. {
            search["offset"] = offset.into();
            let body = search.to_string().into();
            let page = self.ask("POST", "training-job-searches", body).await;
            let items = page.as_ref().and_then(|page| page["items"].as_array());
            rows.extend(items.into_iter().flatten().cloned());
            if rows.len() < (offset + 1) * PAGE {
                break;
            }
        }
        rows
    }

    /// Returns all jobs of a workspace, newest first, as the service shows them.
    pub(crate) async fn rows(&self, workspace: &str) -> Vec<Value> {
        let order = json!({"order": "desc", "sort_by": "create_time", "workspace_id": workspace});
        self.search(order).await
    }

    /// Returns the details of a job, as the service shows them.
    pub(crate) async fn details(&self, id: &str) -> Value {
        let path = format!("training-jobs/{id}");
        let job = self.ask("GET", &path, Bytes::new()).await;
        job.unwrap_or_default()
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
        self.clock.since_start(ended)
    }

    /// Records a change that a request asked for.
    pub(crate) fn record(&self, op: Op, call: Option<usize>, body: &[u8], answer: &Answer) {
        if !matches!(op, Op::Create | Op::Stop | Op::Delete | Op::Change) {
            return;
        }
        let shown: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let is_created = answer.status == StatusCode::CREATED;
        self.changes.lock().unwrap().push(Change {
            call,
            op,
            body: serde_json::from_slice(body).unwrap_or_default(),
            status: answer.status.as_u16(),
            id: is_created.then(|| metadata(&shown, "id").to_owned()),
        });
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
