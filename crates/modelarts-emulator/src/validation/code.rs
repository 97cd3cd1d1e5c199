//! Rules on where the code comes from and what it runs on.

use crate::{
    api::error::ApiError,
    files::{
        container_path::{self, ContainerPath},
        obs_path::ObsPath,
    },
    validation::creation::Creation,
};

fn broken(what: &str) -> Result<(), ApiError> {
    Err(ApiError::invalid_parameter(what))
}

pub(crate) fn subscription(draft: &Creation<'_>) -> Result<(), ApiError> {
    if draft.has("/algorithm/subscription_id") == draft.has("/algorithm/item_version_id") {
        return Ok(());
    }
    broken("algorithm.subscription_id and algorithm.item_version_id must come together")
}

/// Beside a subscription the id counts.
pub(crate) fn one_stored(draft: &Creation<'_>) -> Result<(), ApiError> {
    if draft.has("/algorithm/id") && draft.has("/algorithm/subscription_id") {
        return broken("algorithm.id must not stand beside algorithm.subscription_id");
    }
    Ok(())
}

fn names_stored(draft: &Creation<'_>) -> bool {
    draft.has("/algorithm/id") || draft.has("/algorithm/subscription_id")
}

/// Code and engine of the job then take the place of the algorithm's.
pub(crate) fn stored_code(draft: &Creation<'_>) -> Result<(), ApiError> {
    beside_stored(draft, ["code_dir", "boot_file"])
}

pub(crate) fn stored_engine(draft: &Creation<'_>) -> Result<(), ApiError> {
    beside_stored(draft, ["command", "engine"])
}

fn beside_stored(draft: &Creation<'_>, own: [&str; 2]) -> Result<(), ApiError> {
    if !names_stored(draft) {
        return Ok(());
    }
    let own = own.into_iter().find(|name| {
        let value = draft.at(&format!("/algorithm/{name}"));
        value.is_some_and(|value| *value != "" && *value != serde_json::json!({}))
    });
    match own {
        Some(name) => broken(&format!(
            "algorithm.{name} must not stand beside a stored algorithm"
        )),
        None => Ok(()),
    }
}

/// Subscriptions come from a gallery. There is none, so only a job with code of its own can name
/// one: that code runs.
pub(crate) fn stored(draft: &Creation<'_>) -> Result<(), ApiError> {
    let own = draft.has("/algorithm/boot_file") || draft.has("/algorithm/command");
    let found = draft.stored.is_some() || (own && !draft.has("/algorithm/id"));
    if names_stored(draft) && !found {
        return Err(ApiError::algorithm_not_found());
    }
    Ok(())
}

/// True for a job that must name its code itself.
fn says_code(draft: &Creation<'_>) -> bool {
    draft.at("/algorithm").is_some() && !names_stored(draft) && !draft.tunes() && !draft.has_tasks()
}

fn engine_has(draft: &Creation<'_>, name: &str) -> bool {
    draft.has(&format!("/algorithm/engine/{name}"))
}

/// True where an engine of the platform is named, which an image may then replace.
fn names_engine(draft: &Creation<'_>) -> bool {
    engine_has(draft, "engine_id") || engine_has(draft, "engine_name")
}

pub(crate) fn boot_file_needs_code_dir(draft: &Creation<'_>) -> Result<(), ApiError> {
    if draft.has("/algorithm/boot_file") && !draft.has("/algorithm/code_dir") {
        return broken("algorithm.code_dir is required with algorithm.boot_file");
    }
    Ok(())
}

pub(crate) fn command_or_boot_file(draft: &Creation<'_>) -> Result<(), ApiError> {
    if draft.has("/algorithm/boot_file") && draft.has("/algorithm/command") {
        return broken("algorithm.command must not stand beside algorithm.boot_file");
    }
    Ok(())
}

/// A boot file does not make up for the command of an image; only an engine that is named does.
pub(crate) fn image_and_command(draft: &Creation<'_>) -> Result<(), ApiError> {
    let command = draft.has("/algorithm/command");
    let image = engine_has(draft, "image_url");
    if !names_stored(draft) && !names_engine(draft) && command != image {
        return Err(ApiError::command_and_image());
    }
    Ok(())
}

pub(crate) fn boot_file(draft: &Creation<'_>) -> Result<(), ApiError> {
    let starts = draft.has("/algorithm/boot_file") || draft.has("/algorithm/command");
    // An image without an engine and without a command breaks the rule before.
    let image = engine_has(draft, "image_url") && !names_engine(draft);
    if says_code(draft) && !starts && !image {
        return broken("algorithm.boot_file is required");
    }
    Ok(())
}

pub(crate) fn one_line(draft: &Creation<'_>) -> Result<(), ApiError> {
    match draft.text("/algorithm/command") {
        Some(command) if command.contains(['\n', '\r']) => {
            broken("algorithm.command must not contain line breaks")
        }
        _ => Ok(()),
    }
}

pub(crate) fn engine_for_boot_file(draft: &Creation<'_>) -> Result<(), ApiError> {
    let names = ["engine_id", "engine_name", "engine_version", "image_url"];
    let named = names.iter().any(|name| engine_has(draft, name));
    if says_code(draft) && draft.has("/algorithm/boot_file") && !named {
        return broken(
            "algorithm.engine must have engine_id, or engine_name and engine_version, or image_url",
        );
    }
    Ok(())
}

/// An image needs no version, and an id says both.
pub(crate) fn engine_pair(draft: &Creation<'_>) -> Result<(), ApiError> {
    let has = |name: &str| engine_has(draft, name);
    let pair = has("engine_name") == has("engine_version");
    if pair || has("image_url") || has("engine_id") || names_stored(draft) {
        return Ok(());
    }
    broken("algorithm.engine must have both engine_name and engine_version")
}

pub(crate) fn engine_id_beside_image(draft: &Creation<'_>) -> Result<(), ApiError> {
    if engine_has(draft, "engine_id") && engine_has(draft, "image_url") {
        return broken("algorithm.engine.engine_id must not stand beside image_url");
    }
    Ok(())
}

/// The part before the first slash is a registry if it has a dot or a port.
pub(crate) fn image_without_registry(draft: &Creation<'_>) -> Result<(), ApiError> {
    let image = draft.text("/algorithm/engine/image_url");
    let host = image.and_then(|image| Some(image.split_once('/')?.0));
    if host.is_some_and(|host| host.contains(['.', ':'])) {
        return broken("algorithm.engine.image_url must not name a registry");
    }
    Ok(())
}

pub(crate) fn engine_beside_image(draft: &Creation<'_>) -> Result<(), ApiError> {
    if engine_has(draft, "image_url") && engine_has(draft, "engine_version") && !names_engine(draft)
    {
        return broken("algorithm.engine.engine_name is required with engine_version");
    }
    Ok(())
}

/// An engine beside an image only says which frame the image is built on.
pub(crate) fn engine_exists(draft: &Creation<'_>) -> Result<(), ApiError> {
    let engine = |name: &str| draft.text(&format!("/algorithm/engine/{name}"));
    let asked = match (
        engine("engine_id"),
        engine("engine_name"),
        engine("engine_version"),
    ) {
        (Some(id), _, _) => id.to_owned(),
        (None, Some(name), Some(version)) => format!("{name} {version}"),
        _ => return Ok(()),
    };
    if engine("image_url").is_none() && draft.engine().is_none() {
        return Err(ApiError::of(2780, &[&asked]));
    }
    Ok(())
}

pub(crate) fn engine_not_retired(draft: &Creation<'_>) -> Result<(), ApiError> {
    if draft.engine().is_some_and(|engine| engine.retired) {
        return Err(ApiError::of(2832, &[]));
    }
    Ok(())
}

pub(crate) fn sys_packages(draft: &Creation<'_>) -> Result<(), ApiError> {
    let asked = draft.at("/algorithm/engine/install_sys_packages") == Some(&true.into());
    let all = ["engine_name", "engine_version", "image_url"]
        .iter()
        .all(|name| engine_has(draft, name));
    if asked && !all {
        return broken(
            "algorithm.engine.install_sys_packages must stand beside engine_name, engine_version and image_url",
        );
    }
    Ok(())
}

/// `file://`: the code lies in the image.
fn in_image(draft: &Creation<'_>) -> bool {
    draft
        .text("/algorithm/code_dir")
        .is_some_and(|path| path.starts_with("file://"))
}

pub(crate) fn boot_file_inside(draft: &Creation<'_>) -> Result<(), ApiError> {
    let (Some(file), Some(directory)) = (
        draft.text("/algorithm/boot_file"),
        draft.text("/algorithm/code_dir"),
    ) else {
        return Ok(());
    };
    // A path that cannot be read is another rule's.
    if let (Ok(file), Ok(directory)) = (ObsPath::parse(file), ObsPath::parse(directory))
        && file.below(&directory).is_none()
    {
        return Err(ApiError::boot_file_outside());
    }
    Ok(())
}

pub(crate) fn boot_file_is_python(draft: &Creation<'_>) -> Result<(), ApiError> {
    match draft.text("/algorithm/boot_file") {
        Some(file) if !file.ends_with(".py") => Err(ApiError::boot_file()),
        _ => Ok(()),
    }
}

/// Directories that Huawei Cloud keeps for itself: the first two as they are, the others with
/// everything below them.
const KEPT: [&str; 2] = ["/home/ma-user", "/home/ma-user/modelarts"];
const KEPT_WHOLE: [&str; 2] = ["/home/ma-user/modelarts-dev", "/home/ma-user/infer"];

/// Neither local directory has an effect for an engine of version 1.
fn has_effect(draft: &Creation<'_>) -> bool {
    draft.engine().is_none_or(|engine| !engine.v1_compatible)
}

/// The local code directory, without slashes at the end.
fn own_code_dir<'a>(draft: &Creation<'a>) -> Option<&'a str> {
    let path = draft.text("/algorithm/local_code_dir");
    let path = path.filter(|_| has_effect(draft) && !in_image(draft));
    path.map(|path| path.trim_end_matches('/'))
}

pub(crate) fn local_code_dir(draft: &Creation<'_>) -> Result<(), ApiError> {
    if let Some(path) = own_code_dir(draft).filter(|path| *path != "/home") {
        ContainerPath::parse(path).map_err(ApiError::local_code_dir)?;
        let below = |directory: &&str| {
            path.strip_prefix(*directory)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if draft.terms.cloud == crate::catalog::cloud::Cloud::Huawei
            && (KEPT.contains(&path) || KEPT_WHOLE.iter().any(below))
        {
            return Err(ApiError::local_code_dir(
                "it must not be a directory that the service keeps for itself",
            ));
        }
    }
    Ok(())
}

pub(crate) fn local_code_dir_home(draft: &Creation<'_>) -> Result<(), ApiError> {
    if own_code_dir(draft) == Some("/home") {
        return Err(ApiError::local_code_dir(
            "it must be a directory below /home",
        ));
    }
    Ok(())
}

pub(crate) fn working_dir(draft: &Creation<'_>) -> Result<(), ApiError> {
    match draft.text("/algorithm/working_dir") {
        Some(path) if has_effect(draft) && !path.starts_with('/') => {
            Err(ApiError::working_dir("it must be an absolute path"))
        }
        _ => Ok(()),
    }
}

/// The emulator has no such directories (501).
pub(crate) fn working_dir_plain(draft: &Creation<'_>) -> Result<(), ApiError> {
    match draft.text("/algorithm/working_dir") {
        Some(path) if has_effect(draft) && path.starts_with('/') => {
            container_path::plain(path).map_err(ApiError::working_dir)
        }
        _ => Ok(()),
    }
}
