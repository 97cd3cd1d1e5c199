//! Rules on the volumes of a job.

use modelarts_api::request_path::{create_training_job::spec, input, volume};

use crate::validation::{
    draft::Draft,
    json_path::{Fields, Located},
};

/// The kinds of volumes.
const KINDS: [&str; 3] = [volume::NFS, volume::PFS, volume::OBS];
/// Default mount points listed in the user guide (`openapi/SOURCES.md`, F3).
pub(super) const DEFAULT_MOUNTS: [&str; 3] = ["/", "/cache", "/home/ma-user/modelarts"];
/// Parent directories of a default mount point, and the directories of code, data and logs.
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

/// Returns the sources of volumes with neither a source nor a local path. NFS volumes are exempt,
/// because all of their fields are optional (`openapi/SOURCES.md`, D-130).
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

/// Returns the paths of file systems that an earlier volume already mounts (`openapi/SOURCES.md`,
/// rule `volume-once`). Trailing slashes are ignored. Volumes of kind `obs` are exempt, because no
/// source states the rule for buckets.
pub(super) fn repeated_file_systems(job: Draft<'_>) -> Fields<'_> {
    let sources = [volume::nfs::NFS_SERVER_PATH, volume::pfs::PFS_PATH];
    volumes(job).at_all(&sources).repeated_paths()
}

/// Returns the other directories of a server of SFS Turbo that an earlier volume mounts.
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

/// Returns the local paths for which `wrong` returns `true`, compared without trailing slashes.
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
