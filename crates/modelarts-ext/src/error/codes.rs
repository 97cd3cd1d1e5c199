//! Names of the service's error codes, and advice for each.
//!
//! The names are those of the error table in the public API reference, or say what it says
//! where they are not known; the advice is ours. Some codes mean different things with
//! different statuses.

/// The name and the advice of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodeInfo {
    /// The name in the service's error table, such as `TrainingJobNotFound`.
    pub(super) name: &'static str,
    /// One sentence on what to do.
    pub(super) advice: &'static str,
}

/// Looks a code up. `status` is the HTTP status that came with it.
pub(super) fn lookup(code: &str, status: Option<u16>) -> Option<CodeInfo> {
    let gateway = gateway_number(code);
    let table = if gateway.is_some() { GATEWAY } else { SERVICE };
    let number = gateway.or_else(|| code.strip_prefix("ModelArts."))?;
    table
        .iter()
        .find(|row| row.0 == number && (row.1 == 0 || Some(row.1) == status))
        .map(|(_, _, name, advice)| CodeInfo { name, advice })
}

/// The number of a code of the gateway. Dedicated ones call theirs APIG and APIC.
pub(crate) fn gateway_number(code: &str) -> Option<&str> {
    ["APIGW.", "APIG.", "APIC."]
        .into_iter()
        .find_map(|prefix| code.strip_prefix(prefix))
}

/// Number, status (0: any), name, advice.
type Row = (&'static str, u16, &'static str, &'static str);

#[rustfmt::skip]
const GATEWAY: &[Row] = &[
    ("0101", 0, "ApiNotFound", "check the endpoint: the gateway there knows no such API"),
    ("0201", 413, "RequestTooLarge", "send less; the gateway takes 12 MB"),
    ("0201", 0, "BackendTimeout", "try again later; the service behind the gateway did not answer"),
    ("0203", 0, "BackendTimeout", "try again later; the service behind the gateway did not answer"),
    ("0301", 0, "IncorrectCredentials", "check access key, secret key, region and clock; after five refusals in a row the key is locked for five minutes"),
    ("0307", 0, "TokenMustBeUpdated", "get a new token"),
    ("0308", 0, "Throttled", "call less often; the limit is per API and second"),
];

#[rustfmt::skip]
const SERVICE: &[Row] = &[
    ("0101", 0, "InvalidArgument", "check the values of the request"),
    ("0102", 0, "WorkspaceNotFound", "check the workspace id"),
    ("0104", 0, "InvalidParameter", "check the values of the request"),
    ("0107", 0, "InvalidParameter", "check the values of the request"),
    ("0108", 0, "NotAuthorized", "ask an administrator for the permission of this operation"),
    ("0112", 0, "PolicyDenied", "ask an administrator: a role or the policy of the workspace denies it"),
    ("0118", 0, "QuotaInsufficient", "free quota or ask for more"),
    ("0201", 0, "TokenMissing", "send a token or a signature"),
    ("0202", 0, "TokenExpired", "get a new token"),
    ("0203", 0, "TokenInvalid", "get a new token, for this region and project"),
    ("0204", 0, "TokenUnreadable", "get a token with the scope of a project, not of a domain"),
    ("0205", 0, "AuthorizationMissing", "sign the request or send a token"),
    ("0206", 403, "WrongKeys", "check access key and secret key"),
    ("0206", 0, "AuthorizationMalformed", "check how the request is signed"),
    ("0207", 0, "NoProjectInRegion", "use a project of this region"),
    ("0208", 0, "AuthorizationRefused", "check access key and secret key"),
    ("0210", 0, "WrongProject", "use the project that the credentials belong to"),
    ("0212", 0, "NoProject", "get a token with the scope of a project"),
    ("1002", 0, "ObsFailed", "try again; then check the OBS path and its permissions"),
    ("1003", 0, "ObsDenied", "check the permissions of the bucket and the state of the account"),
    ("1120", 0, "InvalidParameter", "check the values of the request"),
    ("2750", 0, "DuplicateEvalJobName", "choose another name"),
    ("2751", 0, "DuplicateTrainingJobName", "choose another name, or delete the job that has it"),
    ("2752", 0, "DuplicateAiAlgorithmNameAndVersion", "choose another name"),
    ("2753", 0, "InputsOutputsMessageError", "check the names and places of inputs and outputs"),
    ("2754", 0, "ModelartsHostedNumError", "let one output at the most be hosted by the platform"),
    ("2755", 0, "AiAlgorithmNotFound", "check the id of the algorithm, and that it is in this project"),
    ("2756", 0, "HasSameNameWithMarketAlgorithm", "choose another name"),
    ("2757", 0, "CodeDirError", "check that the code directory exists in OBS and can be read"),
    ("2758", 0, "BootFileDirError", "check that the boot file exists and ends in .py"),
    ("2759", 0, "TooManyCodeFiles", "keep the code directory to 1,000 files"),
    ("2760", 0, "CodeFolderTooDeep", "keep the code directory to 32 levels"),
    ("2761", 0, "CodeFilesSizeToolarge", "keep the code directory to 5 GB; data belongs into an input"),
    ("2762", 0, "DuplicateFlavorCode", "name each flavor once"),
    ("2763", 0, "DoNotHaveFlavor", "choose a flavor that the region offers"),
    ("2764", 0, "QueryParamsError", "check the query parameters"),
    ("2765", 0, "StringParameterError", "check the hyper-parameters: their values are text"),
    ("2766", 0, "DoNotHaveDefaultValue", "give each required hyper-parameter a value"),
    ("2767", 0, "ParameterKeyRepeat", "use each name once among parameters, inputs and outputs"),
    ("2768", 0, "DefaultValueTypeError", "give the hyper-parameter a value of its type"),
    ("2769", 0, "DefaultValueIsNotInRange", "give the hyper-parameter a value in its range"),
    ("2770", 0, "RangeError", "check the range of the hyper-parameter"),
    ("2771", 0, "NotHavePermission", "ask its owner: this one may not be changed by you"),
    ("2772", 0, "OriginalAlgorithmCodeInfoError", "choose code directory and boot file again"),
    ("2773", 0, "GetObsObjectContentError", "check that the code directory or the file in OBS is there and can be read"),
    ("2774", 0, "ParseParameterError", "check the hyper-parameters"),
    ("2775", 0, "TrainingJobNotFound", "check the job id, the project and the region; deleted jobs are gone"),
    ("2776", 0, "NotReadyToFetchLog", "ask again later; the task has written nothing yet"),
    ("2777", 0, "NotReadyToFetchMetric", "ask again later; the first samples take two minutes"),
    ("2778", 0, "EvalJobNotFound", "check the id"),
    ("2779", 0, "EvalVerNotFound", "check the id"),
    ("2780", 0, "EngineNotFound", "choose an engine that the region offers"),
    ("2781", 0, "FlavorNotFound", "choose a flavor that the region, or the pool, offers"),
    ("2782", 0, "DatasetVersionNotFound", "check the version of the dataset"),
    ("2783", 0, "DatasetNotFound", "check the id of the dataset"),
    ("2784", 0, "InvalidToken", "get a new token"),
    ("2785", 0, "AuthorizationNotFound", "authorise ModelArts to use other services: configure its agency once"),
    ("2786", 0, "TokenProjectIDNotMatch", "use the project that the credentials belong to"),
    ("2787", 0, "InvalidJsonBody", "send valid JSON"),
    ("2788", 0, "InvalidParam", "check the value that the message names"),
    ("2789", 0, "UnsupportedFilterBy", "filter by a key that the search knows"),
    ("2790", 0, "UnsupportedSortBy", "sort by create_time"),
    ("2791", 0, "InvalidObsPath", "check that the path is a directory in OBS that is there, in a bucket that is not encrypted; under load right paths were refused too, so try again later"),
    ("2792", 0, "BootFileNotBelongToPackage", "name a boot file that lies in the code directory"),
    ("2793", 0, "FlavorOutOfRange", "ask for fewer nodes; the flavor says how many it has"),
    ("2796", 0, "NotAllowedToTerminate", "nothing to do: the job has ended, or is ending"),
    ("2799", 0, "TooManyRequests", "call less often"),
    ("2802", 0, "InvalidCodeDir", "check that the code directory is there"),
    ("2803", 0, "MethodNotAllowed", "check the endpoint and the path"),
    ("2804", 0, "InsufficientPermissionToAuthorize", "ask an administrator to configure the agency"),
    ("2806", 0, "MustHaveCmdAndImage", "give a custom image both its address and a command"),
    ("2807", 0, "UnsupportedConditionKey", "filter by a key that the search knows"),
    ("2808", 0, "UnsupportedConditionOperator", "use the operators between, like, in and not"),
    ("2809", 0, "UnsupportedConditionValue", "check the values of the filter"),
    ("2810", 0, "SWRQueryImageInfoError", "check that the image exists and can be read, and write it as organization/image:tag"),
    ("2811", 0, "SWRCreateShareError", "check the permissions of the image"),
    ("2812", 0, "UnsupportedActionType", "use the action terminate"),
    ("2813", 0, "NotAllowedToRestart", "restart only jobs that have ended"),
    ("2814", 0, "AlgorithmNotMatch", "fit the job to its algorithm: channels, flavor and parameters"),
    ("2815", 0, "ExceedQuotaLimit", "delete old jobs or ask for more quota"),
    ("2816", 0, "ParamRangeError", "give the parameter a value in its range"),
    ("2817", 0, "AiAlgorithmShareError", "try again when the algorithm has been made"),
    ("2818", 0, "LogFileNotGenerated", "ask again later; there is no log file yet"),
    ("2819", 0, "LogFileHasCleared", "nothing to do: logs are kept for 30 days unless a log path is set"),
    ("2820", 0, "LogPathNotFound", "check the log path of the job"),
    ("2821", 0, "DuplicateAlgorithmName", "choose another name"),
    ("2822", 0, "LogExportPathNotSet", "set a log path when the job is made"),
    ("2823", 0, "DomainIdNotMatched", "use the account that owns it"),
    ("2824", 0, "SearchIndicatorsError", "check the rewards of the hyper-parameter search"),
    ("2825", 0, "ParamTypeError", "give the parameter a value of its type"),
    ("2826", 0, "SearchParamsError", "check the parameters of the hyper-parameter search"),
    ("2829", 0, "DuplicateEngineId", "name one engine"),
    ("2830", 0, "MustHaveEngineId", "name an engine"),
    ("2832", 0, "EngineNeedUpgrade", "choose a newer engine; this one is retired"),
    ("2833", 0, "ExceedeFreeFlavorQuota", "end another job on a free flavor, or use another flavor"),
    ("2834", 0, "UnsupportedRemoteDataType", "use a kind of input that the algorithm admits"),
    ("2835", 0, "GetSizeOfChannelTimeOut", "try again; very many files take long to count"),
    ("2836", 0, "PathNotFound", "check the OBS path"),
    ("2837", 0, "FrozenAccount", "settle the bill of the account"),
    ("2838", 0, "WorkspacePolicyLimit", "ask the owner of the workspace"),
    ("2839", 0, "InvalidMindSporeConfig", "check the configuration of MindSpore"),
    ("2840", 0, "UnsupportedFlavor", "choose a flavor that fits the engine"),
    ("2841", 0, "DuplicateExperimentName", "choose another name"),
    ("2842", 0, "ExperimentNotFound", "check the id of the experiment"),
    ("2845", 0, "ImageSizeExceeded", "make the image smaller; 30 GB is the limit"),
    ("2846", 0, "ExperimentTypeMismatch", "choose an experiment for this kind of job"),
    ("2854", 0, "UnsupportedRemoteType", "use a kind of input that the algorithm admits"),
    ("2855", 0, "RunUserDeny", "use a user id of 1000 or more in the public pool"),
    ("2856", 0, "ImageNotOwned", "use an image of your own before you publish the algorithm"),
    ("2857", 0, "InvalidLocalCodeDir", "choose a directory below /home that the platform does not use"),
    ("2858", 0, "UnsupportedOperation", "nothing to do: the job does not admit this"),
    ("2859", 0, "InvalidWorkingDir", "check the working directory"),
    ("2878", 0, "JobStatusChanged", "try again; the job changed at the same moment"),
    ("2879", 0, "JobRuntimeTypeNotDebug", "save the image of a job with runtime_type debug"),
    ("2880", 0, "ImageSaveJobExist", "wait for the image that is being saved"),
    ("2881", 0, "ImageSaveJobNotExist", "save an image first"),
    ("2883", 0, "ImageSaveJobSecPhaseNotRunning", "wait until the job runs"),
    ("2884", 0, "ImageSwrAlreadyExist", "choose another name or tag"),
    ("2885", 0, "AccessImageSwrException", "check that the organization of the container registry is yours"),
    ("2886", 0, "NotTrainingPool", "choose a pool that admits training"),
    ("2887", 0, "PoolNotRunning", "wait until the pool runs"),
    ("2889", 0, "GetOsPoolFailed", "check the id of the pool, and that it is in this project"),
    ("2890", 0, "PoolNotFound", "check the id of the pool"),
    ("2891", 0, "WorkspaceSetError", "check the workspace id"),
    ("2950", 0, "Unknown", "try again; then give the request id to support"),
    ("2951", 0, "DatasetFailed", "try again later; the datasets failed behind the service"),
    ("2952", 0, "DatabaseFailed", "try again later; the database failed behind the service"),
    ("2953", 0, "IamFailed", "try again later; IAM failed behind the service"),
    ("2954", 0, "WorkspaceFailed", "try again later; the workspaces failed behind the service"),
    ("2955", 0, "AomFailed", "try again later; AOM failed behind the service"),
    ("2956", 0, "AigFailed", "try again later; AIG failed behind the service"),
    ("2957", 0, "SmnFailed", "try again later; SMN failed behind the service"),
    ("2958", 0, "ObsFailed", "try again later; OBS failed behind the service"),
    ("2959", 0, "MaosFailed", "try again later; MAOS failed behind the service"),
    ("4104", 0, "RequestTooLarge", "send less; the limit is 12 MB"),
    ("6100", 0, "Timeout", "try again"),
    ("6101", 0, "Busy", "call less often"),
    ("6102", 0, "InternalError", "try again; then give the request id to support"),
    ("6200", 0, "NoResources", "try again later; there are no resources now"),
    ("6201", 0, "AccountFrozen", "settle the bill of the account"),
    ("6203", 0, "AccountRestricted", "ask the owner of the account"),
    ("7005", 0, "WorkspaceNotFound", "check the workspace id"),
    ("7008", 0, "ReadOnly", "try again in a few minutes; the service is read-only"),
    ("50004000", 0, "BadRequest", "check the query: both times or none, level, source, limit 1 to 100, pattern up to 256 characters"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_with_their_status() {
        let name = |code, status| lookup(code, status).map(|info| info.name);
        assert_eq!(
            name("ModelArts.2775", Some(400)),
            Some("TrainingJobNotFound")
        );
        assert_eq!(
            name("ModelArts.0206", Some(401)),
            Some("AuthorizationMalformed")
        );
        assert_eq!(name("ModelArts.0206", Some(403)), Some("WrongKeys"));
        assert_eq!(name("APIG.0308", Some(429)), Some("Throttled"));
        assert_eq!(name("APIGW.0201", Some(504)), Some("BackendTimeout"));
        assert_eq!(name("APIGW.0201", Some(413)), Some("RequestTooLarge"));
        assert_eq!(name("ModelArts.9999", Some(400)), None);
        assert_eq!(name("Other.2775", Some(400)), None);
    }

    #[test]
    fn rows_are_in_order_and_specific_ones_come_first() {
        for table in [GATEWAY, SERVICE] {
            for pair in table.windows(2) {
                let key = |row: &Row| (row.0.len(), row.0);
                assert!(
                    key(&pair[0]) <= key(&pair[1]),
                    "{} {}",
                    pair[0].0,
                    pair[1].0
                );
                if pair[0].0 == pair[1].0 {
                    assert!(pair[0].1 != 0, "{} is never reached", pair[1].2);
                }
            }
            for (_, _, name, advice) in table {
                assert!(!name.contains(' ') && !advice.ends_with('.'), "{name}");
            }
        }
    }
}
