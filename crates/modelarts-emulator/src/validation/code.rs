//! Rules on the source of the code and its engine.

use crate::{
    api::error::ApiError,
    files::{
        container_path::{self, ContainerPath},
        obs_path::ObsPath,
    },
    validation::creation::Creation,
};

fn rule_broken(what: &str) -> Result<(), ApiError> {
    Err(ApiError::invalid_parameter(what))
}

pub(super) fn subscription_and_version(creation: &Creation<'_>) -> Result<(), ApiError> {
    if creation.has("/algorithm/subscription_id") == creation.has("/algorithm/item_version_id") {
        return Ok(());
    }
    rule_broken("algorithm.subscription_id and algorithm.item_version_id must be set together")
}

/// A job has at most one stored algorithm. If it names two, `id` takes precedence over the
/// subscription.
pub(super) fn one_stored_algorithm(creation: &Creation<'_>) -> Result<(), ApiError> {
    if creation.has("/algorithm/id") && creation.has("/algorithm/subscription_id") {
        return rule_broken("algorithm.id must not be set together with algorithm.subscription_id");
    }
    Ok(())
}

fn names_stored(creation: &Creation<'_>) -> bool {
    creation.has("/algorithm/id") || creation.has("/algorithm/subscription_id")
}

/// A job from a stored algorithm has no code of its own. If it has, its code and engine replace
/// those of the algorithm.
pub(super) fn stored_algorithm_code(creation: &Creation<'_>) -> Result<(), ApiError> {
    beside_stored(creation, ["code_dir", "boot_file"])
}

pub(super) fn stored_algorithm_engine(creation: &Creation<'_>) -> Result<(), ApiError> {
    beside_stored(creation, ["command", "engine"])
}

fn beside_stored(creation: &Creation<'_>, own: [&str; 2]) -> Result<(), ApiError> {
    if !names_stored(creation) {
        return Ok(());
    }
    let own = own.into_iter().find(|name| {
        let value = creation.at(&format!("/algorithm/{name}"));
        value.is_some_and(|value| *value != "" && *value != serde_json::json!({}))
    });
    match own {
        Some(name) => rule_broken(&format!(
            "algorithm.{name} must not be set together with a stored algorithm"
        )),
        None => Ok(()),
    }
}

/// The stored algorithm exists. Subscriptions come from a gallery, which the emulator does not
/// have, so that only a job with code of its own, which runs, can name one.
pub(super) fn algorithm_exists(creation: &Creation<'_>) -> Result<(), ApiError> {
    let own = creation.has("/algorithm/boot_file") || creation.has("/algorithm/command");
    let found = creation.stored.is_some() || (own && !creation.has("/algorithm/id"));
    if names_stored(creation) && !found {
        return Err(ApiError::algorithm_not_found());
    }
    Ok(())
}

/// True for a job that must name its own code.
fn says_code(creation: &Creation<'_>) -> bool {
    creation.at("/algorithm").is_some()
        && !names_stored(creation)
        && !creation.is_fine_tuning()
        && !creation.has_tasks()
}

fn engine_has(creation: &Creation<'_>, name: &str) -> bool {
    creation.has(&format!("/algorithm/engine/{name}"))
}

/// True if an engine of the platform is named, which an image may then replace.
fn names_engine(creation: &Creation<'_>) -> bool {
    engine_has(creation, "engine_id") || engine_has(creation, "engine_name")
}

pub(super) fn boot_file_needs_code_dir(creation: &Creation<'_>) -> Result<(), ApiError> {
    if creation.has("/algorithm/boot_file") && !creation.has("/algorithm/code_dir") {
        return rule_broken("algorithm.code_dir is required with algorithm.boot_file");
    }
    Ok(())
}

pub(super) fn command_or_boot_file(creation: &Creation<'_>) -> Result<(), ApiError> {
    if creation.has("/algorithm/boot_file") && creation.has("/algorithm/command") {
        return rule_broken("algorithm.command must not be set together with algorithm.boot_file");
    }
    Ok(())
}

/// Without a named engine, an image and a command are set together. A boot file does not replace
/// the command.
pub(super) fn image_and_command(creation: &Creation<'_>) -> Result<(), ApiError> {
    let command = creation.has("/algorithm/command");
    let image = engine_has(creation, "image_url");
    if !names_stored(creation) && !names_engine(creation) && command != image {
        return Err(ApiError::command_and_image());
    }
    Ok(())
}

pub(super) fn boot_file_required(creation: &Creation<'_>) -> Result<(), ApiError> {
    let starts = creation.has("/algorithm/boot_file") || creation.has("/algorithm/command");
    // An image without an engine and without a command breaks the previous rule.
    let image = engine_has(creation, "image_url") && !names_engine(creation);
    if says_code(creation) && !starts && !image {
        return rule_broken("algorithm.boot_file is required");
    }
    Ok(())
}

pub(super) fn command_one_line(creation: &Creation<'_>) -> Result<(), ApiError> {
    match creation.text("/algorithm/command") {
        Some(command) if command.contains(['\n', '\r']) => {
            rule_broken("algorithm.command must not contain line breaks")
        }
        _ => Ok(()),
    }
}

pub(super) fn engine_for_boot_file(creation: &Creation<'_>) -> Result<(), ApiError> {
    let names = ["engine_id", "engine_name", "engine_version", "image_url"];
    let named = names.iter().any(|name| engine_has(creation, name));
    if says_code(creation) && creation.has("/algorithm/boot_file") && !named {
        return rule_broken(
            "algorithm.engine must have engine_id, or engine_name and engine_version, or image_url",
        );
    }
    Ok(())
}

/// An engine has a name and a version, unless it has an image or an id.
pub(super) fn engine_name_and_version(creation: &Creation<'_>) -> Result<(), ApiError> {
    let has = |name: &str| engine_has(creation, name);
    let pair = has("engine_name") == has("engine_version");
    if pair || has("image_url") || has("engine_id") || names_stored(creation) {
        return Ok(());
    }
    rule_broken("algorithm.engine must have both engine_name and engine_version")
}

pub(super) fn engine_id_beside_image(creation: &Creation<'_>) -> Result<(), ApiError> {
    if engine_has(creation, "engine_id") && engine_has(creation, "image_url") {
        return rule_broken("algorithm.engine.engine_id must not be set together with image_url");
    }
    Ok(())
}

/// The path of an image has no registry. The part before the first slash is a registry if it has a
/// dot or a port.
pub(super) fn image_without_registry(creation: &Creation<'_>) -> Result<(), ApiError> {
    let image = creation.text("/algorithm/engine/image_url");
    let host = image.and_then(|image| Some(image.split_once('/')?.0));
    if host.is_some_and(|host| host.contains(['.', ':'])) {
        return rule_broken("algorithm.engine.image_url must not name a registry");
    }
    Ok(())
}

pub(super) fn engine_version_needs_name(creation: &Creation<'_>) -> Result<(), ApiError> {
    if engine_has(creation, "image_url")
        && engine_has(creation, "engine_version")
        && !names_engine(creation)
    {
        return rule_broken("algorithm.engine.engine_name is required with engine_version");
    }
    Ok(())
}

/// The engine exists. Beside an image, it only names the framework of the image.
pub(super) fn engine_exists(creation: &Creation<'_>) -> Result<(), ApiError> {
    let engine = |name: &str| creation.text(&format!("/algorithm/engine/{name}"));
    let requested = match (
        engine("engine_id"),
        engine("engine_name"),
        engine("engine_version"),
    ) {
        (Some(id), _, _) => id.to_owned(),
        (None, Some(name), Some(version)) => format!("{name} {version}"),
        _ => return Ok(()),
    };
    if engine("image_url").is_none() && creation.engine().is_none() {
        return Err(ApiError::of(2780, &[&requested]));
    }
    Ok(())
}

pub(super) fn engine_not_retired(creation: &Creation<'_>) -> Result<(), ApiError> {
    if creation.engine().is_some_and(|engine| engine.retired) {
        return Err(ApiError::of(2832, &[]));
    }
    Ok(())
}

pub(super) fn sys_packages_need_image(creation: &Creation<'_>) -> Result<(), ApiError> {
    let requested = creation.at("/algorithm/engine/install_sys_packages") == Some(&true.into());
    let all = ["engine_name", "engine_version", "image_url"]
        .iter()
        .all(|name| engine_has(creation, name));
    if requested && !all {
        return rule_broken(
            "algorithm.engine.install_sys_packages must be set together with engine_name, engine_version and image_url",
        );
    }
    Ok(())
}

/// True for `file://`: the code is in the image.
fn in_image(creation: &Creation<'_>) -> bool {
    creation
        .text("/algorithm/code_dir")
        .is_some_and(|path| path.starts_with("file://"))
}

pub(super) fn boot_file_inside(creation: &Creation<'_>) -> Result<(), ApiError> {
    let (Some(file), Some(directory)) = (
        creation.text("/algorithm/boot_file"),
        creation.text("/algorithm/code_dir"),
    ) else {
        return Ok(());
    };
    // Invalid paths are reported by another rule.
    if let (Ok(file), Ok(directory)) = (ObsPath::parse(file), ObsPath::parse(directory))
        && file.below(&directory).is_none()
    {
        return Err(ApiError::boot_file_outside());
    }
    Ok(())
}

pub(super) fn boot_file_python(creation: &Creation<'_>) -> Result<(), ApiError> {
    match creation.text("/algorithm/boot_file") {
        Some(file) if !file.ends_with(".py") => Err(ApiError::boot_file()),
        _ => Ok(()),
    }
}

/// Directories that Huawei Cloud reserves: the first two themselves, the others with everything
/// below them.
const RESERVED_DIRS: [&str; 2] = ["/home/ma-user", "/home/ma-user/modelarts"];
const RESERVED_TREES: [&str; 2] = ["/home/ma-user/modelarts-dev", "/home/ma-user/infer"];

/// False for an engine of version 1, which ignores both local directories.
fn has_effect(creation: &Creation<'_>) -> bool {
    creation.engine().is_none_or(|engine| !engine.v1_compatible)
}

/// The local code directory, without trailing slashes.
fn own_code_dir<'a>(creation: &Creation<'a>) -> Option<&'a str> {
    let path = creation.text("/algorithm/local_code_dir");
    let path = path.filter(|_| has_effect(creation) && !in_image(creation));
    path.map(|path| path.trim_end_matches('/'))
}

pub(crate) fn local_code_dir(creation: &Creation<'_>) -> Result<(), ApiError> {
    if let Some(path) = own_code_dir(creation).filter(|path| *path != "/home") {
        ContainerPath::parse(path).map_err(ApiError::local_code_dir)?;
        let below = |directory: &&str| {
            path.strip_prefix(*directory)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if creation.offer.cloud == crate::catalog::cloud::Cloud::Huawei
            && (RESERVED_DIRS.contains(&path) || RESERVED_TREES.iter().any(below))
        {
            return Err(ApiError::local_code_dir(
                "it must not be a directory reserved by the service",
            ));
        }
    }
    Ok(())
}

pub(super) fn local_code_dir_home(creation: &Creation<'_>) -> Result<(), ApiError> {
    if own_code_dir(creation) == Some("/home") {
        return Err(ApiError::local_code_dir(
            "it must be a directory below /home",
        ));
    }
    Ok(())
}

pub(crate) fn working_dir(creation: &Creation<'_>) -> Result<(), ApiError> {
    match creation.text("/algorithm/working_dir") {
        Some(path) if has_effect(creation) && !path.starts_with('/') => {
            Err(ApiError::working_dir("it must be an absolute path"))
        }
        _ => Ok(()),
    }
}

/// The working directory is a plain absolute path. The emulator does not have others (501).
pub(super) fn working_dir_plain(creation: &Creation<'_>) -> Result<(), ApiError> {
    match creation.text("/algorithm/working_dir") {
        Some(path) if has_effect(creation) && path.starts_with('/') => {
            container_path::check_plain(path).map_err(ApiError::working_dir)
        }
        _ => Ok(()),
    }
}
