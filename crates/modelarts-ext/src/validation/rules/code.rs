//! Rules on the code of a job and on its engine or image.

use crate::{
    config::cloud::Cloud,
    validation::{
        draft::Draft,
        json_path::{Located, field_if},
        obs_path::ObsPath,
        rules::names::is_absolute_plain_path,
    },
};

pub(super) fn tasks_or_spec<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    field_if(draft.has("tasks") && draft.has("spec"), draft.at("tasks"))
}

pub(super) fn algorithm_present<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    field_if(
        draft.runs_code() && !draft.has("algorithm"),
        draft.at("algorithm"),
    )
}

pub(super) fn subscription<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let [subscription, version] =
        ["algorithm.subscription_id", "algorithm.item_version_id"].map(|name| draft.at(name));
    match (subscription.is_given(), version.is_given()) {
        (true, false) => vec![version],
        (false, true) => vec![subscription],
        _ => Vec::new(),
    }
}

pub(super) fn subscription_beside_id<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let subscription = draft.at("algorithm.subscription_id");
    field_if(
        draft.has("algorithm.id") && subscription.is_given(),
        subscription,
    )
}

pub(super) fn code_beside_stored<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    first_beside_stored(draft, ["code_dir", "boot_file"])
}

pub(super) fn engine_beside_stored<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    first_beside_stored(draft, ["command", "engine"])
}

/// The first of these fields that is given with a stored algorithm. One warning covers all of
/// them.
fn first_beside_stored<'a>(draft: &Draft<'a>, names: [&str; 2]) -> Vec<Located<'a>> {
    let fields = names.map(|name| draft.at("algorithm").at(name));
    let given = fields.into_iter().find(Located::is_given);
    given
        .filter(|_| draft.has_stored_algorithm())
        .into_iter()
        .collect()
}

pub(super) fn code_dir<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let programs = draft.programs().into_iter();
    programs
        .filter(|program| program.at("boot_file").is_given())
        .map(|program| program.at("code_dir"))
        .filter(|directory| !directory.is_given())
        .collect()
}

/// True if an engine of the platform is named. An image beside it replaces the image of the engine.
fn names_engine(draft: &Draft<'_>) -> bool {
    ["engine_id", "engine_name"]
        .iter()
        .any(|name| draft.at("algorithm.engine").at(name).is_given())
}

pub(super) fn boot_file<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    // An image without engine and command breaks another rule.
    let image = draft.has("algorithm.engine.image_url") && !names_engine(draft);
    let boot_file = draft.at("algorithm.boot_file");
    let nothing = !image && !draft.has("algorithm.command") && !boot_file.is_given();
    let mut missing = field_if(draft.names_own_code() && nothing, boot_file);
    let tasks = draft.programs().into_iter().skip(1);
    missing.extend(
        tasks
            .filter(|task| task.at("code_dir").is_given())
            .map(|task| task.at("boot_file"))
            .filter(|file| !file.is_given()),
    );
    missing
}

pub(super) fn boot_or_command<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let command = draft.at("algorithm.command");
    let both = draft.has("algorithm.boot_file") && command.is_given();
    field_if(both && !draft.has_stored_algorithm(), command)
}

/// The missing one of image and command. An image needs a command unless an engine is named; a boot
/// file is no substitute.
pub(super) fn image_and_command<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    if draft.has_stored_algorithm() || names_engine(draft) {
        return Vec::new();
    }
    let [image, command] =
        ["algorithm.engine.image_url", "algorithm.command"].map(|name| draft.at(name));
    match (image.is_given(), command.is_given()) {
        (true, false) => vec![command],
        (false, true) => vec![image],
        _ => Vec::new(),
    }
}

pub(super) fn command_one_line<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let command = draft.at("algorithm.command");
    let broken = command
        .text()
        .is_some_and(|text| text.contains(['\n', '\r']));
    field_if(broken, command)
}

/// The engines of the job and of its tasks. None for a stored algorithm, which has its own.
fn engines<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    if draft.has_stored_algorithm() {
        return Vec::new();
    }
    let programs = draft.programs().into_iter();
    programs.map(|program| program.at("engine")).collect()
}

pub(super) fn engine<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let engine = draft.at("algorithm.engine");
    let named = ["engine_id", "engine_name", "engine_version", "image_url"]
        .iter()
        .any(|name| engine.at(name).is_given());
    let wrong = draft.names_own_code() && draft.has("algorithm.boot_file") && !named;
    field_if(wrong, engine)
}

pub(super) fn engine_pair<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let mut missing = Vec::new();
    for engine in engines(draft) {
        // An image needs no version, and an id stands for name and version.
        if engine.at("image_url").is_given() || engine.at("engine_id").is_given() {
            continue;
        }
        let [name, version] = ["engine_name", "engine_version"].map(|name| engine.at(name));
        match (name.is_given(), version.is_given()) {
            (true, false) => missing.push(version),
            (false, true) => missing.push(name),
            _ => {}
        }
    }
    missing
}

pub(super) fn engine_beside_image<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let beside = engines(draft).into_iter().filter(|engine| {
        engine.at("image_url").is_given()
            && engine.at("engine_version").is_given()
            && !engine.at("engine_id").is_given()
    });
    beside
        .map(|engine| engine.at("engine_name"))
        .filter(|name| !name.is_given())
        .collect()
}

pub(super) fn engine_id_beside_image<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let images = engines(draft).into_iter();
    images
        .filter(|engine| engine.at("image_url").is_given())
        .map(|engine| engine.at("engine_id"))
        .filter(Located::is_given)
        .collect()
}

/// The images with a registry: a part before the first slash with a dot or a port.
pub(super) fn image_without_registry<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let has_registry = |url: &str| {
        let host = url.split_once('/').map(|(host, _)| host);
        host.is_some_and(|host| host.contains(['.', ':']))
    };
    let images = engines(draft).into_iter();
    images
        .map(|engine| engine.at("image_url"))
        .filter(|image| image.text().is_some_and(has_registry))
        .collect()
}

pub(super) fn sys_packages<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let engine = draft.at("algorithm.engine");
    let all = ["engine_name", "engine_version", "image_url"]
        .iter()
        .all(|name| engine.at(name).is_given());
    let install = engine.at("install_sys_packages");
    field_if(install.is_true() && !all, install)
}

pub(super) fn boot_file_inside<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let outside = |program: &Located<'_>| {
        let [file, directory] = ["boot_file", "code_dir"].map(|name| program.at(name).text());
        // An invalid OBS path breaks another rule.
        match (
            file.and_then(ObsPath::parse),
            directory.and_then(ObsPath::parse),
        ) {
            (Some(file), Some(directory)) => file.path_below(&directory).is_none(),
            _ => false,
        }
    };
    let programs = draft.programs().into_iter().filter(outside);
    programs.map(|program| program.at("boot_file")).collect()
}

pub(super) fn boot_file_python<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let files = draft.programs().into_iter();
    files
        .map(|program| program.at("boot_file"))
        .filter(|file| file.text().is_some_and(|text| !text.ends_with(".py")))
        .collect()
}

/// The user ids, as numbers where they can be read. No document has a field for the user id in
/// requests (`openapi/SOURCES.md`, O, S, F3); answers have `run_user`.
fn users<'a>(draft: &Draft<'a>) -> Vec<(Located<'a>, Option<u64>)> {
    let programs = draft.programs().into_iter();
    programs
        .map(|program| program.at("engine.run_user"))
        .filter_map(|user| {
            let digits = user.text()?;
            let number = digits.parse().ok();
            Some((user, number))
        })
        .collect()
}

pub(super) fn user_number<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let users = users(draft).into_iter();
    users
        .filter(|user| user.1.is_none())
        .map(|user| user.0)
        .collect()
}

pub(super) fn user_most<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let users = users(draft).into_iter();
    users
        .filter(|user| user.1.is_some_and(|id| id > 65_535))
        .map(|user| user.0)
        .collect()
}

pub(super) fn user_least<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let pool = draft.has_pool();
    let users = users(draft).into_iter();
    users
        .filter(|user| !pool && user.1.is_some_and(|id| id < 1000))
        .map(|user| user.0)
        .collect()
}

/// Directories that Huawei Cloud reserves, without the directories below them: the default lies
/// below the second.
const RESERVED_DIRS: [&str; 2] = ["/home/ma-user", "/home/ma-user/modelarts"];
/// Directories that Huawei Cloud reserves with everything below them.
const RESERVED_TREES: [&str; 2] = ["/home/ma-user/modelarts-dev", "/home/ma-user/infer"];

/// The local code directories. Those of code in the image are left out: they have no effect.
fn local_code_dirs<'a>(draft: &Draft<'a>) -> Vec<(Located<'a>, &'a str)> {
    let programs = draft.programs().into_iter();
    programs
        .filter(|program| {
            let code = program.at("code_dir").text();
            !code.is_some_and(|path| path.starts_with("file://"))
        })
        .map(|program| program.at("local_code_dir"))
        .filter_map(|field| {
            let path = field.text()?.trim_end_matches('/');
            Some((field, path))
        })
        .collect()
}

pub(super) fn local_code_dir<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let wrong = |path: &str| {
        let reserved = RESERVED_DIRS.contains(&path)
            || RESERVED_TREES.iter().any(|whole| {
                let rest = path.strip_prefix(whole);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            });
        let in_home = path == "/home" || path.starts_with("/home/");
        !in_home || !is_absolute_plain_path(path) || (reserved && draft.cloud == Cloud::Huawei)
    };
    let directories = local_code_dirs(draft).into_iter();
    let directories = directories.filter(|(_, path)| wrong(path));
    directories.map(|(field, _)| field).collect()
}

pub(super) fn local_code_dir_home<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let directories = local_code_dirs(draft).into_iter();
    let directories = directories.filter(|(_, path)| *path == "/home");
    directories.map(|(field, _)| field).collect()
}

/// The working directories with a `wrong` path.
fn working_dirs<'a>(draft: &Draft<'a>, wrong: fn(&str) -> bool) -> Vec<Located<'a>> {
    let programs = draft.programs().into_iter();
    programs
        .map(|program| program.at("working_dir"))
        .filter(|field| field.text().is_some_and(wrong))
        .collect()
}

pub(super) fn working_dir<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    working_dirs(draft, |path| !path.starts_with('/'))
}

pub(super) fn working_dir_plain<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    working_dirs(draft, |path| {
        path.starts_with('/') && !is_absolute_plain_path(path)
    })
}

pub(super) fn search_config<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let path = draft.at("algorithm.autosearch_config_path");
    let wrong = path
        .text()
        .is_some_and(|text| !text.ends_with(".yaml") && !text.ends_with(".yml"));
    field_if(wrong, path)
}
