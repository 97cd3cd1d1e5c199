//! Helpers of the tests: an emulator, a client that signs requests, and common steps.

#[cfg(feature = "cli")]
pub(crate) mod program;
#[cfg(feature = "slurm")]
pub(crate) mod slurm;
pub(crate) mod traffic;

use std::{
    fs,
    ops::Deref,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use hmac::{Hmac, KeyInit, Mac};
use modelarts_api::hex;
use modelarts_emulator::{
    Builder, Emulator, Timing,
    clock::{Clock, ManualClock},
    jobs::Container,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, StatusCode, header::HeaderMap};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::support::traffic::{DESCRIPTION, DeviationCheck, Deviations};

const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Emulator for a test, without delays by default, and a client that uses its keys.
pub(crate) struct Site {
    pub(crate) emulator: Emulator,
    pub(crate) client: Client,
    /// Directory of the workers of all jobs.
    pub(crate) jobs: PathBuf,
    _watch: DeviationCheck,
}

impl Deref for Site {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Site {
    pub(crate) async fn start() -> Self {
        Self::with(|builder| builder).await
    }

    pub(crate) async fn with(set: impl FnOnce(Builder) -> Builder) -> Self {
        assert!(
            Emulator::python3().await.is_some(),
            "these tests run jobs: python3 is required on the PATH"
        );
        let watch = Deviations::default();
        // Tests read the files of workers at their paths on this machine. Those of the container
        // view set it.
        let builder = Emulator::builder().timing(Timing::instant()).container(Container::None);
        #[cfg(feature = "slurm")]
        let (builder, shared) = slurm::on_cluster(builder);
        #[cfg(not(feature = "slurm"))]
        let shared: Option<PathBuf> = None;
        let (builder, verdict) = (set(builder), watch.verdict());
        let builder = builder.observe(move |exchange| watch.look(exchange));
        let emulator = builder.start().await.unwrap();
        let client = Client {
            http: http(),
            url: emulator.url().to_owned(),
            project_id: emulator.project_id().to_owned(),
            access_key: emulator.access_key().to_owned(),
            secret_key: emulator.secret_key().to_owned(),
            checks: false,
        };
        Self {
            jobs: shared.unwrap_or_else(|| emulator.data_dir().to_owned()).join("jobs"),
            emulator,
            client,
            _watch: verdict,
        }
    }

    /// Starts a site on a manual clock, so that all durations in event texts are 0.
    pub(crate) async fn standing_still() -> (Self, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::at(SystemTime::now()));
        let site = Self::with(|builder| builder.clock(Arc::clone(&clock) as _)).await;
        (site, clock)
    }

    /// Stores an object in OBS.
    pub(crate) fn put(&self, key: &str, content: impl AsRef<[u8]>) {
        let path = self.emulator.obs_root().join(key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Returns the content of an object in OBS.
    pub(crate) fn read(&self, key: &str) -> String {
        fs::read_to_string(self.emulator.obs_root().join(key)).unwrap()
    }

    /// Returns a job that runs `script`, stored as `/bucket/<name>/code/train.py`.
    pub(crate) fn script(&self, name: &str, script: &str) -> Value {
        self.put(&format!("bucket/{name}/code/train.py"), script);
        json!({
            "kind": "job",
            "metadata": {"name": name},
            "algorithm": {
                "code_dir": format!("obs://bucket/{name}/code/"),
                "boot_file": format!("obs://bucket/{name}/code/train.py"),
                "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
            },
            "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
        })
    }

    /// Creates a job and returns its ID.
    pub(crate) async fn create(&self, job: &Value) -> String {
        let reply = self.client.post("/training-jobs", job).await;
        assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text);
        reply.json()["metadata"]["id"].as_str().unwrap().to_owned()
    }

    /// Creates a job, waits until it is settled, and returns its ID.
    pub(crate) async fn run(&self, job: &Value) -> String {
        let id = self.create(job).await;
        self.emulator.wait_until_settled(&id).await;
        id
    }

    pub(crate) async fn details(&self, id: &str) -> Value {
        let reply = self.client.get(&format!("/training-jobs/{id}")).await;
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text);
        reply.json()
    }

    pub(crate) async fn phase(&self, id: &str) -> String {
        self.details(id).await["status"]["phase"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn log(&self, id: &str) -> String {
        let reply =
            self.client.get(&format!("/training-jobs/{id}/tasks/worker-0/logs/preview")).await;
        match reply.status {
            StatusCode::NO_CONTENT => String::new(),
            StatusCode::OK => reply.json()["content"].as_str().unwrap().to_owned(),
            status => panic!("{status}: {}", reply.text),
        }
    }

    pub(crate) async fn messages(&self, id: &str) -> Vec<String> {
        let reply = self.client.get(&format!("/training-jobs/{id}/events?limit=100")).await;
        let rows = reply.json();
        let rows = rows["events"].as_array().unwrap();
        rows.iter().map(|row| row["message"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) async fn terminate(&self, id: &str) -> Reply {
        let path = format!("/training-jobs/{id}/actions");
        self.client.post(&path, &json!({"action_type": "terminate"})).await
    }

    /// Returns the directory of worker 0 of a job.
    pub(crate) fn worker(&self, id: &str) -> PathBuf {
        self.jobs.join(id).join("worker-0")
    }
}

/// Client that signs with SDK-HMAC-SHA256. It shares no code with the emulator or the SDK.
pub(crate) struct Client {
    pub(crate) http: reqwest::Client,
    pub(crate) url: String,
    pub(crate) project_id: String,
    pub(crate) access_key: String,
    pub(crate) secret_key: String,
    /// True if the client compares responses with the OpenAPI description, which is necessary for
    /// emulators in another process.
    pub(crate) checks: bool,
}

/// Response to a request of the client.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {:?}", self.text))
    }

    pub(crate) async fn of(response: reqwest::Response) -> Self {
        Self {
            status: response.status(),
            headers: response.headers().clone(),
            text: response.text().await.unwrap(),
        }
    }

    /// Returns the HTTP status and the error code.
    pub(crate) fn error(&self) -> (u16, String) {
        let code = self.json()["error_code"].as_str().unwrap_or_default().to_owned();
        (self.status.as_u16(), code)
    }

    /// Asserts that the response is this error.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str) {
        assert_eq!(self.error(), (status, code.to_owned()), "{}", self.text);
    }
}

impl Client {
    pub(crate) async fn get(&self, below_project: &str) -> Reply {
        self.send(Method::GET, below_project, Vec::new()).await
    }

    pub(crate) async fn delete(&self, below_project: &str) -> Reply {
        self.send(Method::DELETE, below_project, Vec::new()).await
    }

    pub(crate) async fn post(&self, below_project: &str, body: &Value) -> Reply {
        self.send(Method::POST, below_project, body.to_string().into_bytes()).await
    }

    pub(crate) async fn send(&self, method: Method, below_project: &str, body: Vec<u8>) -> Reply {
        let target = format!("/v2/{}{below_project}", self.project_id);
        let request = self.signed(method.clone(), &target, body.clone(), SystemTime::now());
        let reply = Reply::of(request.send().await.unwrap()).await;
        if self.checks {
            let (path, query) = target.split_once('?').unwrap_or((&target, ""));
            let answer = (reply.status.as_u16(), reply.text.as_bytes());
            let wrong = DESCRIPTION.check_parts(method.as_str(), path, query, &body, answer, false);
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
        reply
    }

    /// Returns a request to `target`, signed at `time`. Query values must not be percent-encoded by
    /// the caller.
    pub(crate) fn signed(
        &self,
        method: Method,
        target: &str,
        body: Vec<u8>,
        time: SystemTime,
    ) -> reqwest::RequestBuilder {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let encode = |text: &str| utf8_percent_encode(text, RESERVED).to_string();
        let mut pairs: Vec<(&str, &str)> = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .collect();
        pairs.sort_unstable();
        let query = pairs
            .iter()
            .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
            .collect::<Vec<_>>()
            .join("&");
        let date = jiff::Timestamp::try_from(time).unwrap().strftime("%Y%m%dT%H%M%SZ").to_string();
        let host = self.url.strip_prefix("http://").unwrap();
        let canonical = format!(
            "{method}\n{}/\n{query}\ncontent-type:application/json\nhost:{host}\n\
             x-sdk-date:{date}\n\ncontent-type;host;x-sdk-date\n{}",
            path.trim_end_matches('/'),
            hex::encode(&Sha256::digest(&body))
        );
        let to_sign =
            format!("SDK-HMAC-SHA256\n{date}\n{}", hex::encode(&Sha256::digest(canonical)));
        let mac = Hmac::<Sha256>::new_from_slice(self.secret_key.as_bytes()).unwrap();
        let signature = hex::encode(&mac.chain_update(to_sign).finalize().into_bytes());
        let query = if query.is_empty() { query } else { format!("?{query}") };
        self.http
            .request(method, format!("{}{path}{query}", self.url))
            .header("content-type", "application/json")
            .header("x-sdk-date", date)
            .header(
                "authorization",
                format!(
                    "SDK-HMAC-SHA256 Access={}, SignedHeaders=content-type;host;x-sdk-date, \
                     Signature={signature}",
                    self.access_key
                ),
            )
            .body(body)
    }
}

/// Gate for scripts. A script reports that it has reached the gate, and waits until the test lets
/// it through.
pub(crate) struct Gate {
    listener: TcpListener,
}

/// Script that waits at a gate. When this value is dropped, the script continues.
pub(crate) struct Waiting(TcpStream);

impl Gate {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { listener }
    }

    pub(crate) fn port(&self) -> u16 {
        self.listener.local_addr().unwrap().port()
    }

    /// Returns Python code that defines `gate()`, a function that reports to the gate and waits.
    pub(crate) fn python(&self) -> String {
        let port = self.port();
        format!(
            "import socket\ndef gate():\n    s = socket.create_connection(('127.0.0.1', \
             {port}))\n    s.sendall(b'x')\n    s.recv(1)\n"
        )
    }

    /// Waits until a script reaches the gate.
    pub(crate) async fn reached(&self) -> Waiting {
        let (mut stream, _) = self.listener.accept().await.unwrap();
        stream.read_exact(&mut [0]).await.unwrap();
        Waiting(stream)
    }
}

impl Waiting {
    /// Waits until the process at the gate has ended.
    pub(crate) async fn wait_until_gone(mut self) {
        // The socket closes with the process; the read then returns an end of file or a reset.
        let _ = self.0.read(&mut [0]).await;
    }

    pub(crate) async fn let_through(mut self) {
        self.0.write_all(b"y").await.unwrap();
    }
}

/// Waits for a sleeper on the clock, then advances the clock.
pub(crate) async fn pass(clock: &ManualClock, duration: Duration) {
    while clock.sleepers() == 0 {
        tokio::task::yield_now().await;
    }
    clock.advance(duration);
}

/// Returns true if a process exists and is not a zombie.
pub(crate) fn is_alive(pid: &str) -> bool {
    let state = if Path::new("/proc/self/stat").exists() {
        let stat = fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat"))
            .unwrap_or_default();
        stat.rsplit(')').next().unwrap_or_default().trim_start().to_owned()
    } else {
        let ps = std::process::Command::new("ps").args(["-o", "stat=", "-p", pid.trim()]).output();
        String::from_utf8(ps.unwrap().stdout).unwrap()
    };
    !state.is_empty() && !state.starts_with('Z')
}

/// Returns a client for plain HTTP. In a workspace build, a feature enables TLS, and a client
/// without a TLS configuration would panic.
pub(crate) fn http() -> reqwest::Client {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    reqwest::Client::builder()
        // The workspace enables the feature `gzip`; tests compare bytes.
        .no_gzip()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .build()
        .unwrap()
}

pub(crate) async fn put(site: &Site, path: &str, body: Value) -> Reply {
    let body = body.to_string().into_bytes();
    site.send(Method::PUT, path, body).await
}

/// Sends a GET request, signed at the time of a manual clock.
pub(crate) async fn get_at(site: &Site, clock: &ManualClock, below: &str) -> Reply {
    let target = format!("/v2/{}{below}", site.emulator.project_id());
    let request = site.signed(Method::GET, &target, Vec::new(), clock.now());
    Reply::of(request.send().await.unwrap()).await
}

/// Writes a Python package whose build runs `code` first.
pub(crate) fn slow_package(directory: &Path, code: &str) {
    std::fs::create_dir_all(directory).unwrap();
    let project =
        "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n";
    std::fs::write(directory.join("pyproject.toml"), project).unwrap();
    std::fs::write(directory.join("backend.py"), code).unwrap();
}

/// Returns the IP address of a worker of a job.
pub(crate) fn address(id: &str, index: u32) -> String {
    if !cfg!(target_os = "linux") {
        return "127.0.0.1".into();
    }
    let byte = |at: usize| u8::from_str_radix(&id[at..at + 2], 16).unwrap();
    format!("127.{}.{}.{}", byte(0) % 254 + 1, byte(2), index + 1)
}
