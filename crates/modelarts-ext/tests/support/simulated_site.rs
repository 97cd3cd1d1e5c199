//! Emulator whose jobs are simulated, with a client, on a clock that only the client moves.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use futures::future::BoxFuture;
use modelarts_emulator::{
    Emulator, Timing,
    clock::{Clock as _, ManualClock},
    jobs::RunnerKind,
    script::Script,
};
use modelarts_ext::{
    Client, ClientBuilder, CreateJob,
    clock::Clock,
    connector::{ConnectorError, HttpConnector},
};
use reqwest::header::{HOST, HeaderValue};
use serde_json::Value;
use tower::ServiceExt;

pub(crate) struct SimulatedSite {
    pub(crate) emulator: Arc<Emulator>,
    pub(crate) client: Client,
    pub(crate) clock: EmulatorClock,
    requests: Requests,
}

/// Times of requests with the last segments of their paths.
type Requests = Arc<Mutex<Vec<(SystemTime, String)>>>;

/// Clock that moves the emulator to the end of each pause.
#[derive(Clone)]
pub(crate) struct EmulatorClock {
    manual: Arc<ManualClock>,
    emulator: Arc<Emulator>,
    /// Minimum duration of a time limit, which does not move the clock. Shorter sleeps are pauses.
    limit: Duration,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl fmt::Debug for EmulatorClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EmulatorClock")
    }
}

impl Clock for EmulatorClock {
    fn now(&self) -> SystemTime {
        self.manual.now()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        if duration >= self.limit {
            return Box::pin(self.manual.limit(duration));
        }
        let (clock, end) = (self.clone(), self.now() + duration);
        Box::pin(async move {
            // Concurrent pauses end in the order in which they began.
            let _turn = clock.turn.lock().await;
            if let Ok(left) = end.duration_since(clock.now()) {
                assert!(clock.emulator.advance(left).await);
            }
        })
    }
}

/// Connector that records each request and passes it to the routes of the emulator.
#[derive(Debug)]
struct InProcess {
    router: axum::Router,
    clock: EmulatorClock,
    requests: Requests,
}

impl HttpConnector for InProcess {
    fn send(
        &self,
        mut request: reqwest::Request,
    ) -> BoxFuture<'static, Result<reqwest::Response, ConnectorError>> {
        let url = request.url().clone();
        let last = url.path_segments().unwrap().next_back().unwrap().to_owned();
        let now = self.clock.now();
        self.requests.lock().unwrap().push((now, last));
        let host = HeaderValue::from_str(url.authority()).unwrap();
        request.headers_mut().insert(HOST, host);
        let router = self.router.clone();
        Box::pin(async move {
            let request = http::Request::<reqwest::Body>::try_from(request)?;
            let response = router.oneshot(request.map(axum::body::Body::new)).await;
            let (head, body) = response.unwrap().into_parts();
            let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            Ok(http::Response::from_parts(head, body).into())
        })
    }
}

fn client_builder(
    emulator: &Emulator,
    clock: &EmulatorClock,
    requests: &Requests,
) -> ClientBuilder {
    let connector = InProcess {
        router: emulator.router(),
        clock: clock.clone(),
        requests: Arc::clone(requests),
    };
    ClientBuilder::from_vars(emulator.vars()).clock(clock.clone()).connector(connector)
}

impl SimulatedSite {
    /// Starts an emulator whose jobs follow `script`. Sleeps of `limit` or more are
    /// time limits.
    pub(crate) async fn start(script: Value, limit: Duration) -> Self {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_768_465_845);
        let manual = Arc::new(ManualClock::at(start));
        let script = Script::from_json(&script.to_string()).unwrap();
        let emulator = Emulator::builder()
            .timing(Timing::instant())
            .clock(manual.clone())
            .runner(RunnerKind::Simulated(script))
            .public_nodes(10_000)
            .start()
            .await
            .unwrap();
        let emulator = Arc::new(emulator);
        let clock =
            EmulatorClock { manual, emulator: Arc::clone(&emulator), limit, turn: Arc::default() };
        let requests = Requests::default();
        let client = client_builder(&emulator, &clock, &requests).build().unwrap();
        Self { emulator, client, clock, requests }
    }

    /// Limits the requests of the client.
    pub(crate) fn rate_limit(mut self, requests_per_second: f64) -> Self {
        let builder = client_builder(&self.emulator, &self.clock, &self.requests);
        self.client = builder.rate_limit(requests_per_second).build().unwrap();
        self
    }

    /// Returns the builder of a job. The job is not submitted.
    pub(crate) fn job(&self, name: &str) -> CreateJob {
        self.emulator.put("bucket/code/train.py", "").unwrap();
        self.client
            .training_jobs()
            .create(name)
            .preset_image("PyTorch", "pytorch_1.8.0")
            .code_dir("obs://bucket/code/")
            .boot_file("obs://bucket/code/train.py")
            .flavor("modelarts.vm.cpu.2u")
    }

    pub(crate) fn now(&self) -> SystemTime {
        self.clock.now()
    }

    /// Removes and returns the requests so far: their times, with the last segments of their paths.
    pub(crate) fn take_requests(&self) -> Vec<(SystemTime, String)> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

impl EmulatorClock {
    /// Moves the emulator, like a pause of the client.
    pub(crate) async fn advance(&self, duration: Duration) {
        assert!(self.emulator.advance(duration).await);
    }
}
