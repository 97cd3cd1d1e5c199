//! Rules on the code of a job and on its engine or image.

use modelarts_api::request_path::{
    create_training_job::algorithm,
    job_algorithm::{self, BOOT_FILE, CODE_DIR, LOCAL_CODE_DIR, WORKING_DIR},
    job_engine::{ENGINE_ID, ENGINE_NAME, ENGINE_VERSION, IMAGE_URL, INSTALL_SYS_PACKAGES},
};

use crate::{
    config::cloud::Cloud,
    validation::{
        draft::Draft,
        json_path::{Fields, Located},
        obs_path::{ObsPath, is_absolute_plain_path},
    },
};

/// Returns the first of the fields that is set in addition to a stored algorithm, if any.
pub(super) fn first_beside_stored<'a>(job: Draft<'a>, paths: [&str; 2]) -> Fields<'a> {
    let given = paths.into_iter().find(|path| job.has(path));
    let given = given.filter(|_| job.has_stored_algorithm());
    given.map(|path| job.at(path)).into_iter().collect()
}

/// Returns `true` if the job has an engine, whose image a custom image replaces.
fn names_engine(job: Draft<'_>) -> bool {
    job.at(algorithm::ENGINE).has_any(&[ENGINE_ID, ENGINE_NAME])
}

pub(super) fn boot_file(job: Draft<'_>) -> Fields<'_> {
    // An image without engine and command violates another rule.
    let has_image = job.has(algorithm::engine::IMAGE_URL) && !names_engine(job);
    let has_start = has_image || job.has(algorithm::COMMAND) || job.has(algorithm::BOOT_FILE);
    let missing = job.at(algorithm::BOOT_FILE);
    let missing = missing.when(job.names_own_code() && !has_start);
    let tasks = job.programs().into_iter().skip(1);
    let tasks: Fields<'_> = tasks.filter(|task| task.has(CODE_DIR)).collect();
    let of_tasks = tasks.at(BOOT_FILE).missing();
    missing.into_iter().chain(of_tasks).collect()
}

pub(super) fn boot_or_command(job: Draft<'_>) -> Fields<'_> {
    let has_both = job.has(algorithm::BOOT_FILE) && job.has(algorithm::COMMAND);
    job.at(algorithm::COMMAND).when(has_both && !job.has_stored_algorithm())
}

/// Returns the missing field of image and command. Without an engine, an image needs a command.
pub(super) fn image_and_command(job: Draft<'_>) -> Fields<'_> {
    if job.has_stored_algorithm() || names_engine(job) {
        return Fields::default();
    }
    job.root().missing_of([algorithm::engine::IMAGE_URL, algorithm::COMMAND])
}

/// Returns the engines of a job. Empty with a stored algorithm, which has its own engine.
pub(super) fn engines(job: Draft<'_>) -> Fields<'_> {
    match job.has_stored_algorithm() {
        true => Fields::default(),
        false => job.programs().at(job_algorithm::ENGINE),
    }
}

pub(super) fn engine(job: Draft<'_>) -> Fields<'_> {
    let engine = job.at(algorithm::ENGINE);
    let is_named = engine.has_any(&[ENGINE_ID, ENGINE_NAME, ENGINE_VERSION, IMAGE_URL]);
    engine.when(job.names_own_code() && job.has(algorithm::BOOT_FILE) && !is_named)
}

/// Returns the missing field of engine name and version. Ignores engines with an image or an id.
pub(super) fn engine_pair(job: Draft<'_>) -> Fields<'_> {
    let engines = engines(job).filter(|engine| !engine.has_any(&[IMAGE_URL, ENGINE_ID]));
    let engines = engines.into_iter();
    engines.flat_map(|engine| engine.missing_of([ENGINE_NAME, ENGINE_VERSION])).collect()
}

pub(super) fn engine_beside_image(job: Draft<'_>) -> Fields<'_> {
    let engines = engines(job).filter(|engine| {
        engine.has(IMAGE_URL) && engine.has(ENGINE_VERSION) && !engine.has(ENGINE_ID)
    });
    engines.at(ENGINE_NAME).missing()
}

/// Returns image URLs with a registry: text with a dot or a colon before the first slash.
pub(super) fn image_without_registry(job: Draft<'_>) -> Fields<'_> {
    engines(job).at(IMAGE_URL).texts(|url| {
        let host = url.split_once('/').map(|(host, _)| host);
        host.is_some_and(|host| host.contains(['.', ':']))
    })
}

pub(super) fn sys_packages(job: Draft<'_>) -> Fields<'_> {
    let engine = job.at(algorithm::ENGINE);
    let names = [ENGINE_NAME, ENGINE_VERSION, IMAGE_URL];
    let has_all = names.iter().all(|name| engine.has(name));
    let install = engine.at(INSTALL_SYS_PACKAGES);
    let installs = install.is_true();
    install.when(installs && !has_all)
}

/// Returns the boot files outside of the code directory. Ignores invalid OBS paths.
pub(super) fn boot_file_inside(job: Draft<'_>) -> Fields<'_> {
    let is_outside = |program: &Located<'_>| {
        let obs_path = |name| program.at(name).text().and_then(ObsPath::parse);
        obs_path(BOOT_FILE)
            .zip(obs_path(CODE_DIR))
            .is_some_and(|(file, directory)| file.path_below(&directory).is_none())
    };
    job.programs().filter(is_outside).at(BOOT_FILE)
}

/// Returns the user ids for which `wrong` is `true`. Text that is not a number is passed as `None`.
pub(super) fn users(job: Draft<'_>, wrong: impl Fn(Option<u64>) -> bool) -> Fields<'_> {
    let users = job.programs().at(job_algorithm::engine::RUN_USER);
    users.texts(|digits| wrong(digits.parse().ok()))
}

/// Directories that Huawei Cloud reserves, but not their subdirectories, such as the default.
const RESERVED_DIRS: [&str; 2] = ["/home/ma-user", "/home/ma-user/modelarts"];
/// Directories that Huawei Cloud reserves, including all subdirectories.
const RESERVED_TREES: [&str; 2] = ["/home/ma-user/modelarts-dev", "/home/ma-user/infer"];

/// Returns the local code directories for which `wrong` is `true`. Ignores code in the image.
pub(super) fn local_code_dirs(job: Draft<'_>, wrong: impl Fn(&str) -> bool) -> Fields<'_> {
    let is_in_image = |program: &Located<'_>| {
        let code = program.at(CODE_DIR).text();
        code.is_some_and(|path| path.starts_with("file://"))
    };
    let programs = job.programs().filter(|program| !is_in_image(program));
    let directories = programs.at(LOCAL_CODE_DIR);
    directories.texts(|path| wrong(path.trim_end_matches('/')))
}

pub(super) fn local_code_dir(job: Draft<'_>) -> Fields<'_> {
    local_code_dirs(job, |path| {
        let is_reserved = RESERVED_DIRS.contains(&path)
            || RESERVED_TREES.iter().any(|tree| {
                let rest = path.strip_prefix(tree);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            });
        let is_in_home = path == "/home" || path.starts_with("/home/");
        !is_in_home || !is_absolute_plain_path(path) || (is_reserved && job.cloud == Cloud::Huawei)
    })
}

pub(super) fn working_dir_plain(job: Draft<'_>) -> Fields<'_> {
    let directories = job.programs().at(WORKING_DIR);
    directories.texts(|path| path.starts_with('/') && !is_absolute_plain_path(path))
}

pub(super) fn search_config(job: Draft<'_>) -> Fields<'_> {
    job.at(algorithm::AUTOSEARCH_CONFIG_PATH)
        .when_text(|text| !text.ends_with(".yaml") && !text.ends_with(".yml"))
}
