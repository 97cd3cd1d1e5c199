//! Cache that renews credentials before they expire.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use futures::{
    FutureExt,
    future::{Either, WeakShared, select},
};
use modelarts_api::BoxFuture;

use crate::{
    credentials::{Credentials, ProvideCredentials, ProviderContext},
    error::{Error, ErrorKind},
    timestamp::Timestamp,
};

/// Pause after a failed renewal while the old credentials are valid.
const RETRY_PAUSE: Duration = Duration::from_secs(60);
/// Pause after a rejection. Five wrong passwords within 15 minutes lock a user of IAM.
const REJECTION_PAUSE: Duration = Duration::from_secs(5 * 60);
/// Maximum time that a call waits for a renewal while the old credentials are valid.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(10);
/// Time before expiry from which credentials are no longer used, at most a quarter of their
/// lifetime.
const EXPIRY_MARGIN: Duration = Duration::from_secs(5);

/// Credentials that a source issued, with optional expiry time and project.
#[derive(Clone, Debug)]
#[must_use]
pub struct Fetched {
    credentials: Credentials,
    expires_at: Option<SystemTime>,
    project_id: Option<String>,
}

impl Fetched {
    /// Creates credentials without expiry time, which are used until the service rejects them.
    pub fn new(credentials: Credentials) -> Self {
        Self { credentials, expires_at: None, project_id: None }
    }

    /// Sets the time at which the credentials expire, by the clock of the client.
    pub fn expires_at(mut self, time: impl Into<Timestamp>) -> Self {
        self.expires_at = Some(time.into().into());
        self
    }

    /// Sets the id of the project to which the credentials belong.
    pub fn project_id(mut self, id: impl Into<String>) -> Self {
        self.project_id = Some(id.into());
        self
    }
}

/// Source that issues credentials on request. A [`CachedProvider`] caches and renews them. The
/// output of `Debug` must not contain secrets: that of [`Credentials`] does not.
///
/// ```
/// use std::time::{Duration, SystemTime};
///
/// use futures::future::BoxFuture;
/// use modelarts_ext::{
///     Client, Credentials, Error,
///     credentials::{FetchCredentials, Fetched, ProviderContext},
/// };
///
/// #[derive(Debug)]
/// struct Vault(Credentials);
///
/// impl FetchCredentials for Vault {
///     fn fetch<'a>(&'a self, _: &'a ProviderContext) -> BoxFuture<'a, Result<Fetched, Error>> {
///         let end = SystemTime::now() + Duration::from_secs(3600);
///         let issued = Fetched::new(self.0.clone()).expires_at(end);
///         Box::pin(async { Ok(issued) })
///     }
/// }
///
/// let vault = Vault(Credentials::keys("access key", "secret key"));
/// let builder = Client::builder().credentials(vault.into_provider());
/// ```
pub trait FetchCredentials: fmt::Debug + Send + Sync + 'static {
    /// Requests new credentials.
    ///
    /// # Errors
    /// Returns an error if the source issues no credentials. [`Error::is_retryable`] must be `true`
    /// for a transient error. After an error that has an HTTP status and is not retryable, no
    /// request is sent for five minutes.
    fn fetch<'a>(&'a self, context: &'a ProviderContext) -> BoxFuture<'a, Result<Fetched, Error>>;

    /// Returns the time before expiry at which credentials are renewed, at most a quarter of their
    /// lifetime. Default: five minutes.
    fn margin(&self) -> Duration {
        Duration::from_secs(5 * 60)
    }

    /// Returns advice for rejected credentials; see [`ProvideCredentials::advice`].
    fn advice(&self) -> Option<String> {
        None
    }

    /// Checks the settings of the source, as far as possible without sending a request.
    ///
    /// # Errors
    /// Returns an error with the first setting that is invalid.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Creates a provider that caches and renews the credentials of this source.
    fn into_provider(self) -> CachedProvider
    where
        Self: Sized,
    {
        CachedProvider::new(self)
    }
}

/// Provider that caches credentials and renews them before they expire.
///
/// * A renewal starts when the credentials expire in less than [`FetchCredentials::margin`], or
///   when the service rejects them.
/// * Concurrent calls share one renewal. While the old credentials are valid, the other calls use
///   the old credentials. Otherwise, all calls wait for the renewal. If the call that started the
///   renewal is dropped, another call continues the renewal.
/// * If a renewal fails or takes ten seconds, the old credentials are used while they are valid.
///   The next renewal starts after a minute, or after a quarter of the remaining time if shorter.
/// * After a response with `Retry-After`, no request is sent for this time, at most five minutes.
/// * After a rejection, for example because of a wrong password, no request is sent for five
///   minutes, so that the account is not locked. Without valid credentials, calls return the error.
///
/// Clones share the credentials. Times are measured with the clock of the client.
#[derive(Clone)]
pub struct CachedProvider(Arc<Inner>);

struct Inner {
    source: Box<dyn FetchCredentials>,
    state: Mutex<State>,
}

type Renewal = BoxFuture<'static, Result<Credentials, Error>>;

#[derive(Default)]
struct State {
    cached: Option<CachedCredentials>,
    project_id: Option<String>,
    renewal: Option<WeakShared<Renewal>>,
    /// Error that calls return without a request, and the time until which they return the error.
    rejection: Option<(Error, SystemTime)>,
}

struct CachedCredentials {
    credentials: Credentials,
    ends: Option<SystemTime>,
    renew_at: Option<SystemTime>,
}

impl State {
    fn valid(&mut self, now: SystemTime) -> Option<&mut CachedCredentials> {
        let is_valid = |cached: &&mut CachedCredentials| cached.ends.is_none_or(|ends| now < ends);
        self.cached.as_mut().filter(is_valid)
    }
}

impl CachedCredentials {
    fn postpone(&mut self, now: SystemTime, min_pause: Duration) {
        let left = self.ends.and_then(|ends| ends.duration_since(now).ok());
        let pause = left.map_or(RETRY_PAUSE, |left| RETRY_PAUSE.min(left / 4));
        self.renew_at = now.checked_add(pause.max(min_pause));
    }
}

impl CachedProvider {
    /// Creates a provider that caches the credentials of `source`.
    pub fn new(source: impl FetchCredentials) -> Self {
        Self(Arc::new(Inner { source: Box::new(source), state: Mutex::default() }))
    }

    async fn get(&self, context: &ProviderContext) -> Result<Credentials, Error> {
        let mut is_early = false;
        let renewal = {
            let mut state = self.0.lock();
            let now = context.clock.now();
            let pending = state.renewal.as_ref().and_then(WeakShared::upgrade);
            if let Some(cached) = state.valid(now) {
                if pending.is_some() || cached.renew_at.is_none_or(|at| now < at) {
                    return Ok(cached.credentials.clone());
                }
                // If the renewing call is dropped, other calls continue with the old credentials.
                cached.postpone(now, Duration::ZERO);
                is_early = true;
            } else if let Some((error, until)) = &state.rejection
                && let Ok(left) = until.duration_since(now)
                && !left.is_zero()
            {
                // The `Retry-After` of the error is reduced to the remaining time.
                let left = error.retry_after().map(|_| left);
                return Err(error.clone().with_retry_after(left));
            }
            pending.unwrap_or_else(|| {
                let (inner, context) = (Arc::clone(&self.0), context.clone());
                let renewal = async move { inner.fetch(&context).await }.boxed().shared();
                state.renewal = renewal.downgrade();
                renewal
            })
        };
        if is_early {
            let timeout = context.clock.sleep(RENEWAL_TIMEOUT);
            if let Either::Left((result, _)) = select(renewal.clone(), timeout).await {
                return result;
            }
            if let Some(cached) = self.0.lock().valid(context.clock.now()) {
                return Ok(cached.credentials.clone());
            }
        }
        renewal.await
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is valid after a panic of another thread, because no change is partial.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn fetch(&self, context: &ProviderContext) -> Result<Credentials, Error> {
        let fetched = self.source.fetch(context).await;
        let now = context.clock.now();
        let mut state = self.lock();
        state.renewal = None;
        let error = match fetched.and_then(|fetched| self.store(&mut state, fetched, now)) {
            Ok(credentials) => return Ok(credentials),
            Err(error) => error,
        };
        let is_rejection = error.status().is_some() && !error.is_retryable();
        let retry_after = || error.retry_after().map(|wait| wait.min(REJECTION_PAUSE));
        let pause = is_rejection.then_some(REJECTION_PAUSE).or_else(retry_after);
        if let Some(pause) = pause {
            let until = now.checked_add(pause).unwrap_or(now);
            state.rejection = Some((error.clone(), until));
        }
        let Some(cached) = state.valid(now) else {
            return Err(error);
        };
        cached.postpone(now, pause.unwrap_or_default());
        tracing::warn!(
            source = ?self.source,
            %error,
            "credentials cannot be renewed; the old ones are used while they are valid"
        );
        Ok(cached.credentials.clone())
    }

    fn store(
        &self,
        state: &mut State,
        fetched: Fetched,
        now: SystemTime,
    ) -> Result<Credentials, Error> {
        let credentials = fetched.credentials;
        credentials.check()?;
        let (mut ends, mut renew_at) = (None, None);
        if let Some(end) = fetched.expires_at {
            let left = end.duration_since(now).unwrap_or_default();
            if left.is_zero() {
                return Err(Error::new(
                    ErrorKind::Credentials,
                    format!(
                        "new credentials end at {}, and it is {} here; check the clock of this \
                         machine",
                        format_time(end),
                        format_time(now)
                    ),
                ));
            }
            ends = end.checked_sub(EXPIRY_MARGIN.min(left / 4));
            renew_at = end.checked_sub(self.source.margin().min(left / 4));
        }
        state.project_id = fetched.project_id.or(state.project_id.take());
        state.rejection = None;
        state.cached = Some(CachedCredentials { credentials: credentials.clone(), ends, renew_at });
        tracing::debug!(source = ?self.source, "credentials renewed");
        Ok(credentials)
    }
}

fn format_time(time: SystemTime) -> String {
    jiff::Timestamp::try_from(time).unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

impl ProvideCredentials for CachedProvider {
    fn credentials<'a>(
        &'a self,
        context: &'a ProviderContext,
    ) -> BoxFuture<'a, Result<Credentials, Error>> {
        Box::pin(self.get(context))
    }

    fn renew(&self, rejected: &Credentials) -> bool {
        let is_rejected = |cached: &mut CachedCredentials| cached.credentials.0 == rejected.0;
        self.0.lock().cached.take_if(is_rejected);
        true
    }

    fn project_id(&self) -> Option<String> {
        self.0.lock().project_id.clone()
    }

    fn advice(&self) -> Option<String> {
        self.0.source.advice()
    }

    fn check(&self) -> Result<(), Error> {
        self.0.source.check()
    }
}

impl fmt::Debug for CachedProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CachedProvider").field(&self.0.source).finish()
    }
}
