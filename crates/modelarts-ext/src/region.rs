//! Where the service is.

/// Regions of Huawei Cloud that its own SDK lists.
const HUAWEI: &[&str] = &[
    "af-north-1",
    "af-south-1",
    "ap-southeast-1",
    "ap-southeast-2",
    "ap-southeast-3",
    "ap-southeast-4",
    "cn-east-3",
    "cn-east-4",
    "cn-north-1",
    "cn-north-11",
    "cn-north-12",
    "cn-north-2",
    "cn-north-4",
    "cn-north-9",
    "cn-south-1",
    "cn-southwest-2",
    "cn-southwest-3",
    "la-north-2",
    "la-south-2",
    "me-east-1",
    "sa-brazil-1",
    "tr-west-1",
];
/// Regions of Open Telekom Cloud with ModelArts.
const OTC: &[&str] = &["eu-de"];

/// The endpoint of a region, if the region is known.
pub(crate) fn endpoint(region: &str) -> Option<String> {
    if OTC.contains(&region) {
        return Some(format!("https://modelarts.{region}.otc.t-systems.com"));
    }
    if !HUAWEI.contains(&region) {
        return None;
    }
    // This one has a domain of its own in the SDK's table.
    let domain = match region {
        "ap-southeast-1" => "myhuaweicloud.cn",
        _ => "myhuaweicloud.com",
    };
    Some(format!("https://modelarts.{region}.{domain}"))
}

/// All regions, for error messages.
pub(crate) fn known() -> String {
    let all: Vec<_> = OTC.iter().chain(HUAWEI).copied().collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cloud_has_its_domain() {
        let of = |region| endpoint(region).unwrap_or_default();
        assert_eq!(of("eu-de"), "https://modelarts.eu-de.otc.t-systems.com");
        assert_eq!(
            of("cn-north-4"),
            "https://modelarts.cn-north-4.myhuaweicloud.com"
        );
        assert_eq!(
            of("ap-southeast-1"),
            "https://modelarts.ap-southeast-1.myhuaweicloud.cn"
        );
        assert_eq!(endpoint("moon-1"), None);
        assert!(known().starts_with("eu-de, af-north-1"));
    }
}
