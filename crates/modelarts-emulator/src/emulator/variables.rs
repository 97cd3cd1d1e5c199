//! Environment variables from which a client of the emulator takes its settings.

use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

use crate::{clock::timing::Timing, emulator::Emulator};

/// Characters of a path that are percent-encoded.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

impl Emulator {
    /// Returns the settings of a client of the first user, as a function of the name of a variable:
    /// the argument of `ClientBuilder::from_vars` of modelarts-ext. [`envs`](Self::envs) lists the
    /// variables.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let emulator = modelarts_emulator::Emulator::start().await?;
    /// // let client = ClientBuilder::from_vars(emulator.vars()).build()?;
    /// let vars = emulator.vars();
    /// assert_eq!(vars("MODELARTS_ENDPOINT").as_deref(), Some(emulator.url()));
    /// # emulator.shutdown().await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn vars(&self) -> impl Fn(&str) -> Option<String> + Clone + Send + Sync + 'static + use<> {
        let envs = self.envs();
        move |name| {
            let variable = envs.iter().find(|(variable, _)| *variable == name);
            variable.map(|(_, value)| value.clone())
        }
    }

    /// Returns the names and the values of the variables from which modelarts-ext and the official
    /// SDKs take their settings, for example for [`Command::envs`](std::process::Command::envs).
    ///
    /// - `MODELARTS_ENDPOINT`: [`url`](Self::url)
    /// - `MODELARTS_CLOUD`: `huawei` or `otc`
    /// - `HUAWEICLOUD_SDK_IAM_ENDPOINT`: [`url`](Self::url), which serves logins, too
    /// - `HUAWEICLOUD_SDK_PROJECT_ID`: [`project_id`](Self::project_id)
    /// - `HUAWEICLOUD_SDK_AK`: [`access_key`](Self::access_key)
    /// - `HUAWEICLOUD_SDK_SK`: [`secret_key`](Self::secret_key)
    /// - `HUAWEICLOUD_SDK_SECURITY_TOKEN`: the security token of the user; empty, which means not
    ///   set, if the keys are permanent
    /// - `MODELARTS_OBS_ENDPOINT`: `obs_url`, the base URL of OBS over HTTP; without the feature
    ///   `obs`, the `file://` URL of [`obs_root`](Self::obs_root)
    /// - `MODELARTS_MAX_PAUSE_MS`: 20, the maximum pause of a client of modelarts-ext between two
    ///   requests; only with [`Timing::instant`](crate::Timing::instant)
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let emulator = modelarts_emulator::Emulator::start().await?;
    /// let output = std::process::Command::new("sh")
    ///     .args(["-c", "printf %s $MODELARTS_ENDPOINT"])
    ///     .envs(emulator.envs())
    ///     .output()?;
    /// assert_eq!(output.stdout, emulator.url().as_bytes());
    /// # emulator.shutdown().await;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn envs(&self) -> Vec<(&'static str, String)> {
        let user = self.state.accounts.user(0);
        let mut variables = vec![
            ("MODELARTS_ENDPOINT", self.url().to_owned()),
            ("MODELARTS_CLOUD", self.state.offer.cloud.name().to_owned()),
            ("HUAWEICLOUD_SDK_IAM_ENDPOINT", self.url().to_owned()),
            ("HUAWEICLOUD_SDK_PROJECT_ID", user.project_id.clone()),
            ("HUAWEICLOUD_SDK_AK", user.access_key.clone()),
            ("HUAWEICLOUD_SDK_SK", user.secret_key.clone()),
            ("HUAWEICLOUD_SDK_SECURITY_TOKEN", user.security_token.clone().unwrap_or_default()),
            (
                "MODELARTS_OBS_ENDPOINT",
                match &self.obs_url {
                    Some(url) => url.clone(),
                    None => file_url(self.obs_root()),
                },
            ),
        ];
        if self.state.settings.timing == Timing::instant() {
            variables.push(("MODELARTS_MAX_PAUSE_MS", "20".to_owned()));
        }
        variables
    }
}

fn file_url(directory: &Path) -> String {
    let path = percent_encode(directory.as_os_str().as_encoded_bytes(), ENCODED);
    format!("file://{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_address_of_obs_is_a_url_with_or_without_http() {
        assert_eq!(
            file_url(Path::new("/data/obs of ü/50%#1")),
            "file:///data/obs%20of%20%C3%BC/50%25%231"
        );
        let emulator = Emulator::start().await.ok();
        let emulator = emulator.as_ref();
        let address = emulator.and_then(|emulator| emulator.vars()("MODELARTS_OBS_ENDPOINT"));
        let expected = match cfg!(feature = "obs") {
            true => emulator.and_then(|emulator| emulator.obs_url.clone()),
            false => emulator.map(|emulator| file_url(emulator.obs_root())),
        };
        assert!(address.is_some() && address == expected);
    }
}
