//! The two clouds that speak this API, where their rules differ.

/// Whose rules a job is checked by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cloud {
    /// Open Telekom Cloud: the stricter one, and therefore the default.
    #[default]
    Otc,
    /// Huawei Cloud.
    Huawei,
}

impl Cloud {
    /// The cloud that an endpoint belongs to.
    pub(crate) fn of(endpoint: &str) -> Self {
        match endpoint.contains(".myhuaweicloud.") {
            true => Self::Huawei,
            false => Self::Otc,
        }
    }

    /// Whether logs can be read by the numbers of their lines.
    pub(crate) fn numbers_lines(self) -> bool {
        self == Self::Huawei
    }

    /// The kinds of jobs that can be made.
    pub(crate) fn kinds(self) -> &'static [&'static str] {
        match self {
            Self::Otc => &["job", "visualization_job"],
            Self::Huawei => modelarts_api::types::JobKind::KNOWN,
        }
    }

    /// The most retries that an auto restart may have.
    pub(crate) fn retries(self) -> i64 {
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
    fn a_cloud_is_known_by_its_endpoint() {
        assert_eq!(
            Cloud::of("https://modelarts.cn-north-4.myhuaweicloud.com/"),
            Cloud::Huawei
        );
        assert_eq!(
            Cloud::of("https://modelarts.eu-de.otc.t-systems.com/"),
            Cloud::Otc
        );
        assert_eq!(Cloud::of("http://127.0.0.1:9/"), Cloud::Otc);
    }

    #[test]
    fn logs_have_line_numbers_where_the_description_says_so() {
        let description: serde_json::Value =
            serde_saphyr::from_str(modelarts_api::DESCRIPTION).unwrap();
        let path = "/v2/{project_id}/training-jobs/{training_job_id}/logs/{task_id}";
        let operation = &description["paths"][path]["get"];
        assert_eq!(operation["operationId"], "ShowTrainingJobLogsFromAom");
        let clouds = [(Cloud::Otc, "otc"), (Cloud::Huawei, "huawei")];
        for (cloud, name) in clouds {
            let documented = operation["x-clouds"].as_array().unwrap();
            let documented = documented.iter().any(|cloud| cloud == name);
            assert_eq!(cloud.numbers_lines(), documented, "{name}");
        }
    }
}
