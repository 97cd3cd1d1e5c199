//! Validation rules for the code of a job and for its engine.

use crate::{
    api::error::ApiError,
    catalog::cloud::Cloud,
    files::{
        container_path::{self, ContainerPath},
        obs_path::ObsPath,
    },
    validation::{
        creation::Creation,
        rule::{Rule, advice, broken_if, must, refusal, refused_if},
        storage,
    },
};

const CODE_DIR: &str = "/algorithm/code_dir";
const BOOT_FILE: &str = "/algorithm/boot_file";
const COMMAND: &str = "/algorithm/command";
const WORKING_DIR: &str = "/algorithm/working_dir";
const ENGINE_ID: &str = "/algorithm/engine/engine_id";
const ENGINE_NAME: &str = "/algorithm/engine/engine_name";
const ENGINE_VERSION: &str = "/algorithm/engine/engine_version";
const IMAGE: &str = "/algorithm/engine/image_url";

pub(super) const RULES: &[Rule] = &[
    must("boot-file-needs-code-dir", |job| {
        broken_if(
            job.has(BOOT_FILE) && !job.has(CODE_DIR),
            "algorithm.code_dir is required with algorithm.boot_file",
        )
    }),
    advice("command-or-boot-file", |job| {
        broken_if(
            job.has(BOOT_FILE) && job.has(COMMAND),
            "algorithm.command must not be set together with algorithm.boot_file",
        )
    }),
    // Applies to jobs without a named engine. A boot file does not replace the command.
    refusal("image-and-command", |job| {
        let applies = !job.names_stored() && !names_engine(job);
        refused_if(applies && job.has(COMMAND) != job.has(IMAGE), 2806)
    }),
    must("boot-file-required", |job| {
        let starts = job.has(BOOT_FILE) || job.has(COMMAND);
        // An image without an engine and without a command violates `image-and-command` instead.
        let image = job.has(IMAGE) && !names_engine(job);
        broken_if(needs_code(job) && !starts && !image, "algorithm.boot_file is required")
    }),
    advice("command-one-line", |job| {
        broken_if(
            job.text(COMMAND)?.contains(['\n', '\r']),
            "algorithm.command must not contain line breaks",
        )
    }),
    must("engine-for-boot-file", |job| {
        let engine = names_engine(job) || job.has(ENGINE_VERSION) || job.has(IMAGE);
        broken_if(
            needs_code(job) && job.has(BOOT_FILE) && !engine,
            "algorithm.engine must have engine_id, or engine_name and engine_version, or image_url",
        )
    }),
    advice("engine-name-and-version", |job| {
        let replaced = job.has(IMAGE) || job.has(ENGINE_ID) || job.names_stored();
        broken_if(
            job.has(ENGINE_NAME) != job.has(ENGINE_VERSION) && !replaced,
            "algorithm.engine must have both engine_name and engine_version",
        )
    }),
    advice("engine-id-beside-image", |job| {
        broken_if(
            job.has(ENGINE_ID) && job.has(IMAGE),
            "algorithm.engine.engine_id must not be set together with image_url",
        )
    }),
    // The part before the first slash is a registry if it contains a dot or a port.
    advice("image-without-registry", |job| {
        let (host, _) = job.text(IMAGE)?.split_once('/')?;
        broken_if(host.contains(['.', ':']), "algorithm.engine.image_url must not name a registry")
    }),
    advice("engine-version-needs-name", |job| {
        broken_if(
            job.has(IMAGE) && job.has(ENGINE_VERSION) && !names_engine(job),
            "algorithm.engine.engine_name is required with engine_version",
        )
    }),
    // If the job specifies an image, the engine only identifies the framework of the image.
    refusal("engine-exists", |job| {
        let (name, version) = (job.text(ENGINE_NAME), job.text(ENGINE_VERSION));
        let requested = match (job.text(ENGINE_ID), name, version) {
            (Some(id), _, _) => id.to_owned(),
            (None, Some(name), Some(version)) => format!("{name} {version}"),
            _ => return None,
        };
        let unknown = !job.has(IMAGE) && job.engine().is_none();
        unknown.then(|| ApiError::of(2780, &[&requested]))
    }),
    refusal("engine-not-retired", |job| refused_if(job.engine()?.retired, 2832)),
    advice("sys-packages-need-image", |job| {
        let requested = job.at("/algorithm/engine/install_sys_packages") == Some(&true.into());
        let all = [ENGINE_NAME, ENGINE_VERSION, IMAGE].iter().all(|field| job.has(field));
        broken_if(
            requested && !all,
            "algorithm.engine.install_sys_packages must be set together with engine_name, \
             engine_version and image_url",
        )
    }),
    refusal("obs-paths", storage::invalid_path),
    // Invalid paths violate the rule `obs-paths` instead.
    refusal("boot-file-inside", |job| {
        let file = ObsPath::parse(job.text(BOOT_FILE)?).ok()?;
        let directory = ObsPath::parse(job.text(CODE_DIR)?).ok()?;
        refused_if(file.below(&directory).is_none(), 2792)
    }),
    must("boot-file-python", |job| refused_if(!job.text(BOOT_FILE)?.ends_with(".py"), 2758)),
    refusal("local-code-dir", |job| {
        let path = local_code_dir(job).filter(|path| *path != "/home")?;
        match ContainerPath::parse(path) {
            Err(reason) => Some(ApiError::local_code_dir(reason)),
            Ok(_) if job.offer.cloud == Cloud::Huawei && is_reserved(path) => {
                Some(ApiError::local_code_dir("it must not be a directory reserved by the service"))
            }
            Ok(_) => None,
        }
    }),
    advice("local-code-dir-home", |job| {
        (local_code_dir(job)? == "/home")
            .then(|| ApiError::local_code_dir("it must be a directory below /home"))
    }),
    refusal("working-dir", |job| {
        let relative = has_local_dirs(job) && !job.text(WORKING_DIR)?.starts_with('/');
        relative.then(|| ApiError::working_dir("it must be an absolute path"))
    }),
    // The emulator does not support paths with `.` or `..`, and rejects them with status 501.
    advice("working-dir-plain", |job| {
        let path = job.text(WORKING_DIR)?;
        let applies = has_local_dirs(job) && path.starts_with('/');
        let error = container_path::check_plain(path).err().filter(|_| applies);
        error.map(ApiError::working_dir)
    }),
];

/// Returns `true` for a job that must specify its own code.
fn needs_code(job: &Creation<'_>) -> bool {
    let elsewhere = job.names_stored() || job.is_fine_tuning() || job.has_tasks();
    job.at("/algorithm").is_some() && !elsewhere
}

/// Returns `true` if the job names an engine of the platform, which a custom image may override.
fn names_engine(job: &Creation<'_>) -> bool {
    job.has(ENGINE_ID) || job.has(ENGINE_NAME)
}

/// Directories that Huawei Cloud reserves: `RESERVED_DIRS` without their subdirectories, and
/// `RESERVED_TREES` with their subdirectories.
const RESERVED_DIRS: [&str; 2] = ["/home/ma-user", "/home/ma-user/modelarts"];
const RESERVED_TREES: [&str; 2] = ["/home/ma-user/modelarts-dev", "/home/ma-user/infer"];

fn is_reserved(path: &str) -> bool {
    let inside = |tree: &&str| {
        let rest = path.strip_prefix(*tree);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    RESERVED_DIRS.contains(&path) || RESERVED_TREES.iter().any(inside)
}

/// Returns `false` for an engine of version 1, which ignores both local directories.
fn has_local_dirs(job: &Creation<'_>) -> bool {
    job.engine().is_none_or(|engine| !engine.v1_compatible)
}

/// Returns the local code directory, unless the engine ignores it or the image contains the code.
fn local_code_dir<'a>(job: &Creation<'a>) -> Option<&'a str> {
    let path = job.text("/algorithm/local_code_dir")?.trim_end_matches('/');
    let in_image = job.text(CODE_DIR).is_some_and(|path| path.starts_with("file://"));
    (has_local_dirs(job) && !in_image).then_some(path)
}
