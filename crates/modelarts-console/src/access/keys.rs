//! `Access`: the login link and the sessions.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use modelarts_ext::api::hex;
use parking_lot::Mutex;
use ring::{
    hmac,
    rand::{SecureRandom, SystemRandom},
};
use tokio::sync::watch;

/// Time after which a session expires.
pub(crate) const SESSION_TIME: Duration = Duration::from_secs(12 * 3_600);
/// Length of random values, in bytes.
const RANDOM: usize = 32;

/// Login link, and key that signs sessions. A session is a token `ID.EXPIRY.SIGNATURE`. Only
/// sessions that the user has ended are stored, so sessions survive a restart with the same key.
pub(crate) struct Access {
    key: hmac::Key,
    random: SystemRandom,
    /// Value of the login link that is currently valid.
    link: Mutex<String>,
    /// Sessions that the user has ended, as `ID.EXPIRY`, with their expiry in seconds since 1970.
    ended: watch::Sender<BTreeMap<String, u64>>,
    /// Function that receives the value of the next link after a link was used.
    on_used: Box<dyn Fn(&str) + Send + Sync>,
}

impl Access {
    /// Creates the first login link. Sessions are signed by `key`, or else by a random key.
    pub(crate) fn new(
        key: Option<&[u8]>,
        on_used: Box<dyn Fn(&str) + Send + Sync>,
    ) -> Result<Self, ring::error::Unspecified> {
        let random = SystemRandom::new();
        let made = random_text(&random)?;
        let key = key.unwrap_or(made.as_bytes());
        Ok(Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, key),
            link: Mutex::new(random_text(&random)?),
            ended: watch::Sender::default(),
            random,
            on_used,
        })
    }

    pub(crate) fn link(&self) -> String {
        self.link.lock().clone()
    }

    /// Exchanges the value of a login link, which can be used once, for a session. Returns `None`
    /// if the link is not valid, or if the system has no random numbers.
    pub(crate) fn log_in(&self, given: &str) -> Option<String> {
        let next = {
            let mut link = self.link.lock();
            self.equal(given, &link).then_some(())?;
            let next = random_text(&self.random).ok()?;
            link.clone_from(&next);
            next
        };
        (self.on_used)(&next);
        let id = random_text(&self.random).ok()?;
        let expiry = now() + SESSION_TIME.as_secs();
        let text = format!("{id}.{expiry}");
        let signature = hex::encode(self.sign(&text).as_ref());
        Some(format!("{text}.{signature}"))
    }

    /// Returns the CSRF token that requests for changes in this session must contain. Returns
    /// `None` if the session is not valid.
    pub(crate) fn csrf(&self, session: &str) -> Option<String> {
        let (text, expiry) = self.verify(session)?;
        let is_valid = now() < expiry && !self.ended.borrow().contains_key(text);
        is_valid.then(|| hex::encode(self.sign(&format!("csrf {session}")).as_ref()))
    }

    /// Revokes a valid session, including all copies of its token.
    pub(crate) fn log_out(&self, session: &str) {
        if let Some((text, expiry)) = self.verify(session) {
            self.ended.send_modify(|ended| {
                ended.retain(|_, expiry| now() < *expiry);
                ended.insert(text.to_owned(), expiry);
            });
        }
    }

    pub(crate) fn wait_for_end(&self, session: &str) -> impl Future<Output = ()> + use<> {
        let mut ended = self.ended.subscribe();
        let session = session.to_owned();
        async move {
            let is_own = |text: &String| session.starts_with(text);
            let _ = ended.wait_for(|ended| ended.keys().any(is_own)).await;
        }
    }

    /// Returns `ID.EXPIRY` and the expiry of a session. Returns `None` if the signature is invalid.
    fn verify<'a>(&self, session: &'a str) -> Option<(&'a str, u64)> {
        let (text, signature) = session.rsplit_once('.')?;
        self.equal(signature, &hex::encode(self.sign(text).as_ref())).then_some(())?;
        let (_, expiry) = text.rsplit_once('.')?;
        Some((text, expiry.parse().ok()?))
    }

    /// Compares two texts in constant time.
    fn equal(&self, given: &str, expected: &str) -> bool {
        hmac::verify(&self.key, given.as_bytes(), self.sign(expected).as_ref()).is_ok()
    }

    fn sign(&self, text: &str) -> hmac::Tag {
        hmac::sign(&self.key, text.as_bytes())
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

fn random_text(random: &SystemRandom) -> Result<String, ring::error::Unspecified> {
    let mut bytes = [0; RANDOM];
    random.fill(&mut bytes)?;
    Ok(hex::encode(&bytes))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn access() -> (Access, Arc<Mutex<Vec<String>>>) {
        let links = Arc::new(Mutex::new(Vec::new()));
        let used = Arc::clone(&links);
        let on_used = Box::new(move |link: &str| used.lock().push(link.to_owned()));
        (Access::new(Some(b"key"), on_used).unwrap(), links)
    }

    #[test]
    fn a_login_link_is_valid_once_and_the_next_one_is_reported() {
        let (access, links) = access();
        let link = access.link();
        assert!(access.log_in("").is_none());
        assert!(access.log_in(&link).is_some());
        assert!(access.log_in(&link).is_none());
        assert_eq!(*links.lock(), [access.link()]);
    }

    #[test]
    fn a_session_is_valid_after_a_restart_with_the_same_key_only() {
        let (first, _) = access();
        let session = first.log_in(&first.link()).unwrap();
        let csrf = first.csrf(&session).unwrap();
        let (second, _) = access();
        assert_eq!(second.csrf(&session), Some(csrf));
        let other = Access::new(None, Box::new(|_| ())).unwrap();
        assert_eq!(other.csrf(&session), None);
        assert_eq!(second.csrf(&format!("{session}0")), None);
        assert_eq!(second.csrf(""), None);
    }

    #[test]
    fn an_expired_session_is_not_valid() {
        let (access, _) = access();
        let text = format!("id.{}", now());
        let session = format!("{text}.{}", hex::encode(access.sign(&text).as_ref()));
        assert_eq!(access.csrf(&session), None);
        let text = format!("id.{}", now() + 60);
        let session = format!("{text}.{}", hex::encode(access.sign(&text).as_ref()));
        assert!(access.csrf(&session).is_some());
    }
}
