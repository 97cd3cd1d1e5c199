//! Accounts: users, their access keys and tokens, and the locks of keys after wrong signatures.

pub(crate) mod authenticate;
pub(crate) mod signature;

use std::{collections::HashMap, sync::Arc, time::Duration};

use modelarts_api::hex;
use parking_lot::Mutex;
use rusqlite::{OptionalExtension, Row, params};
use serde::Deserialize;
use uuid::Uuid;

use crate::{api::error::ApiError, clock::timestamp::Timestamp, database::Database};

/// Number of consecutive wrong signatures after which an access key is locked for `LOCK_TIME`.
const MAX_FAILURES: u32 = 5;
const LOCK_TIME: Duration = Duration::from_secs(5 * 60);
const TOKEN_LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// Time in milliseconds for which expired tokens and keys are kept, to report their expiration.
const EXPIRED_KEPT_MILLIS: i64 = 7 * 24 * 60 * 60 * 1000;

/// A user of the emulator, with one project. Several users may share a project.
///
/// A file of users is a JSON list of objects with these members; only `name` is required.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct User {
    /// Name of the user: `metadata.user_name` of the user's jobs, and the name in token logins.
    pub name: String,
    /// The id of the user. Defaults to an id derived from the name.
    #[serde(default)]
    pub id: String,
    /// The password for token logins. If it is `None`, token logins are rejected.
    #[serde(default)]
    pub password: Option<String>,
    /// The name of the domain (account). Defaults to `emulator`.
    #[serde(default = "default_domain")]
    pub domain: String,
    /// The id of the project. Defaults to a random id, new at each start.
    #[serde(default = "random_id")]
    pub project_id: String,
    /// The name of the project. Defaults to the region of the cloud.
    #[serde(default)]
    pub project_name: String,
    /// The access key. Defaults to a random key, new at each start.
    #[serde(default = "random_key")]
    pub access_key: String,
    /// The secret key. Defaults to a random key, new at each start.
    #[serde(default = "random_secret")]
    pub secret_key: String,
    /// The security token of a temporary access key, which requests must send in
    /// `X-Security-Token`. If it is `None`, the access key is permanent.
    #[serde(default)]
    pub security_token: Option<String>,
    /// `true` if the user may give jobs the priority 3. Defaults to `false`.
    #[serde(default)]
    pub may_set_high_priority: bool,
    /// `true` if the project has authorised ModelArts, as new jobs require. Defaults to `true`.
    #[serde(default = "default_true")]
    pub authorized: bool,
    /// `true` if the account is frozen and cannot create jobs. Defaults to `false`.
    #[serde(default)]
    pub frozen: bool,
}

fn default_domain() -> String {
    "emulator".into()
}

fn random_id() -> String {
    Uuid::new_v4().simple().to_string()
}

fn random_key() -> String {
    random_id()[..20].to_ascii_uppercase()
}

fn random_secret() -> String {
    format!("{}{}", random_id(), random_id())
}

const fn default_true() -> bool {
    true
}

impl User {
    /// Creates a user named `name`, with a random project id, random keys, and all permissions
    /// except that for priority 3.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            id: String::new(),
            password: None,
            domain: default_domain(),
            project_id: random_id(),
            project_name: String::new(),
            access_key: random_key(),
            secret_key: random_secret(),
            security_token: None,
            may_set_high_priority: false,
            authorized: true,
            frozen: false,
        }
    }

    /// Reads users from a JSON list.
    ///
    /// # Errors
    /// Returns an error message if the text is not a JSON list of users, or if the list is empty.
    pub fn list_from_json(text: &str) -> Result<Vec<Self>, String> {
        let users: Vec<Self> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if users.is_empty() {
            return Err("it must have at least one user".into());
        }
        Ok(users)
    }
}

impl std::fmt::Debug for User {
    /// Formats the user without its secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("User")
            .field("name", &self.name)
            .field("project_id", &self.project_id)
            .finish_non_exhaustive()
    }
}

pub(crate) struct Accounts {
    users: Vec<User>,
    /// Accepted tokens of the first user, which do not expire.
    tokens: Vec<String>,
    /// Number of consecutive wrong signatures by access key, with the time of the last one.
    failures: Mutex<HashMap<String, (u32, Timestamp)>>,
    database: Arc<Database>,
}

pub(crate) struct KnownKey {
    pub(crate) secret: String,
    /// Required value of the header `X-Security-Token`. `None` for a permanent access key.
    pub(crate) security_token: Option<String>,
    pub(crate) expires: Option<Timestamp>,
    pub(crate) user: usize,
}

impl Accounts {
    /// Sets missing user ids and project names. `users` must not be empty; its first owns `tokens`.
    pub(crate) fn new(
        mut users: Vec<User>,
        tokens: Vec<String>,
        region: &str,
        database: &Arc<Database>,
    ) -> Self {
        for user in &mut users {
            if user.project_name.is_empty() {
                region.clone_into(&mut user.project_name);
            }
            if user.id.is_empty() {
                user.id = format!("{:0>32}", hex::encode(user.name.as_bytes()));
            }
        }
        Self { users, tokens, failures: Mutex::default(), database: Arc::clone(database) }
    }

    pub(crate) fn users(&self) -> &[User] {
        &self.users
    }

    pub(crate) fn user(&self, at: usize) -> &User {
        &self.users[at.min(self.users.len() - 1)]
    }

    pub(crate) fn log_in(&self, name: &str, domain: Option<&str>, password: &str) -> Option<usize> {
        self.users.iter().position(|user| {
            user.name == name
                && domain.is_none_or(|domain| domain == user.domain)
                && user.password.as_deref() == Some(password)
        })
    }

    /// Finds the user with the name, domain and project id in the first three columns of a row.
    fn user_of_row(&self, row: &Row<'_>) -> rusqlite::Result<Option<usize>> {
        let name = row.get_ref(0)?.as_str()?;
        let domain = row.get_ref(1)?.as_str()?;
        let project = row.get_ref(2)?.as_str()?;
        Ok(self.users.iter().position(|user| {
            user.name == name && user.domain == domain && user.project_id == project
        }))
    }

    pub(crate) fn issue_token(
        &self,
        user: usize,
        now: Timestamp,
    ) -> rusqlite::Result<(String, Timestamp)> {
        let expires = now.plus(TOKEN_LIFE);
        let text = format!("MIIE{}{}", random_id(), random_id());
        let user = self.user(user);
        self.database.write(|connection| {
            let sql = "DELETE FROM tokens WHERE expires < ?1";
            connection.execute(sql, [now.millis() - EXPIRED_KEPT_MILLIS])?;
            let sql = "INSERT INTO tokens (token, user_name, domain, project, expires)
                       VALUES (?1, ?2, ?3, ?4, ?5)";
            let (name, domain, project) = (&user.name, &user.domain, &user.project_id);
            let values = params![text, name, domain, project, expires.millis()];
            connection.execute(sql, values)
        })?;
        Ok((text, expires))
    }

    pub(crate) fn user_by_token(&self, text: &[u8], now: Timestamp) -> Result<usize, ApiError> {
        if self.tokens.iter().any(|token| token.as_bytes() == text) {
            return Ok(0);
        }
        let sql = "SELECT user_name, domain, project, expires FROM tokens WHERE token = ?1";
        let text = std::str::from_utf8(text).unwrap_or_default();
        let found = self.database.read(|connection| {
            let mut select = connection.prepare_cached(sql)?;
            let found = select.query_row([text], |row| {
                let expires = Timestamp::from_millis(row.get(3)?);
                Ok(self.user_of_row(row)?.map(|user| (user, expires)))
            });
            found.optional()
        })?;
        match found.flatten() {
            None => Err(ApiError::not_authenticated("decrypt token fail")),
            Some((_, expires)) if expires <= now => Err(expired(expires)),
            Some((user, _)) => Ok(user),
        }
    }

    pub(crate) fn issue_keys(
        &self,
        user: usize,
        life: Duration,
        now: Timestamp,
    ) -> rusqlite::Result<IssuedKeys> {
        let issued = IssuedKeys {
            access_key: random_key(),
            secret_key: random_secret(),
            security_token: format!("ggp{}{}", random_id(), random_id()),
            expires: now.plus(life),
        };
        let user = self.user(user);
        self.database.write(|connection| {
            let sql = "DELETE FROM keys WHERE expires < ?1";
            connection.execute(sql, [now.millis() - EXPIRED_KEPT_MILLIS])?;
            let sql = "INSERT INTO keys (access_key, secret_key, security_token, user_name,
                       domain, project, expires) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
            let values = params![
                issued.access_key,
                issued.secret_key,
                issued.security_token,
                user.name,
                user.domain,
                user.project_id,
                issued.expires.millis(),
            ];
            connection.execute(sql, values)
        })?;
        Ok(issued)
    }

    pub(crate) fn key(&self, access_key: &str) -> rusqlite::Result<Option<KnownKey>> {
        let mut users = self.users.iter().zip(0..);
        if let Some((user, at)) = users.find(|(user, _)| user.access_key == access_key) {
            return Ok(Some(KnownKey {
                secret: user.secret_key.clone(),
                security_token: user.security_token.clone(),
                expires: None,
                user: at,
            }));
        }
        let sql = "SELECT user_name, domain, project, secret_key, security_token, expires
                   FROM keys WHERE access_key = ?1";
        let found = self.database.read(|connection| {
            let mut select = connection.prepare_cached(sql)?;
            let found = select.query_row([access_key], |row| {
                let (secret, security_token, expires) = (row.get(3)?, row.get(4)?, row.get(5)?);
                Ok(self.user_of_row(row)?.map(|user| KnownKey {
                    secret,
                    security_token: Some(security_token),
                    expires: Some(Timestamp::from_millis(expires)),
                    user,
                }))
            });
            found.optional()
        })?;
        Ok(found.flatten())
    }

    pub(crate) fn check_not_locked(
        &self,
        access_key: &str,
        now: Timestamp,
    ) -> Result<(), ApiError> {
        match self.failures.lock().get(access_key) {
            Some((count, last)) if *count >= MAX_FAILURES && now.since(*last) < LOCK_TIME => {
                Err(ApiError::not_authenticated("AK access failed to reach the limit,forbidden"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn record_attempt(&self, access_key: &str, verified: bool, now: Timestamp) {
        let mut failures = self.failures.lock();
        if verified {
            failures.remove(access_key);
            return;
        }
        let entry = failures.entry(access_key.to_owned());
        let (count, last) = entry.or_insert((0, now));
        // After a lock, wrong signatures are counted from zero again.
        if *count >= MAX_FAILURES {
            *count = 0;
        }
        *count += 1;
        *last = now;
    }
}

fn expired(expires: Timestamp) -> ApiError {
    let expires = expires.utc_micros();
    ApiError::not_authenticated(format!("token expires, expires_at:{expires}"))
}

pub(crate) struct IssuedKeys {
    pub(crate) access_key: String,
    pub(crate) secret_key: String,
    pub(crate) security_token: String,
    pub(crate) expires: Timestamp,
}
