//! Durability of the program. The test kills the program a hundred times under load, and verifies
//! after each kill that no acknowledged change is missing.
//!
//! Three clients create, change, read and delete jobs. A kill follows a random number of responses,
//! while further requests are in flight. After the next start, each client verifies all
//! acknowledged state: jobs, descriptions, deletions, events, log lines.
//!
//! Some jobs run until the end of the test. When the next start is ready, each of their processes
//! must have ended, and the jobs must run again.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::Notify,
};

use crate::support::{
    Client,
    program::{Program, serve_with},
};

const SEED: u64 = 20_260_115;
const KILLS: usize = 100;
const CLIENTS: usize = 3;
/// Maximum number of responses before a kill.
const ANSWERS: usize = 20;
/// Maximum number of jobs of a client.
const JOBS: usize = 5;

/// Generator of pseudo-random numbers that are identical in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

/// Acknowledged state of a job.
#[derive(Debug)]
struct KnownJob {
    id: String,
    description: String,
    events: Vec<Value>,
    log: String,
}

/// Request without a response.
#[derive(Debug)]
enum PendingRequest {
    Create { name: String },
    Describe { at: usize, text: String },
    Delete { at: usize },
}

/// Client with the state that the program has acknowledged to it.
struct LoadClient {
    name: usize,
    random: Random,
    jobs: Vec<KnownJob>,
    /// IDs of jobs whose deletion has been acknowledged.
    deleted: Vec<String>,
    pending: Option<PendingRequest>,
    made: usize,
    /// Number of requests that a kill interrupted, as found by the client after the next start.
    interrupted: usize,
    /// Port of the gate at which some of the jobs wait.
    gate: u16,
}

/// Counter of responses that signals when the program is to be killed.
struct KillCountdown {
    left: AtomicUsize,
    due: Notify,
}

impl KillCountdown {
    fn after(answers: usize) -> Self {
        Self { left: AtomicUsize::new(answers), due: Notify::new() }
    }

    fn answered(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.due.notify_one();
        }
    }
}

/// Sends a request, or returns `None` if the program has ended.
async fn send(
    client: &Client,
    method: Method,
    below: &str,
    body: &Value,
) -> Option<(StatusCode, Value)> {
    let target = format!("/v2/{}{below}", client.project_id);
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = client.signed(method, &target, body, SystemTime::now());
    let response = request.send().await.ok()?;
    let status = response.status();
    let text = response.text().await.ok()?;
    Some((status, serde_json::from_str(&text).unwrap_or(Value::Null)))
}

/// Starts the program, and discards its messages.
pub(crate) async fn start(place: &Path, flags: &[&str]) -> Program {
    let mut program = serve_with(place, flags).await;
    let mut messages = program.child.stderr.take().unwrap();
    tokio::spawn(async move { tokio::io::copy(&mut messages, &mut tokio::io::sink()).await });
    program
}

fn path(id: &str) -> String {
    format!("/training-jobs/{id}")
}

impl LoadClient {
    fn new(name: usize, gate: u16) -> Self {
        Self {
            name,
            random: Random(SEED + 1 + name as u64),
            jobs: Vec::new(),
            deleted: Vec::new(),
            pending: None,
            made: 0,
            interrupted: 0,
            gate,
        }
    }

    fn request(&mut self) -> (String, Value) {
        self.made += 1;
        let name = format!("job-{}-{}", self.name, self.made);
        // On average, two of three jobs end by themselves. Every third job sends the URL of its
        // emulator to the gate and waits.
        let command = if self.random.below(3) > 0 {
            "for i in 1 2 3; do echo line $i; done".to_owned()
        } else {
            let gate = self.gate;
            format!(
                "exec 3<>/dev/tcp/127.0.0.1/{gate}; echo $MA_APIGW_ENDPOINT >&3; echo waiting; \
                 read -r line <&3; exit 0"
            )
        };
        let job = json!({
            "kind": "job",
            "metadata": {"name": name},
            "algorithm": {"command": command, "engine": {"image_url": "org/image:1"}},
            "spec": {"resource": {"pool_id": "pool-cpu"}},
        });
        (name, job)
    }

    /// Sends random requests until the program has ended.
    async fn load(&mut self, client: &Client, moment: &KillCountdown) {
        while self.step(client).await.is_some() {
            moment.answered();
        }
    }

    async fn step(&mut self, client: &Client) -> Option<()> {
        let at = match self.jobs.len() {
            0 => 0,
            many => self.random.below(many),
        };
        match self.random.below(10) {
            _ if self.jobs.is_empty() => self.create(client).await,
            0..3 if self.jobs.len() < JOBS => self.create(client).await,
            0..5 => self.describe(client, at).await,
            5 => self.delete(client, at).await,
            6..8 => self.see_events(client, at).await,
            _ => self.see_log(client, at).await,
        }
    }

    async fn create(&mut self, client: &Client) -> Option<()> {
        let (name, job) = self.request();
        self.pending = Some(PendingRequest::Create { name });
        let (status, body) = send(client, Method::POST, "/training-jobs", &job).await?;
        self.pending = None;
        assert_eq!(status, 201, "{body}");
        self.know(body["metadata"]["id"].as_str().unwrap());
        Some(())
    }

    fn know(&mut self, id: &str) {
        self.jobs.push(KnownJob {
            id: id.to_owned(),
            description: String::new(),
            events: Vec::new(),
            log: String::new(),
        });
    }

    async fn describe(&mut self, client: &Client, at: usize) -> Option<()> {
        let text = format!("text {}", self.random.below(1 << 20));
        self.pending = Some(PendingRequest::Describe { at, text: text.clone() });
        let job = path(&self.jobs[at].id);
        let (status, body) = send(client, Method::PUT, &job, &json!({"description": text})).await?;
        self.pending = None;
        assert_eq!(status, 200, "{body}");
        self.jobs[at].description = text;
        Some(())
    }

    async fn delete(&mut self, client: &Client, at: usize) -> Option<()> {
        self.pending = Some(PendingRequest::Delete { at });
        let job = path(&self.jobs[at].id);
        let (status, body) = send(client, Method::DELETE, &job, &Value::Null).await?;
        self.pending = None;
        assert_eq!(status, 202, "{body}");
        self.deleted.push(self.jobs.remove(at).id);
        Some(())
    }

    /// Verifies that earlier events are still at the same positions of the list.
    async fn see_events(&mut self, client: &Client, at: usize) -> Option<()> {
        let known = &mut self.jobs[at];
        let mut events = Vec::new();
        loop {
            let below = format!("{}/events?limit=100&offset={}", path(&known.id), events.len());
            let (status, body) = send(client, Method::GET, &below, &Value::Null).await?;
            assert_eq!(status, 200, "{body}");
            let page = body["events"].as_array().unwrap();
            events.extend(page.iter().cloned());
            if page.len() < 100 {
                break;
            }
        }
        assert_eq!(events[0]["message"], "Training job created.");
        assert_eq!(&events[..known.events.len()], known.events);
        known.events = events;
        Some(())
    }

    async fn see_log(&mut self, client: &Client, at: usize) -> Option<()> {
        let known = &mut self.jobs[at];
        let below = format!("{}/tasks/worker-0/logs/preview", path(&known.id));
        let (status, body) = send(client, Method::GET, &below, &Value::Null).await?;
        let log = match status.as_u16() {
            200 => body["content"].as_str().unwrap().to_owned(),
            204 => String::new(),
            _ => panic!("{status}: {body}"),
        };
        assert!(log.starts_with(&known.log), "{} was {:?} and is {log:?}", known.id, known.log);
        known.log = log;
        Some(())
    }

    /// After a start, verifies that unacknowledged requests took effect entirely or not at all, and
    /// that acknowledged state is unchanged.
    async fn verify(&mut self, client: &Client) {
        let mut maybe = BTreeMap::new();
        let mut deleted = None;
        match self.pending.take() {
            Some(PendingRequest::Create { name }) => {
                let search = json!({"filters": [
                    {"key": "name", "operator": "like", "value": [name]},
                ]});
                let found = send(client, Method::POST, "/training-job-searches", &search).await;
                let items = found.unwrap().1["items"].clone();
                let items = items.as_array().unwrap().iter();
                let ids = items.filter(|job| job["metadata"]["name"] == *name);
                for job in ids {
                    self.know(job["metadata"]["id"].as_str().unwrap());
                }
            }
            Some(PendingRequest::Describe { at, text }) => {
                maybe.insert(at, text);
            }
            Some(PendingRequest::Delete { at }) => deleted = Some(at),
            None => {}
        }
        for at in 0..self.jobs.len() {
            let (status, job) = self.show(client, &self.jobs[at].id).await;
            if deleted == Some(at) && status == 400 {
                continue;
            }
            assert_eq!(status, 200, "{}: {job}", self.jobs[at].id);
            let description = job["metadata"]["description"].as_str().unwrap();
            if maybe.get(&at).is_some_and(|text| text == description) {
                description.clone_into(&mut self.jobs[at].description);
            }
            assert_eq!(description, self.jobs[at].description);
            let records = job["status"]["running_records"].as_array();
            let faults = records.into_iter().flatten();
            let faults = faults.filter(|record| record["end_reason"] == "node fault");
            self.interrupted += faults.count();
            if deleted != Some(at) {
                self.see_events(client, at).await.unwrap();
                self.see_log(client, at).await.unwrap();
            }
        }
        // The deletion may be in progress; the job is then treated as one whose deletion was
        // acknowledged.
        if let Some(at) = deleted {
            let id = self.jobs.remove(at).id;
            send(client, Method::DELETE, &path(&id), &Value::Null).await.unwrap();
            self.deleted.push(id);
        }
    }

    async fn show(&self, client: &Client, id: &str) -> (StatusCode, Value) {
        send(client, Method::GET, &path(id), &Value::Null).await.unwrap()
    }

    /// Waits until deleted jobs no longer exist and all others have completed. Returns the
    /// completed jobs.
    async fn all_end(&self, client: &Client) -> Vec<Value> {
        for id in &self.deleted {
            while self.show(client, id).await.0 != 400 {}
        }
        let mut ended = Vec::new();
        for known in &self.jobs {
            let job = loop {
                let (status, job) = self.show(client, &known.id).await;
                assert_eq!(status, 200, "{job}");
                if job["status"]["phase"] == "Completed" {
                    break job;
                }
                let phase = job["status"]["phase"].as_str().unwrap();
                assert!(["Creating", "Pending", "Running"].contains(&phase), "{job}");
            };
            ended.push(job);
        }
        ended
    }
}

/// Listener for jobs that wait. For each job, it records the URL of the job's emulator.
#[derive(Clone, Default)]
struct Gate {
    waiting: Arc<Mutex<Waiting>>,
    arrival: Arc<Notify>,
}

#[derive(Default)]
struct Waiting {
    connections: Vec<(String, TcpStream)>,
    open: bool,
}

impl Gate {
    /// Starts the gate, at which jobs wait until it is opened. Returns its port.
    async fn start(&self) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let gate = self.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let gate = gate.clone();
                tokio::spawn(async move {
                    let mut stream = BufReader::new(stream);
                    let mut parent = String::new();
                    // The line is empty if the process was killed before writing it.
                    let read = stream.read_line(&mut parent).await;
                    let mut waiting = gate.waiting.lock();
                    if read.is_ok() && !waiting.open {
                        let parent = parent.trim().to_owned();
                        waiting.connections.push((parent, stream.into_inner()));
                        gate.arrival.notify_waiters();
                    }
                });
            }
        });
        port
    }

    fn has_child_of(&self, url: &str) -> bool {
        let waiting = self.waiting.lock();
        waiting.connections.iter().any(|(parent, _)| parent == url)
    }

    /// Waits until a process started by the emulator at `url` has reached the gate.
    async fn reached(&self, url: &str) {
        loop {
            let arrival = self.arrival.notified();
            if self.has_child_of(url) {
                return;
            }
            arrival.await;
        }
    }

    /// Waits until the processes started by all other emulators have ended. Returns the number of
    /// remaining processes.
    async fn only_children_of(&self, url: &str) -> usize {
        let all = std::mem::take(&mut self.waiting.lock().connections);
        let (own, mut others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(parent, _)| parent == url);
        self.waiting.lock().connections.extend(own);
        for (parent, stream) in &mut others {
            let mut end = [0];
            let gone = tokio::time::timeout(Duration::from_secs(20), stream.read(&mut end));
            assert!(gone.await.is_ok(), "a child of {parent} lives on");
        }
        others.len()
    }

    fn open(&self) {
        let mut waiting = self.waiting.lock();
        waiting.open = true;
        waiting.connections.clear();
    }
}

/// Simulated jobs write their logs when a request reads them; lines in earlier responses must be
/// returned again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_lose_nothing_of_simulated_jobs() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(place.path().join("obs")).unwrap();
    let script = place.path().join("script.json");
    let run = json!({
        "seconds": 0.5, "log": [{"at": 0, "every": 0.001, "line": "run {run}, line {n}"}],
    });
    std::fs::write(&script, json!({"default": [run]}).to_string()).unwrap();
    let script = script.to_str().unwrap();
    let flags = ["--runner", "simulated", "--script", script];
    let mut random = Random(SEED);
    let mut load_client = LoadClient::new(0, 0);
    let mut lines = 0;
    for _ in 0..10 {
        let mut program = start(place.path(), &flags).await;
        load_client.verify(&program.client).await;
        let moment = KillCountdown::after(10 + random.below(3 * ANSWERS));
        let load = load_client.load(&program.client, &moment);
        let child = &mut program.child;
        let kill = async {
            moment.due.notified().await;
            child.start_kill().unwrap();
            child.wait().await.unwrap();
        };
        futures::future::join(kill, load).await;
        lines += load_client.jobs.iter().map(|job| job.log.lines().count()).sum::<usize>();
    }
    let program = start(place.path(), &flags).await;
    load_client.verify(&program.client).await;
    load_client.all_end(&program.client).await;
    let summary = format!("{lines} lines seen, {} interruptions", load_client.interrupted);
    println!("{summary}");
    assert!(lines > 100 && load_client.interrupted > 3, "{summary}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_kills_lose_nothing() {
    println!("seed {SEED}");
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(place.path().join("obs")).unwrap();
    let gate = Gate::default();
    let port = gate.start().await;
    let mut random = Random(SEED);
    let mut load_clients: Vec<LoadClient> =
        (0..CLIENTS).map(|name| LoadClient::new(name, port)).collect();
    let (mut unanswered, mut left) = (0, 0);
    for round in 0..KILLS {
        let mut program = start(place.path(), &[]).await;
        left += gate.only_children_of(&program.client.url).await;
        let client = &program.client;
        let checks = load_clients.iter_mut().map(|load_client| load_client.verify(client));
        futures::future::join_all(checks).await;
        let moment = KillCountdown::after(1 + random.below(ANSWERS));
        let loads = load_clients.iter_mut().map(|load_client| load_client.load(client, &moment));
        let child = &mut program.child;
        let kill = async {
            moment.due.notified().await;
            // In every other round, the program is killed only after a job has begun to run.
            if round % 2 == 1 {
                gate.reached(&client.url).await;
            }
            child.start_kill().unwrap();
            child.wait().await.unwrap();
        };
        futures::future::join(kill, futures::future::join_all(loads)).await;
        unanswered += load_clients.iter().filter(|w| w.pending.is_some()).count();
    }

    let program = start(place.path(), &[]).await;
    left += gate.only_children_of(&program.client.url).await;
    gate.open();
    let (mut kept, mut deleted, mut interrupted) = (0, 0, 0);
    for load_client in &mut load_clients {
        load_client.verify(&program.client).await;
        for job in load_client.all_end(&program.client).await {
            let records = job["status"]["running_records"].as_array().unwrap();
            let (last, earlier) = records.split_last().unwrap();
            assert_eq!(last["end_reason"], "job completed");
            for record in earlier {
                assert_eq!(record["end_reason"], "node fault");
                assert_eq!(record["end_recover"], "job_reschedule_with_taint");
            }
        }
        interrupted += load_client.interrupted;
        kept += load_client.jobs.len();
        deleted += load_client.deleted.len();
    }
    let summary = format!(
        "{kept} jobs kept, {deleted} deleted, {interrupted} interruptions seen, {unanswered} \
         requests without an answer, {left} processes left"
    );
    println!("{summary}");
    // The test is meaningful only if the load is heavy enough.
    let load = kept > 0 && deleted > 20 && interrupted > 20 && unanswered > 50 && left > 20;
    assert!(load, "{summary}");
}
