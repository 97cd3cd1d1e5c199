//! Rules on where the code comes from and what it runs on.

use super::Draft;
use super::draft::text_of;
use crate::error::ApiError;
use crate::home::HomePath;
use crate::obs::ObsPath;

fn broken(what: &str) -> Result<(), ApiError> {
    Err(ApiError::invalid_parameter(what))
}

pub(super) fn subscription(draft: &Draft<'_>) -> Result<(), ApiError> {
    if draft.has("/algorithm/subscription_id") == draft.has("/algorithm/item_version_id") {
        return Ok(());
    }
    broken("algorithm.subscription_id and algorithm.item_version_id must come together")
}

pub(super) fn one(draft: &Draft<'_>) -> Result<(), ApiError> {
    let id = draft.has("/algorithm/id");
    let subscription = draft.has("/algorithm/subscription_id");
    if id && subscription {
        return broken("algorithm.id must not stand beside algorithm.subscription_id");
    }
    if !id {
        return Ok(());
    }
    for name in ["code_dir", "boot_file", "command"] {
        if draft.has(&format!("/algorithm/{name}")) {
            return broken(&format!(
                "algorithm.{name} must not stand beside algorithm.id"
            ));
        }
    }
    for name in ["engine_id", "engine_name", "engine_version", "image_url"] {
        if draft.has(&format!("/algorithm/engine/{name}")) {
            return broken("algorithm.engine must not stand beside algorithm.id");
        }
    }
    Ok(())
}

/// Subscriptions come from a gallery. There is none, so only a job with code of its own can name
/// one: that code runs.
pub(super) fn stored(draft: &Draft<'_>) -> Result<(), ApiError> {
    let unknown = draft.has("/algorithm/id") && draft.stored.is_none();
    let own = draft.has("/algorithm/boot_file") || draft.has("/algorithm/command");
    if unknown || (draft.has("/algorithm/subscription_id") && !own) {
        return Err(ApiError::algorithm_not_found());
    }
    Ok(())
}

/// Whether the request itself says what to run.
fn says_code(draft: &Draft<'_>) -> bool {
    draft.at("/algorithm").is_some()
        && !draft.has("/algorithm/id")
        && !draft.has("/algorithm/subscription_id")
}

pub(super) fn boot_file_needs_code_dir(draft: &Draft<'_>) -> Result<(), ApiError> {
    if draft.has("/algorithm/boot_file") && !draft.has("/algorithm/code_dir") {
        return broken("algorithm.code_dir is required with algorithm.boot_file");
    }
    Ok(())
}

pub(super) fn command_or_boot_file(draft: &Draft<'_>) -> Result<(), ApiError> {
    if draft.has("/algorithm/boot_file") && draft.has("/algorithm/command") {
        return broken("algorithm.command must not stand beside algorithm.boot_file");
    }
    Ok(())
}

pub(super) fn image_and_command(draft: &Draft<'_>) -> Result<(), ApiError> {
    let boot_file = draft.has("/algorithm/boot_file");
    let command = draft.has("/algorithm/command");
    let image = draft.has("/algorithm/engine/image_url");
    if !boot_file && command != image {
        return Err(ApiError::command_and_image());
    }
    Ok(())
}

pub(super) fn boot_file(draft: &Draft<'_>) -> Result<(), ApiError> {
    let image = draft.has("/algorithm/engine/image_url");
    if says_code(draft) && !image && !draft.has("/algorithm/boot_file") {
        return broken("algorithm.boot_file is required");
    }
    Ok(())
}

pub(super) fn one_line(draft: &Draft<'_>) -> Result<(), ApiError> {
    match draft.text("/algorithm/command") {
        Some(command) if command.contains(['\n', '\r']) => {
            broken("algorithm.command must not contain line breaks")
        }
        _ => Ok(()),
    }
}

pub(super) fn engine_complete(draft: &Draft<'_>) -> Result<(), ApiError> {
    let has = |name: &str| draft.has(&format!("/algorithm/engine/{name}"));
    let complete =
        has("engine_id") || has("image_url") || (has("engine_name") && has("engine_version"));
    if draft.has("/algorithm/boot_file") && !complete {
        return broken(
            "algorithm.engine must have engine_id, or engine_name and engine_version, or image_url",
        );
    }
    Ok(())
}

/// The id says name, version and image.
pub(super) fn engine_named_once(draft: &Draft<'_>) -> Result<(), ApiError> {
    let has = |name: &str| draft.has(&format!("/algorithm/engine/{name}"));
    let others = ["engine_name", "engine_version", "image_url"];
    match others.into_iter().find(|name| has(name)) {
        Some(name) if has("engine_id") => broken(&format!(
            "algorithm.engine.engine_id must not stand beside {name}"
        )),
        _ => Ok(()),
    }
}

pub(super) fn engine_beside_image(draft: &Draft<'_>) -> Result<(), ApiError> {
    let has = |name: &str| draft.has(&format!("/algorithm/engine/{name}"));
    if has("image_url") && has("engine_version") && !has("engine_name") && !has("engine_id") {
        return Err(ApiError::of(2830, &[]));
    }
    Ok(())
}

/// An engine beside an image only says which frame the image is built on.
pub(super) fn engine_exists(draft: &Draft<'_>) -> Result<(), ApiError> {
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

pub(super) fn engine_not_retired(draft: &Draft<'_>) -> Result<(), ApiError> {
    if draft.engine().is_some_and(|engine| engine.retired) {
        return Err(ApiError::of(2832, &[]));
    }
    Ok(())
}

pub(super) fn sys_packages(draft: &Draft<'_>) -> Result<(), ApiError> {
    let asked = draft.at("/algorithm/engine/install_sys_packages") == Some(&true.into());
    let all = ["engine_name", "engine_version", "image_url"]
        .iter()
        .all(|name| draft.has(&format!("/algorithm/engine/{name}")));
    if asked && !all {
        return broken(
            "algorithm.engine.install_sys_packages must stand beside engine_name, engine_version and image_url",
        );
    }
    Ok(())
}

/// `file://`: the code lies in the image.
fn in_image(draft: &Draft<'_>) -> bool {
    draft
        .text("/algorithm/code_dir")
        .is_some_and(|path| path.starts_with("file://"))
}

pub(super) fn boot_file_inside(draft: &Draft<'_>) -> Result<(), ApiError> {
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

pub(super) fn boot_file_is_python(draft: &Draft<'_>) -> Result<(), ApiError> {
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
fn has_effect(draft: &Draft<'_>) -> bool {
    draft.engine().is_none_or(|engine| !engine.v1_compatible)
}

pub(super) fn local_code_dir(draft: &Draft<'_>) -> Result<(), ApiError> {
    let job = draft.text("/algorithm/local_code_dir");
    let job = job.filter(|_| has_effect(draft) && !in_image(draft));
    let tasks = draft.list("/tasks").iter();
    let tasks = tasks.filter_map(|task| text_of(task, "/algorithm/local_code_dir"));
    for path in job.into_iter().chain(tasks) {
        HomePath::parse(path).map_err(ApiError::local_code_dir)?;
        let path = path.trim_end_matches('/');
        let below = |directory: &&str| {
            path.strip_prefix(*directory)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if draft.terms.cloud == crate::Cloud::Huawei
            && (KEPT.contains(&path) || KEPT_WHOLE.iter().any(below))
        {
            return Err(ApiError::local_code_dir(
                "it must not be a directory that the service keeps for itself",
            ));
        }
    }
    Ok(())
}

pub(super) fn working_dir(draft: &Draft<'_>) -> Result<(), ApiError> {
    match draft.text("/algorithm/working_dir") {
        Some(path) if has_effect(draft) => HomePath::parse(path)
            .map(|_| ())
            .map_err(ApiError::working_dir),
        _ => Ok(()),
    }
}
