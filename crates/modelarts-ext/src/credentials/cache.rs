//! Credentials that expire: kept, and renewed before they do.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use futures::{
    FutureExt,
    future::{Either, Shared, WeakShared, select},
};
use modelarts_api::BoxFuture;

use crate::{
    credentials::{Credentials, ProvideCredentials, ProviderContext},
    error::Error,
};

/// After a failure the next try to renew waits this long, while the old credentials
/// still serve.
const PAUSE: Duration = Duration::from_secs(60);
/// A refusal is given again without asking for this long: five wrong passwords
/// within a quarter of an hour lock a user of IAM. Nobody who asks to wait is
/// believed to need longer either.
const REFUSED: Duration = Duration::from_secs(5 * 60);
/// While the old credentials still serve, no call waits longer for new ones.
const PATIENCE: Duration = Duration::from_secs(10);
/// Credentials are not used in the last moments of their life: a request takes time.
const LAST: Duration = Duration::from_secs(5);

/// Credentials as they were fetched.
#[derive(Clone, Debug)]
#[must_use]
pub struct Fetched {
    credentials: Credentials,
    expires_at: Option<SystemTime>,
    project_id: Option<String>,
}

impl Fetched {
    /// Credentials that are good until they are refused.
    pub fn new(credentials: Credentials) -> Self {
        Self {
            credentials,
            expires_at: None,
            project_id: None,
        }
    }

    /// When they end, by the clock of the client.
    pub fn expires_at(mut self, time: SystemTime) -> Self {
        self.expires_at = Some(time);
        self
    }

    /// The project that they are for.
    pub fn project_id(mut self, id: impl Into<String>) -> Self {
        self.project_id = Some(id.into());
        self
    }
}

/// Gets new credentials from somewhere. [`CachedProvider`] makes a provider of it, which
/// keeps them and asks again in time.
pub trait FetchCredentials: fmt::Debug + Send + Sync + 'static {
    /// Asks for new credentials.
    ///
    /// # Errors
    /// Why there are none. What may pass by itself is an error that
    /// [`Error::is_retryable`] is true for. An error that carries the HTTP status of a
    /// refusal is final for five minutes: nobody is asked meanwhile.
    fn fetch<'a>(&'a self, tools: &'a ProviderContext) -> BoxFuture<'a, Result<Fetched, Error>>;

    /// How long before their end credentials are renewed. Of credentials that live
    /// shorter than four times this it is a quarter of their life.
    fn margin(&self) -> Duration {
        Duration::from_secs(5 * 60)
    }

    /// What is wrong before anything is sent, if that can be known.
    ///
    /// # Errors
    /// What is wrong.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// A provider that keeps what is fetched, and renews it.
    fn renewing(self) -> CachedProvider
    where
        Self: Sized,
    {
        CachedProvider::new(self)
    }
}

/// Keeps credentials and renews them before they expire.
///
/// * They are renewed when less than [`FetchCredentials::margin`] is left, or when
///   the service refuses them.
/// * One task renews, however many need credentials. While the old ones are valid the
///   others go on with them; otherwise all wait for the same answer. Should the
///   first of them be dropped, another carries on.
/// * When that fails, or takes ten seconds, the old ones are used as long as they are
///   valid. The next try is a minute later, or after a quarter of the time that is left.
/// * Who answers with `Retry-After` is not asked before that time, or for five minutes.
/// * A refusal, such as of a wrong password, is given to everyone who asks in the next
///   five minutes without asking again, so that no account is locked.
///
/// Clones share what they keep. Time is taken from the clock of the client.
#[derive(Clone)]
pub struct CachedProvider(Arc<Inner>);

struct Inner {
    source: Box<dyn FetchCredentials>,
    state: Mutex<State>,
}

type Flight = BoxFuture<'static, Result<Credentials, Error>>;

#[derive(Default)]
struct State {
    held: Option<Held>,
    project_id: Option<String>,
    /// The fetch under way. It lives as long as somebody waits for it.
    flight: Option<WeakShared<Flight>>,
    /// What is said without asking, and until when.
    refused: Option<(Error, SystemTime)>,
}

struct Held {
    credentials: Credentials,
    /// `None`: until they are refused.
    ends: Option<SystemTime>,
    /// When to renew them, moved on by failures.
    renew_at: Option<SystemTime>,
}

impl Held {
    fn valid(&self, now: SystemTime) -> bool {
        self.ends.is_none_or(|ends| now < ends)
    }

    /// Renews them later, and not before it is asked for.
    fn postpone(&mut self, now: SystemTime, asked: Duration) {
        let left = self.ends.and_then(|ends| ends.duration_since(now).ok());
        let pause = left.map_or(PAUSE, |left| PAUSE.min(left / 4));
        self.renew_at = now.checked_add(pause.max(asked));
    }
}

impl CachedProvider {
    /// Keeps and renews what `source` fetches.
    pub fn new(source: impl FetchCredentials) -> Self {
        Self(Arc::new(Inner {
            source: Box::new(source),
            state: Mutex::default(),
        }))
    }

    /// What to wait for, or what is there.
    fn next(&self, tools: &ProviderContext) -> Result<Credentials, Next> {
        let mut state = self.0.lock();
        let now = tools.clock.now();
        let flight = state.flight.as_ref().and_then(WeakShared::upgrade);
        let mut wait: fn(Shared<Flight>) -> Next = Next::Wait;
        if let Some(held) = state.held.as_mut().filter(|held| held.valid(now)) {
            let fresh = held.renew_at.is_none_or(|at| now < at);
            if fresh || flight.is_some() {
                return Ok(held.credentials.clone());
            }
            // Should whoever renews be dropped, the others have the old ones meanwhile.
            held.postpone(now, Duration::ZERO);
            wait = Next::Renew;
        } else if let Some((error, until)) = &state.refused
            && let Ok(left) = until.duration_since(now)
            && !left.is_zero()
        {
            // Whoever may ask again is to do so when the others may.
            let left = error.retry_after().map(|_| left);
            return Err(Next::Refused(error.clone().with_retry_after(left)));
        }
        let flight = flight.unwrap_or_else(|| {
            let inner = Arc::clone(&self.0);
            let tools = tools.clone();
            let fetch: Flight = Box::pin(async move { inner.fetch(&tools).await });
            let flight = fetch.shared();
            state.flight = flight.downgrade();
            flight
        });
        Err(wait(flight))
    }
}

enum Next {
    /// Nothing is there but this.
    Wait(Shared<Flight>),
    /// The old ones serve for a while yet.
    Renew(Shared<Flight>),
    Refused(Error),
}

impl Inner {
    /// What is held, as long as it is valid.
    fn valid(&self, now: SystemTime) -> Option<Credentials> {
        let state = self.lock();
        let held = state.held.as_ref().filter(|held| held.valid(now))?;
        Some(held.credentials.clone())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is written whole; a panic elsewhere leaves a good state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fetches, once for everyone who waits.
    async fn fetch(&self, tools: &ProviderContext) -> Result<Credentials, Error> {
        let fetched = self.source.fetch(tools).await;
        let now = tools.clock.now();
        let mut state = self.lock();
        state.flight = None;
        let error = match fetched {
            Ok(fetched) => match self.keep(&mut state, fetched, now) {
                Ok(credentials) => return Ok(credentials),
                Err(error) => error,
            },
            Err(error) => error,
        };
        let asked = error.retry_after().map(|wait| wait.min(REFUSED));
        let silence = if error.status().is_some() && !error.is_retryable() {
            Some(REFUSED)
        } else {
            asked
        };
        if let Some(silence) = silence {
            let until = now.checked_add(silence).unwrap_or(now);
            state.refused = Some((error.clone(), until));
        }
        let Some(held) = state.held.as_mut().filter(|held| held.valid(now)) else {
            return Err(error);
        };
        held.postpone(now, asked.unwrap_or_default());
        tracing::warn!(
            source = ?self.source,
            %error,
            "credentials cannot be renewed; the old ones are used while they are valid"
        );
        Ok(held.credentials.clone())
    }

    fn keep(
        &self,
        state: &mut State,
        fetched: Fetched,
        now: SystemTime,
    ) -> Result<Credentials, Error> {
        let Fetched {
            credentials,
            expires_at,
            project_id,
        } = fetched;
        credentials.check()?;
        let mut renew_at = None;
        if let Some(end) = expires_at {
            let Some(left) = end.duration_since(now).ok().filter(|left| *left > LAST) else {
                return Err(Error::new(
                    crate::error::ErrorKind::Credentials,
                    format!(
                        "new credentials end at {}, and it is {} here; check the clock of this \
                         machine",
                        written(end),
                        written(now)
                    ),
                ));
            };
            renew_at = end.checked_sub(self.source.margin().min(left / 4));
        }
        state.project_id = project_id.or(state.project_id.take());
        state.refused = None;
        state.held = Some(Held {
            credentials: credentials.clone(),
            ends: expires_at.map(|end| end.checked_sub(LAST).unwrap_or(end)),
            renew_at,
        });
        tracing::debug!(source = ?self.source, "credentials renewed");
        Ok(credentials)
    }
}

/// A time, for people.
fn written(time: SystemTime) -> String {
    jiff::Timestamp::try_from(time)
        .unwrap_or_default()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}

impl ProvideCredentials for CachedProvider {
    fn credentials<'a>(
        &'a self,
        tools: &'a ProviderContext,
    ) -> BoxFuture<'a, Result<Credentials, Error>> {
        Box::pin(async move {
            match self.next(tools) {
                Ok(credentials) => Ok(credentials),
                Err(Next::Wait(flight)) => flight.await,
                Err(Next::Renew(flight)) => {
                    match select(flight, tools.clock.sleep(PATIENCE)).await {
                        Either::Left((outcome, _)) => outcome,
                        Either::Right(((), flight)) => match self.0.valid(tools.clock.now()) {
                            Some(credentials) => Ok(credentials),
                            None => flight.await,
                        },
                    }
                }
                Err(Next::Refused(error)) => Err(error),
            }
        })
    }

    fn renew(&self, refused: &Credentials) -> bool {
        let mut state = self.0.lock();
        if let Some(held) = &state.held
            && held.credentials.0 == refused.0
        {
            state.held = None;
        }
        true
    }

    fn project_id(&self) -> Option<String> {
        self.0.lock().project_id.clone()
    }

    fn check(&self) -> Result<(), Error> {
        self.0.source.check()
    }
}

impl fmt::Debug for CachedProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CachedProvider")
            .field(&self.0.source)
            .finish()
    }
}
