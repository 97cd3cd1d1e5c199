//! The two clouds that provide the API, and the rules that differ between them.

use crate::{
    config::{
        endpoints::{HUAWEI_DOMAIN, OTC_DOMAIN, Service},
        environment::Environment,
    },
    error::Error,
};

/// Cloud whose rules apply to jobs and logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cloud {
    /// Open Telekom Cloud.
    Otc,
    /// Huawei Cloud. The default, because Huawei Cloud provides all operations.
    #[default]
    Huawei,
}

const VARIABLE: &str = "MODELARTS_CLOUD";

impl Cloud {
    /// Returns the cloud that `MODELARTS_CLOUD` names. Warns if the endpoint is of the other cloud.
    pub(crate) fn from_environment(
        environment: &Environment,
        endpoint: &str,
    ) -> Result<Option<Self>, Error> {
        let Some(name) = environment.variable(VARIABLE) else {
            return Ok(None);
        };
        let is_named = |cloud: &Self| cloud.name().eq_ignore_ascii_case(&name);
        let cloud = [Self::Huawei, Self::Otc].into_iter().find(is_named);
        let cloud = cloud.ok_or_else(|| {
            Error::config(format!(
                "{VARIABLE} must be huawei or otc, not {name:?}; unset it to take the cloud of \
                 the endpoint"
            ))
        })?;
        if let Some(other) = Self::from_address(endpoint).filter(|other| *other != cloud) {
            tracing::warn!(
                "{VARIABLE} names {}, but the endpoint {endpoint} belongs to {}; the variable \
                 takes precedence",
                cloud.name(),
                other.name()
            );
        }
        Ok(Some(cloud))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Otc => "otc",
            Self::Huawei => "huawei",
        }
    }

    fn from_address(address: &str) -> Option<Self> {
        let is_in = |domain: &str| address.contains(&format!(".{domain}"));
        match address {
            _ if is_in(HUAWEI_DOMAIN) => Some(Self::Huawei),
            _ if is_in(OTC_DOMAIN) => Some(Self::Otc),
            _ => None,
        }
    }

    /// Returns the cloud of the endpoint, of the region, or of IAM, in this order, or the default.
    pub(crate) fn detect(endpoint: &str, region: Option<&str>, iam: Option<&str>) -> Self {
        Self::from_address(endpoint)
            .or_else(|| Self::from_address(&Service::Iam.default_endpoint(region?)?))
            .or_else(|| Self::from_address(iam?))
            .unwrap_or_default()
    }

    pub(crate) fn job_kinds(self) -> &'static [&'static str] {
        match self {
            Self::Otc => &["job", "visualization_job"],
            Self::Huawei => modelarts_api::types::JobKind::KNOWN,
        }
    }

    pub(crate) fn max_retries(self) -> i64 {
        match self {
            Self::Otc => 3,
            Self::Huawei => 128,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cloud_is_known_by_its_endpoint_region_or_iam() {
        let huawei = "https://modelarts.cn-north-4.myhuaweicloud.com/";
        let otc = "https://modelarts.eu-de.otc.t-systems.com/";
        let other = "https://modelarts.internal.example/";
        let iam = Some("https://iam.eu-de.otc.t-systems.com/v3");
        for (endpoint, region, iam, cloud) in [
            (huawei, None, None, Cloud::Huawei),
            (otc, None, None, Cloud::Otc),
            (huawei, Some("eu-de"), iam, Cloud::Huawei),
            (otc, Some("cn-north-4"), None, Cloud::Otc),
            (other, Some("eu-de"), None, Cloud::Otc),
            (other, Some("eu-ch2"), None, Cloud::Otc),
            (other, Some("cn-north-4"), iam, Cloud::Huawei),
            (other, Some("elsewhere"), iam, Cloud::Otc),
            (other, None, iam, Cloud::Otc),
            // An emulator counts as Huawei Cloud by default.
            ("http://127.0.0.1:9/", None, None, Cloud::Huawei),
            (other, Some("elsewhere"), Some("https://iam.example"), Cloud::Huawei),
        ] {
            assert_eq!(
                Cloud::detect(endpoint, region, iam),
                cloud,
                "{endpoint} {region:?} {iam:?}"
            );
        }
    }
}
