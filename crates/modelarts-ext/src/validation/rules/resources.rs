//! Rules on flavor, pool, priority, node affinity and volumes.

use modelarts_api::request_path::{
    create_training_job::{
        KIND, SPEC, TASKS,
        spec::{
            self,
            resource::FLAVOR_ID,
            schedule_policy::{PRIORITY, preferred_affinity, required_affinity},
        },
    },
    input, job_resource, node_selector_requirement, node_selector_term, preferred_scheduling_term,
    volume,
};

use crate::validation::{
    draft::{Draft, names_pool},
    json_path::{Fields, Located},
};

/// Prefix of flavors of dedicated pools. The rest of the name states the number of cards.
pub(crate) const POOL_FLAVOR_PREFIX: &str = "modelarts.pool.visual.";

pub(super) fn is_federated(job: Draft<'_>) -> bool {
    job.at(KIND).is("federated_pool_job")
}

pub(super) fn flavor_or_pool(job: Draft<'_>) -> Fields<'_> {
    let is_missing = job.has(SPEC) && !job.has(FLAVOR_ID) && !job.has_pool();
    let flavor = job.at(FLAVOR_ID);
    flavor.when(is_missing && !job.has(TASKS) && !is_federated(job))
}

/// Returns flavors with (`of_pools`) or without the prefix, in (`in_pool`) or outside of a pool.
pub(super) fn flavors(job: Draft<'_>, of_pools: bool, in_pool: bool) -> Fields<'_> {
    let resources = job.resources();
    resources
        .filter(|resource| names_pool(resource) == in_pool)
        .at(job_resource::FLAVOR_ID)
        .texts(|flavor| flavor.starts_with(POOL_FLAVOR_PREFIX) == of_pools)
}

pub(super) fn priority(job: Draft<'_>, wrong: impl Fn(i64) -> bool) -> Fields<'_> {
    let priority = job.at(PRIORITY);
    let is_wrong = priority.integer().is_some_and(wrong);
    priority.when(is_wrong)
}

pub(super) fn affinity_group_size(job: Draft<'_>) -> Fields<'_> {
    let size = job.at(required_affinity::AFFINITY_GROUP_SIZE);
    let kind = job.at(required_affinity::AFFINITY_TYPE).text();
    let is_wrong = match size.integer() {
        Some(number) => number < 1,
        None => matches!(kind, Some("hyperinstance" | "networkTopology")),
    };
    size.when(is_wrong)
}

fn conditions(job: Draft<'_>) -> Fields<'_> {
    let required = required_affinity::node_affinity::NODE_SELECTOR_TERMS;
    let preferred = job.at(preferred_affinity::NODE_AFFINITY).items();
    let terms: Fields<'_> = (job.at(required).items().into_iter())
        .chain(preferred.at(preferred_scheduling_term::PREFERENCE))
        .collect();
    let lists = [node_selector_term::MATCH_EXPRESSIONS, node_selector_term::MATCH_FIELDS];
    terms.at_all(&lists).items()
}

pub(super) fn condition_values(job: Draft<'_>) -> Fields<'_> {
    let is_wrong = |condition: &Located<'_>| {
        let values = condition.at(node_selector_requirement::VALUES).items();
        let values: Vec<_> = values.into_iter().collect();
        match condition.at(node_selector_requirement::OPERATOR).text() {
            Some("In" | "NotIn") => values.is_empty(),
            Some("Exists" | "DoesNotExist") => !values.is_empty(),
            Some("Gt" | "Lt") => match values.as_slice() {
                [only] => only.text().is_none_or(|text| text.parse::<i64>().is_err()),
                _ => true,
            },
            _ => false,
        }
    };
    let conditions = conditions(job).filter(is_wrong);
    conditions.at(node_selector_requirement::VALUES)
}

const KINDS: [&str; 3] = [volume::NFS, volume::PFS, volume::OBS];
/// Default mount points that the user guide lists (`openapi/SOURCES.md`, F3).
pub(super) const DEFAULT_MOUNTS: [&str; 3] = ["/", "/cache", "/home/ma-user/modelarts"];
pub(super) const PLATFORM_DIRS: [&str; 6] = [
    "/home",
    "/home/ma-user",
    "/home/ma-user/modelarts/inputs",
    "/home/ma-user/modelarts/outputs",
    "/home/ma-user/modelarts/user-job-dir",
    "/home/ma-user/modelarts/log",
];

pub(super) fn volumes(job: Draft<'_>) -> Fields<'_> {
    job.at(spec::VOLUMES).items()
}

pub(super) fn kinds(job: Draft<'_>) -> Fields<'_> {
    volumes(job).filter(|volume| {
        let given = KINDS.iter().filter(|kind| volume.at(kind).is_present());
        given.count() != 1
    })
}

/// Returns sources of volumes without any path. NFS requires none (`openapi/SOURCES.md`, D-130).
pub(super) fn sources(job: Draft<'_>) -> Fields<'_> {
    let kinds = [
        (volume::PFS, volume::pfs::PFS_PATH, volume::pfs::LOCAL_PATH),
        (volume::OBS, volume::obs::OBS_PATH, volume::obs::LOCAL_PATH),
    ];
    let volumes = volumes(job).into_iter();
    let sources = volumes.flat_map(|volume| {
        kinds.map(|(kind, source, target)| {
            let is_empty = volume.at(kind).is_present() && !volume.has_any(&[source, target]);
            volume.at(source).when(is_empty)
        })
    });
    sources.flatten().collect()
}

/// Returns repeated file systems. Ignores `obs`, because no source states the rule for buckets.
pub(super) fn repeated_file_systems(job: Draft<'_>) -> Fields<'_> {
    let sources = [volume::nfs::NFS_SERVER_PATH, volume::pfs::PFS_PATH];
    volumes(job).at_all(&sources).repeated_paths()
}

/// Returns volumes with another directory of an SFS Turbo server that an earlier volume mounts.
pub(super) fn repeated_servers(job: Draft<'_>) -> Fields<'_> {
    fn server(path: &str) -> &str {
        path.split_once(':').map_or(path, |(server, _)| server)
    }
    let same = repeated_file_systems(job);
    let paths = volumes(job).at(volume::nfs::NFS_SERVER_PATH).given();
    let is_same = |field: &Located<'_>| same.iter().any(|same| same.path() == field.path());
    paths.repeated_by(server).filter(|field| !is_same(field))
}

pub(super) fn local_paths(job: Draft<'_>) -> Fields<'_> {
    volumes(job).at_all(&[
        volume::nfs::LOCAL_PATH,
        volume::pfs::LOCAL_PATH,
        volume::obs::LOCAL_PATH,
    ])
}

/// Returns the local paths for which `wrong` is `true` after removal of trailing slashes.
pub(super) fn local_paths_where(job: Draft<'_>, wrong: impl Fn(&str) -> bool) -> Fields<'_> {
    local_paths(job).texts(|path| match path.trim_end_matches('/') {
        "" => wrong("/"),
        path => wrong(path),
    })
}

pub(super) fn over_channel(job: Draft<'_>) -> Fields<'_> {
    let directories = job.channels().at(input::LOCAL_DIR);
    let directories = directories.iter().filter_map(Located::text);
    let directories: Vec<_> = directories.map(|text| text.trim_end_matches('/')).collect();
    local_paths_where(job, |path| directories.contains(&path))
}
