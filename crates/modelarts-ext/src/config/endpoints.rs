//! Regions of the clouds, and service endpoints from variables, the regions file and tables.

use std::collections::BTreeMap;

use modelarts_api::REGIONS;
use reqwest::Url;
use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::{
    config::environment::{Environment, parse_yaml},
    error::Error,
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProjectRef {
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
}

impl ProjectRef {
    pub(crate) fn or(self, other: Self) -> Self {
        if self == Self::default() { other } else { self }
    }
}

/// Returns the endpoint of a service in a region: from a variable, the regions file or the tables.
pub(crate) fn endpoint(
    service: Service,
    region: &str,
    environment: &Environment,
) -> Result<Option<String>, Error> {
    let variable = format!(
        "HUAWEICLOUD_SDK_REGION_{}_{}",
        service.name(),
        region.to_ascii_uppercase().replace('-', "_")
    );
    if let Some(list) = environment.variable(&variable) {
        // The official SDK also tries the next endpoint if a host name cannot be resolved.
        let first = list.split(',').map(str::trim).find(|text| !text.is_empty());
        return match first {
            Some(endpoint) => Ok(Some(endpoint.to_owned())),
            None => Err(Error::config(format!("{variable} holds no address"))),
        };
    }
    let listed = from_file(service, region, environment)?;
    Ok(listed.or_else(|| service.default_endpoint(region)))
}

#[derive(Deserialize)]
struct Region {
    id: String,
    endpoint: Option<String>,
    #[serde(default)]
    endpoints: Vec<String>,
}

const FILE: &str = "HUAWEICLOUD_SDK_REGIONS_FILE";

fn from_file(
    service: Service,
    region: &str,
    environment: &Environment,
) -> Result<Option<String>, Error> {
    let usual = environment.home.as_ref().map(|home| home.join(".huaweicloud/regions.yaml"));
    let Some((path, text)) = environment.find_file(FILE, usual.as_slice())? else {
        return Ok(None);
    };
    let services: Option<BTreeMap<String, Spanned<Vec<Region>>>> = parse_yaml(&path, &text)?;
    let is_service = |(name, _): &(String, _)| name.eq_ignore_ascii_case(service.name());
    let Some((_, regions)) = services.into_iter().flatten().find(is_service) else {
        return Ok(None);
    };
    let line = regions.referenced.line();
    let Some(found) = regions.value.into_iter().find(|found| found.id == region) else {
        return Ok(None);
    };
    match found.endpoint.into_iter().chain(found.endpoints).next() {
        Some(endpoint) => Ok(Some(endpoint)),
        None => Err(Error::config(format!(
            "{}: the region {region} of {}, in the list from line {line} on, has no endpoint",
            path.display(),
            service.name()
        ))),
    }
}

/// Returns `true` if the variable `HUAWEICLOUD_SDK_REGION_MODELARTS_<REGION>` is set, or if the
/// regions file or [`regions`](crate::config::regions()) contains the region.
///
/// # Errors
/// Returns an error if the regions file is invalid, or if the variable contains no endpoint.
pub fn is_known_region(region: &str, environment: &Environment) -> Result<bool, Error> {
    let region = canonical_region(region.to_owned());
    Ok(endpoint(Service::ModelArts, &region, environment)?.is_some())
}

pub(super) const HUAWEI_DOMAIN: &str = "myhuaweicloud.";
pub(super) const OTC_DOMAIN: &str = "otc.t-systems.com";
const OTC_IAM: &str = "eu-de eu-nl";
/// Regions of Huawei Cloud with a regional endpoint of IAM, as listed by the official SDK.
const HUAWEI_IAM: &str = "\
    ae-ad-1 af-south-1 ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-4 cn-east-2 \
    cn-east-3 cn-east-4 cn-east-5 cn-north-1 cn-north-12 cn-north-2 cn-north-4 cn-north-9 \
    cn-south-1 cn-south-2 cn-southwest-2 eu-west-0 la-north-2 la-south-2 me-east-1 \
    my-kualalumpur-1 na-mexico-1 ru-moscow-1 sa-brazil-1 tr-west-1";
/// Regions of Huawei Cloud with a regional endpoint of STS, as listed by the official SDK.
const HUAWEI_STS: &str = "\
    af-south-1 ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-4 cn-east-3 cn-north-4 \
    cn-south-1 cn-southwest-2 la-south-2 sa-brazil-1 tr-west-1";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    ModelArts,
    Iam,
    Sts,
    Obs,
}

impl Service {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ModelArts => "MODELARTS",
            Self::Iam => "IAM",
            Self::Sts => "STS",
            Self::Obs => "OBS",
        }
    }

    pub(super) fn default_endpoint(self, region: &str) -> Option<String> {
        let is_in = |table: &str| table.split(' ').any(|known| known == region);
        let described = REGIONS.iter().find(|known| known.id == region);
        let is_huawei = is_in(HUAWEI_IAM) || described.is_some_and(|row| row.cloud == "huawei");
        let host = match (self, region) {
            (Self::ModelArts, _) => return described.map(|row| row.endpoint.to_owned()),
            (Self::Iam, _) if is_in(OTC_IAM) => format!("iam.{region}.otc.t-systems.com"),
            (Self::Iam, "eu-ch2") => "iam-pub.eu-ch2.sc.otc.t-systems.com".to_owned(),
            (Self::Iam, "eu-west-101") => "iam.eu-west-101.myhuaweicloud.eu".to_owned(),
            (Self::Iam, _) if is_in(HUAWEI_IAM) => format!("iam.{region}.myhuaweicloud.com"),
            (Self::Iam, _) if is_huawei => "iam.myhuaweicloud.com".to_owned(),
            (Self::Obs, "eu-ch2") => "obs.eu-ch2.sc.otc.t-systems.com".to_owned(),
            (Self::Obs, _) if is_in(OTC_IAM) => format!("obs.{region}.otc.t-systems.com"),
            (Self::Obs, _) if is_huawei => format!("obs.{region}.myhuaweicloud.com"),
            (Self::Sts, _) if is_in(HUAWEI_STS) => format!("sts.{region}.myhuaweicloud.com"),
            (Self::Sts, _) if is_huawei => "sts.cn-north-4.myhuaweicloud.com".to_owned(),
            _ => return None,
        };
        Some(format!("https://{host}"))
    }
}

pub(crate) fn canonical_region(region: String) -> String {
    let lower = region.trim().to_ascii_lowercase();
    let is_known = Service::ModelArts.default_endpoint(&lower).is_some()
        || Service::Iam.default_endpoint(&lower).is_some();
    if is_known { lower } else { region }
}

/// Returns the region in an endpoint such as `https://modelarts.eu-de.otc.t-systems.com`.
pub(crate) fn region_of(endpoint: &Url) -> Option<String> {
    let host = endpoint.host_str()?.strip_prefix("modelarts.")?;
    let (region, domain) = host.split_once('.')?;
    let is_cloud = domain.starts_with(HUAWEI_DOMAIN) || domain == OTC_DOMAIN;
    is_cloud.then(|| region.to_owned())
}

/// Returns the regions that the OpenAPI description lists. Environment variables and the regions
/// file can define other regions; see [`is_known_region`](crate::config::is_known_region).
pub fn regions() -> impl Iterator<Item = &'static str> {
    REGIONS.iter().map(|region| region.id)
}

pub(crate) fn known_regions() -> String {
    regions().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::endpoints::{known_regions, regions};

    fn of(service: Service, region: &str) -> String {
        let found = endpoint(service, region, &Environment::new(|_| None)).unwrap();
        found.unwrap_or_default()
    }

    #[test]
    fn each_cloud_has_its_domain() {
        use Service::{Iam, ModelArts, Obs, Sts};
        let table = [
            (ModelArts, "eu-de", "modelarts.eu-de.otc.t-systems.com"),
            (ModelArts, "cn-north-4", "modelarts.cn-north-4.myhuaweicloud.com"),
            (ModelArts, "ap-southeast-1", "modelarts.ap-southeast-1.myhuaweicloud.cn"),
            (ModelArts, "moon-1", ""),
            (Iam, "eu-de", "iam.eu-de.otc.t-systems.com"),
            (Iam, "eu-nl", "iam.eu-nl.otc.t-systems.com"),
            (Iam, "eu-ch2", "iam-pub.eu-ch2.sc.otc.t-systems.com"),
            (Iam, "eu-west-101", "iam.eu-west-101.myhuaweicloud.eu"),
            (Iam, "cn-north-4", "iam.cn-north-4.myhuaweicloud.com"),
            (Iam, "cn-north-11", "iam.myhuaweicloud.com"),
            (Iam, "moon-1", ""),
            (Sts, "cn-south-1", "sts.cn-south-1.myhuaweicloud.com"),
            (Sts, "cn-north-9", "sts.cn-north-4.myhuaweicloud.com"),
            (Sts, "eu-de", ""),
            (Obs, "eu-de", "obs.eu-de.otc.t-systems.com"),
            (Obs, "eu-ch2", "obs.eu-ch2.sc.otc.t-systems.com"),
            (Obs, "cn-north-4", "obs.cn-north-4.myhuaweicloud.com"),
            (Obs, "moon-1", ""),
        ];
        for (service, region, address) in table {
            let found = of(service, region);
            let host = found.strip_prefix("https://").unwrap_or(&found);
            assert_eq!(host, address, "{service:?} {region}");
        }
        assert!(known_regions().starts_with("af-north-1, af-south-1"));
    }

    #[test]
    fn a_variable_wins_over_the_file_and_the_file_over_the_table() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".huaweicloud/regions.yaml");
        std::fs::create_dir(file.parent().unwrap()).unwrap();
        let text = "MODELARTS:\n  - id: eu-de\n    endpoint: https://file.example.com\n  \
                    - id: moon-1\n    endpoints: [https://moon.example.com]\n  - id: mars-1\n";
        std::fs::write(&file, text).unwrap();
        let find = |region: &str, value: Option<&'static str>| {
            let environment = Environment::new(move |name| {
                let is_set = name == "HUAWEICLOUD_SDK_REGION_MODELARTS_EU_DE";
                value.filter(|_| is_set).map(str::to_owned)
            });
            let environment = environment.home(home.path());
            endpoint(Service::ModelArts, region, &environment)
                .map(Option::unwrap_or_default)
                .map_err(|error| error.to_string())
        };
        let ok = |text: &str| Ok(text.to_owned());
        assert_eq!(
            find("eu-de", Some(" https://one.example.com, https://two.example.com")),
            ok("https://one.example.com")
        );
        assert_eq!(
            find("eu-de", Some(",")),
            Err("HUAWEICLOUD_SDK_REGION_MODELARTS_EU_DE holds no address".to_owned())
        );
        assert_eq!(find("eu-de", None), ok("https://file.example.com"));
        assert_eq!(find("moon-1", None), ok("https://moon.example.com"));
        assert_eq!(find("cn-north-4", None), ok("https://modelarts.cn-north-4.myhuaweicloud.com"));
        let file = file.display();
        assert_eq!(
            find("mars-1", None),
            Err(format!(
                "{file}: the region mars-1 of MODELARTS, in the list from line 2 on, has no \
                 endpoint"
            ))
        );
        std::fs::write(home.path().join(".huaweicloud/regions.yaml"), "MODELARTS:\n  x: y\n")
            .unwrap();
        assert_eq!(
            find("eu-de", None),
            Err(format!("{file}, line 2, column 3: expected sequence start"))
        );
    }

    #[test]
    fn regions_of_tables_and_variables_are_known() {
        let environment = Environment::new(|name| {
            let is_set = name == "HUAWEICLOUD_SDK_REGION_MODELARTS_MOON_1";
            is_set.then(|| "https://moon.example.com".to_owned())
        });
        for (region, expected) in [
            ("eu-de", true),
            ("EU-DE", true),
            ("moon-1", true),
            // This region has no ModelArts.
            ("eu-nl", false),
            ("eu-xx", false),
        ] {
            let is_known = is_known_region(region, &environment).unwrap();
            assert_eq!(is_known, expected, "{region}");
        }
        assert!(regions().any(|region| region == "eu-de"));
    }

    #[test]
    fn a_regions_file_that_is_named_must_exist() {
        let environment = Environment::new(|name| {
            (name == "HUAWEICLOUD_SDK_REGIONS_FILE").then(|| "/nowhere/regions.yaml".to_owned())
        });
        let error = endpoint(Service::Iam, "eu-de", &environment).unwrap_err();
        assert_eq!(
            error.to_string(),
            "HUAWEICLOUD_SDK_REGIONS_FILE names /nowhere/regions.yaml, which does not exist"
        );
    }
}
