//! Regions of the clouds, and the addresses of services in them.

use reqwest::Url;

/// Domain of Huawei Cloud, without its end, which depends on the region.
pub(super) const HUAWEI_DOMAIN: &str = "myhuaweicloud.";
/// Domain of Open Telekom Cloud.
pub(super) const OTC_DOMAIN: &str = "otc.t-systems.com";
/// Regions of Open Telekom Cloud with ModelArts.
const OTC: &str = "eu-de";
/// Regions of Open Telekom Cloud with IAM.
const OTC_IAM: &str = "eu-de eu-nl";
/// Regions of Huawei Cloud, as listed by its SDK.
const HUAWEI: &str = "\
    af-north-1 af-south-1 ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-4 cn-east-3 \
    cn-east-4 cn-north-1 cn-north-11 cn-north-12 cn-north-2 cn-north-4 cn-north-9 cn-south-1 \
    cn-southwest-2 cn-southwest-3 la-north-2 la-south-2 me-east-1 sa-brazil-1 tr-west-1";
/// Regions of Huawei Cloud with a regional IAM, as listed by its SDK. The others use the global
/// one.
const HUAWEI_IAM: &str = "\
    ae-ad-1 af-south-1 ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-4 cn-east-2 \
    cn-east-3 cn-east-4 cn-east-5 cn-north-1 cn-north-12 cn-north-2 cn-north-4 cn-north-9 \
    cn-south-1 cn-south-2 cn-southwest-2 eu-west-0 la-north-2 la-south-2 me-east-1 \
    my-kualalumpur-1 na-mexico-1 ru-moscow-1 sa-brazil-1 tr-west-1";
/// Regions of Huawei Cloud with a regional STS, as listed by its SDK. The others use that of
/// cn-north-4.
const HUAWEI_STS: &str = "\
    af-south-1 ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-4 cn-east-3 cn-north-4 \
    cn-south-1 cn-southwest-2 la-south-2 sa-brazil-1 tr-west-1";

/// A service with an endpoint in each region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    ModelArts,
    Iam,
    Sts,
    Obs,
}

impl Service {
    /// Returns the name of the service in variables and in the regions file.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ModelArts => "MODELARTS",
            Self::Iam => "IAM",
            Self::Sts => "STS",
            Self::Obs => "OBS",
        }
    }

    /// Returns the endpoint in a region according to the tables.
    pub(super) fn default_endpoint(self, region: &str) -> Option<String> {
        let is_in = |table: &str| table.split(' ').any(|known| known == region);
        let host = match (self, region) {
            (Self::ModelArts, _) if is_in(OTC) => format!("modelarts.{region}.otc.t-systems.com"),
            // This region has a domain of its own in the SDK's table.
            (Self::ModelArts, "ap-southeast-1") => format!("modelarts.{region}.myhuaweicloud.cn"),
            (Self::ModelArts, _) if is_in(HUAWEI) => {
                format!("modelarts.{region}.myhuaweicloud.com")
            }
            (Self::Iam, _) if is_in(OTC_IAM) => format!("iam.{region}.otc.t-systems.com"),
            (Self::Iam, "eu-ch2") => "iam-pub.eu-ch2.sc.otc.t-systems.com".to_owned(),
            (Self::Iam, "eu-west-101") => "iam.eu-west-101.myhuaweicloud.eu".to_owned(),
            (Self::Iam, _) if is_in(HUAWEI_IAM) => format!("iam.{region}.myhuaweicloud.com"),
            (Self::Iam, _) if is_in(HUAWEI) => "iam.myhuaweicloud.com".to_owned(),
            (Self::Obs, "eu-ch2") => "obs.eu-ch2.sc.otc.t-systems.com".to_owned(),
            (Self::Obs, _) if is_in(OTC_IAM) => format!("obs.{region}.otc.t-systems.com"),
            (Self::Obs, _) if is_in(HUAWEI) || is_in(HUAWEI_IAM) => {
                format!("obs.{region}.myhuaweicloud.com")
            }
            (Self::Sts, _) if is_in(HUAWEI_STS) => format!("sts.{region}.myhuaweicloud.com"),
            (Self::Sts, _) if is_in(HUAWEI) || is_in(HUAWEI_IAM) => {
                "sts.cn-north-4.myhuaweicloud.com".to_owned()
            }
            _ => return None,
        };
        Some(format!("https://{host}"))
    }
}

/// Returns the region as the tables spell it, such as `eu-de` for `EU-DE`. Other regions, which a
/// regions file may define, are returned unchanged.
pub(crate) fn canonical_region(region: String) -> String {
    let lower = region.trim().to_ascii_lowercase();
    let is_known = Service::ModelArts.default_endpoint(&lower).is_some()
        || Service::Iam.default_endpoint(&lower).is_some();
    if is_known { lower } else { region }
}

/// Returns the region in an address of `ModelArts` in one of the clouds, such as `eu-de` for
/// `https://modelarts.eu-de.otc.t-systems.com`.
pub(crate) fn region_of(endpoint: &Url) -> Option<String> {
    let host = endpoint.host_str()?.strip_prefix("modelarts.")?;
    let (region, domain) = host.split_once('.')?;
    let is_cloud = domain.starts_with(HUAWEI_DOMAIN) || domain == OTC_DOMAIN;
    is_cloud.then(|| region.to_owned())
}

/// Returns the regions with `ModelArts` that this version of the crate lists, such as `eu-de`.
/// Variables and files can define others; see
/// [`is_known_region`](crate::config::is_known_region).
pub fn regions() -> impl Iterator<Item = &'static str> {
    OTC.split(' ').chain(HUAWEI.split(' '))
}

/// Returns the regions with `ModelArts`, for error messages.
pub(crate) fn known_regions() -> String {
    regions().collect::<Vec<_>>().join(", ")
}
