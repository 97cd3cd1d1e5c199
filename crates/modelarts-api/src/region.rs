//! Regions of the clouds.

/// Region in which a cloud offers `ModelArts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Region {
    /// Name of the region, such as `eu-de`.
    pub id: &'static str,
    /// Cloud of the region: `huawei` or `otc`.
    pub cloud: &'static str,
    /// Address of the service in the region, such as
    /// `https://modelarts.eu-de.otc.t-systems.com`.
    pub endpoint: &'static str,
}
