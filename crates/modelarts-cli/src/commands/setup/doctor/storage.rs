//! `Origins`: the origins of settings as named in messages, and the check of OBS.

use std::time::Instant;

use modelarts_ext::{Client, Error, ErrorKind};
use modelarts_obs::{ObsPath, Staging};

use crate::{
    commands::setup::doctor::report::{Finding, Report, Subject},
    failure::Failure,
    session::Session,
};

/// Name of the object that the check writes and deletes, below the prefix.
const TEST_OBJECT: &str = ".modelarts-doctor";

/// MD5 of an empty object.
const EMPTY_MD5: &str = "d41d8cd98f00b204e9800998ecf8427e";

pub(super) struct Origins {
    /// Environment variables that the context sets.
    variables: Vec<&'static str>,
    context: String,
    pub(super) is_emulator: bool,
}

impl Origins {
    pub(super) fn new(session: &Session) -> Result<Self, Failure> {
        let context = session.selection.context()?;
        Ok(Self {
            variables: context.variables().into_keys().collect(),
            context: session.selection.name()?.unwrap_or_default().to_owned(),
            is_emulator: context.data_dir.is_some(),
        })
    }

    /// Returns the name of the context if it determines the setting, otherwise `origin`.
    pub(super) fn place(&self, origin: &str) -> String {
        match self.is_emulator || self.variables.contains(&origin) {
            true => format!("the context {}", self.context),
            false => origin.to_owned(),
        }
    }
}

/// Checks OBS: the endpoint, the bucket, and the permission to write there and at other places.
pub(super) async fn check_obs(
    client: &Client,
    origins: &Origins,
    places: &[ObsPath],
    report: &mut Report,
) {
    let address = match client.obs_endpoint() {
        Ok(Some(address)) => {
            let variable = "MODELARTS_OBS_ENDPOINT";
            let is_set = client.environment().variable(variable).is_some();
            let origin = match is_set {
                true => origins.place(variable),
                false => "the region".to_owned(),
            };
            Finding::ok(format_args!("{address}, from {origin}"))
        }
        Ok(None) => Finding::warning(
            "the address of OBS is not known, so local code and data cannot be sent",
            "set MODELARTS_REGION or MODELARTS_OBS_ENDPOINT, or obs_endpoint of the context",
        ),
        Err(error) => Finding::error(&error).with_advice("correct the file of the regions"),
    };
    report.add(Subject::Obs, address);
    let staging = Staging::new(client);
    let root = match staging.root() {
        Ok(root) => root,
        Err(error) => {
            let is_missing = client.environment().variable("MODELARTS_OBS_BUCKET").is_none()
                && error.kind() == ErrorKind::Config;
            let finding = match is_missing {
                true => Finding::warning(
                    "no bucket is set, so local code and data cannot be sent",
                    "set MODELARTS_OBS_BUCKET, or bucket of the context, to a bucket in the region \
                     of the jobs",
                ),
                false => Finding::error(&error).with_advice(
                    "correct MODELARTS_OBS_BUCKET and MODELARTS_OBS_PREFIX, or bucket and prefix \
                     of the context",
                ),
            };
            report.add(Subject::Bucket, finding);
            report.add(Subject::Upload, Finding::skipped("not tried without a bucket"));
            return;
        }
    };
    report.add(Subject::Bucket, Finding::ok(&root));
    for place in [&root].into_iter().chain(places) {
        report.add(Subject::Upload, try_upload(&staging, place).await);
    }
}

/// Writes and deletes an empty object below an address.
async fn try_upload(staging: &Staging, place: &ObsPath) -> Finding {
    let started = Instant::now();
    let upload = async {
        let key = place.join(TEST_OBJECT)?;
        let bucket = staging.connect()?.bucket(place.bucket())?;
        bucket.put(key.key(), "").await?;
        let object = bucket.head(key.key()).await;
        bucket.delete(key.key()).await?;
        Ok::<_, Error>((key, object?))
    };
    match upload.await {
        Ok((key, object)) if object.etag().is_some_and(is_encrypted) => Finding::warning(
            format_args!("wrote and deleted {key}; the bucket seems to be encrypted"),
            "use a bucket without default encryption: jobs refuse others (ModelArts.2791)",
        ),
        Ok((key, _)) => Finding::ok(format_args!(
            "wrote and deleted {key} in {} ms",
            started.elapsed().as_millis()
        )),
        Err(error) => Finding::error(&error).with_advice(
            "check the name of the bucket, its region, and the permissions of the keys on OBS",
        ),
    }
}

/// Returns `true` if the entity tag of an empty object is not its MD5, as in a bucket whose objects
/// are encrypted with KMS (API reference of OBS, page obs_04_0105).
fn is_encrypted(etag: &str) -> bool {
    !etag.trim_matches('"').eq_ignore_ascii_case(EMPTY_MD5)
}

#[cfg(test)]
mod tests {
    use super::is_encrypted;

    #[test]
    fn an_empty_object_that_is_not_encrypted_has_its_md5_as_tag() {
        assert!(!is_encrypted("\"d41d8cd98f00b204e9800998ecf8427e\""));
        assert!(is_encrypted("\"9f86d081884c7d659a2feaa0c55ad015\""));
    }
}
