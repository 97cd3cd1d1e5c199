//! `Console`: the running server, and its settings.

use std::{
    env, io,
    net::{self, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{Router, http::StatusCode, middleware, response::Redirect, routing::get};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use modelarts_ext::{Client, config::Cloud};
use modelarts_obs::Staging;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OnceCell, watch},
    task::{JoinHandle, JoinSet},
};

use crate::{
    access::keys::Access,
    administration::{Administration, local_root},
    assets,
    choices::Choices,
    create,
    drafts::{Drafts, Limits},
    emulator,
    facts::Facts,
    guard::{self, guard},
    job, jobs,
    live::Watches,
    problem::Problem,
    service_clock::ServiceClock,
    site::{Cached, Settings, Site, State},
    temporary,
};

/// Default pauses between polls of a remote service, and of a service on this machine.
const INTERVAL: Duration = Duration::from_secs(5);
const LOCAL_INTERVAL: Duration = Duration::from_millis(500);
/// Time after which the clocks of this machine and of a real service are compared again. For an
/// emulator, whose clock may be moved at any time, it is the poll interval.
const CLOCK_AGE: Duration = Duration::from_secs(600);
/// Maximum time for the server to close its connections.
const SHUTDOWN: Duration = Duration::from_secs(2);

/// Maximum time for receiving the headers of a request, as in the emulator.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time for open responses to finish when the server ends.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);
/// Delay after a failed `accept`, for example if file descriptors are exhausted.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// The running web server of the console. The server ends when this value is dropped.
#[must_use]
pub struct Console {
    state: State,
    address: SocketAddr,
    closing: watch::Sender<bool>,
    server: JoinHandle<()>,
}

/// Settings of a [`Console`].
#[must_use]
pub struct ConsoleBuilder {
    client: Client,
    staging: Option<Staging>,
    listen: SocketAddr,
    listener: Option<net::TcpListener>,
    context: Option<String>,
    flavor: Option<String>,
    is_read_only: bool,
    interval: Option<Duration>,
    key: Option<Vec<u8>>,
    on_login: Box<dyn Fn(&str) + Send + Sync>,
}

impl Console {
    /// Returns a builder for a page with the jobs of the client's project.
    pub fn builder(client: Client) -> ConsoleBuilder {
        ConsoleBuilder {
            client,
            staging: None,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            listener: None,
            context: None,
            flavor: None,
            is_read_only: false,
            interval: None,
            key: None,
            on_login: Box::new(|_| ()),
        }
    }

    /// Returns the address of the page, such as `http://127.0.0.1:8900`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the link that logs a browser in. The link can be used once; the function of
    /// [`on_login_link`](ConsoleBuilder::on_login_link) receives the next link.
    #[must_use]
    pub fn login_url(&self) -> String {
        login_url(self.address, &self.state.access.link())
    }

    /// Ends the server. Open pages reconnect when another server listens on the same port.
    pub async fn shutdown(mut self) {
        let _ = self.closing.send(true);
        self.state.watches.close();
        let _ = tokio::time::timeout(SHUTDOWN, &mut self.server).await;
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.state.watches.close();
        self.server.abort();
        // Deletes the files even if requests or the creation of a job still use them.
        self.state.drafts.close();
    }
}

fn login_url(address: SocketAddr, link: &str) -> String {
    format!("http://{address}/login?token={link}")
}

impl ConsoleBuilder {
    /// Sets the loopback address to listen on. Default: a free port of 127.0.0.1.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// Sets the listening socket, which replaces the address. If the program keeps a clone of the
    /// socket, connections wait until the next server starts.
    pub fn listener(mut self, listener: net::TcpListener) -> Self {
        self.listener = Some(listener);
        self
    }

    /// Sets the staging for code and data dropped on the form. Default: that of the client.
    pub fn staging(mut self, staging: Staging) -> Self {
        self.staging = Some(staging);
        self
    }

    /// Sets the name of the context for the commands that the page shows.
    pub fn context(mut self, name: impl Into<String>) -> Self {
        self.context = Some(name.into());
        self
    }

    /// Sets the flavor that a new form has. By default, the user chooses one.
    pub fn flavor(mut self, id: impl Into<Option<String>>) -> Self {
        self.flavor = id.into();
        self
    }

    /// Sets whether the page rejects all changes. Default: `false`.
    pub fn read_only(mut self, is_read_only: bool) -> Self {
        self.is_read_only = is_read_only;
        self
    }

    /// Sets the pause between two polls of the service. Default: 5 seconds, or half a second if the
    /// service is on this machine.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = Some(interval);
        self
    }

    /// Sets the key of the sessions. A server with the same key and port accepts the sessions of an
    /// earlier server. Default: a random key.
    pub fn session_key(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sets the function that receives the next login link after a link was used.
    pub fn on_login_link(mut self, function: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_login = Box::new(function);
        self
    }

    /// Starts the server.
    ///
    /// # Errors
    /// Returns an error if the address is not a loopback address, if listening on it fails, or if
    /// the system has no random numbers.
    pub async fn start(self) -> io::Result<Console> {
        let address = match &self.listener {
            Some(listener) => listener.local_addr()?,
            None => self.listen,
        };
        if !address.ip().is_loopback() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("the address must be a loopback address, and is {}", address.ip()),
            ));
        }
        let listener = match self.listener {
            Some(listener) => {
                listener.set_nonblocking(true)?;
                TcpListener::from_std(listener)?
            }
            None => TcpListener::bind(address).await?,
        };
        let address = listener.local_addr()?;
        let on_login = self.on_login;
        let on_used = Box::new(move |link: &str| on_login(&login_url(address, link)));
        // A server on another port must not accept the sessions of this server.
        let key = self.key.map(|key| [&key, &address.port().to_be_bytes()[..]].concat());
        let access = Access::new(key.as_deref(), on_used);
        let access = access.map_err(|_| io::Error::other("the system has no random numbers"))?;
        let is_local = local_root(self.client.endpoint()).is_some();
        let default_interval = if is_local { LOCAL_INTERVAL } else { INTERVAL };
        let interval = self.interval.unwrap_or(default_interval);
        let emulator = Administration::find(&self.client).await;
        let clock_age = match emulator {
            Some(_) => interval,
            None => CLOCK_AGE,
        };
        let (closing, closed) = watch::channel(false);
        let state = State(Arc::new(Site {
            staging: self.staging.unwrap_or_else(|| Staging::new(&self.client)),
            settings: Settings {
                service: service_name(&self.client, emulator.is_some()),
                context: self.context,
                flavor: self.flavor,
                is_read_only: self.is_read_only,
                interval,
                address,
                cookie: format!("modelarts-console-{}", address.port()),
            },
            access,
            drafts: Drafts::new(Limits::default()),
            cached: Cached {
                choices: Choices::default(),
                facts: Facts::new(interval),
                clock: ServiceClock::new(clock_age),
                user: OnceCell::new(),
            },
            watches: Watches::new(interval),
            closed: closed.clone(),
            emulator,
            client: self.client,
        }));
        // The deletion runs in the background, because there may be many files.
        tokio::task::spawn_blocking(|| temporary::remove_abandoned(&env::temp_dir()));
        let server = serve(listener, router(state.clone()), closed);
        let server = tokio::spawn(server);
        Ok(Console { state, address, closing, server })
    }
}

fn service_name(client: &Client, is_emulator: bool) -> String {
    match (is_emulator, client.region()) {
        (true, _) => "Emulator".to_owned(),
        (false, Some(region)) => match client.cloud() {
            Cloud::Otc => format!("Open Telekom Cloud {region}"),
            _ => format!("Huawei Cloud {region}"),
        },
        (false, None) => client.endpoint().to_owned(),
    }
}

fn router(state: State) -> Router {
    Router::new()
        .route("/", get(|| async { Redirect::to("/jobs") }))
        .merge(guard::routes())
        .merge(assets::routes())
        .merge(jobs::routes())
        .merge(job::routes())
        .merge(create::routes())
        .merge(emulator::routes())
        .method_not_allowed_fallback(|| async {
            Problem::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "Not possible",
                "this address only takes changes, or only shows a page",
            )
        })
        .fallback(|| async { Problem::not_found("the page has no such address") })
        .layer(middleware::from_fn_with_state(state.clone(), guard))
        .with_state(state)
}

/// Serves connections until `closed` is `true`. The server of axum has no time limit for request
/// headers, so connections that send nothing could use up all file descriptors.
async fn serve(listener: TcpListener, router: Router, closed: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_connection(stream, router.clone(), closed.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection cannot be accepted");
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            },
            Some(_) = connections.join_next() => {}
            () = wait_until(closed.clone()) => break,
        }
    }
    drop(listener);
    let rest = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(SHUTDOWN_GRACE, rest).await;
    connections.shutdown().await;
}

async fn wait_until(mut closed: watch::Receiver<bool>) {
    // An error means that the console was dropped.
    let _ = closed.wait_for(|closed| *closed).await;
}

async fn serve_connection(stream: TcpStream, router: Router, closed: watch::Receiver<bool>) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    tokio::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = wait_until(closed) => connection.as_mut().graceful_shutdown(),
    }
    // Errors, such as a connection that the browser has closed, are ignored.
    let _ = connection.await;
}
