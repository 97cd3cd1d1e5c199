//! Rules on inputs, outputs and OBS paths.

use crate::validation::{
    draft::Draft,
    json_path::{Located, repeated_paths, repetitions},
    obs_path::ObsPath,
    rules::names::{is_absolute_plain_path, is_name, is_variable_name},
};

/// The inputs without a name. Fine-tuning jobs may leave it out; the inputs of tasks are covered by
/// a limit of the field itself, except for those in `job_config`.
pub(super) fn input_names<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    if draft.is_fine_tuning() {
        return Vec::new();
    }
    let inputs = draft.inputs().into_iter().flatten();
    inputs
        .filter(|input| !input.path().starts_with("tasks") || input.path().contains("job_config"))
        .map(|input| input.at("name"))
        .filter(|name| !name.is_given())
        .collect()
}

pub(super) fn names<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let names = draft
        .channels()
        .into_iter()
        .map(|channel| channel.at("name"));
    // A missing name breaks another rule, or a limit of the field itself.
    names
        .filter(|name| name.text().is_some_and(|text| !is_name(text)))
        .collect()
}

pub(super) fn repeated_names<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let lists = draft.inputs().into_iter().chain(draft.outputs());
    lists
        .flat_map(|list| repetitions(list.iter().map(|channel| channel.at("name"))))
        .collect()
}

pub(super) fn repeated_directories<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    // The inputs and outputs of one program share its file system.
    let programs = draft.inputs().into_iter().zip(draft.outputs());
    programs
        .flat_map(|(inputs, outputs)| {
            let channels = inputs.into_iter().chain(outputs);
            repeated_paths(channels.map(|channel| channel.at("local_dir")))
        })
        .collect()
}

pub(super) fn local_dirs<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let fields = draft
        .channels()
        .into_iter()
        .map(|channel| channel.at("local_dir"));
    fields
        .filter(|field| {
            field
                .text()
                .is_some_and(|path| !is_absolute_plain_path(path))
        })
        .collect()
}

pub(super) fn variable_names<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let channels = draft.channels().into_iter();
    channels
        .filter(|channel| channel.at("access_method").is("env"))
        .map(|channel| channel.at("name"))
        // A name that is invalid for any channel breaks another rule.
        .filter(|name| {
            name.text()
                .is_some_and(|text| is_name(text) && !is_variable_name(text))
        })
        .collect()
}

pub(super) fn sources<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let remotes = draft
        .inputs()
        .into_iter()
        .flatten()
        .map(|input| input.at("remote"));
    remotes
        .filter(|remote| {
            remote.value().is_some()
                && remote.at("obs").value().is_some() == remote.at("dataset").value().is_some()
        })
        .collect()
}

pub(super) fn dataset_version<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let inputs = draft.inputs().into_iter().flatten();
    inputs
        .map(|input| input.at("remote.dataset"))
        .filter(|dataset| dataset.value().is_some() && !dataset.at("service_type").is("V3"))
        .map(|dataset| dataset.at("version_id"))
        .filter(|version| !version.is_given())
        .collect()
}

pub(super) fn task_datasets<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let inputs = draft.inputs().into_iter().flatten();
    inputs
        .filter(|input| input.path().starts_with("tasks"))
        .map(|input| input.at("remote.dataset"))
        .filter(Located::is_given)
        .collect()
}

/// The OBS paths that cannot be read. `autosearch_config_path` is exempt: the service accepts
/// `/config/search.yaml`, though no such bucket exists.
pub(super) fn obs_paths<'a>(draft: &Draft<'a>) -> Vec<Located<'a>> {
    let mut paths = Vec::new();
    for program in draft.programs() {
        // `file://` names code in the image.
        let code = ["code_dir", "boot_file"].map(|name| program.at(name));
        let in_image =
            |field: &Located<'_>| field.text().is_some_and(|text| text.starts_with("file://"));
        paths.extend(code.into_iter().filter(|field| !in_image(field)));
    }
    paths.extend(
        [
            "algorithm.summary.log_dir.pfs.pfs_path",
            "spec.log_export_path.obs_url",
            "spec.output_model.obs.obs_path",
        ]
        .map(|path| draft.at(path)),
    );
    let channels = draft.channels().into_iter();
    paths.extend(channels.map(|channel| channel.at("remote.obs.obs_url")));
    for task in draft.at("tasks").items() {
        paths.push(task.at("log_export_path.obs_url"));
    }
    for volume in draft.at("spec.volumes").items() {
        paths.extend(["pfs.pfs_path", "obs.obs_path"].map(|path| volume.at(path)));
    }
    paths
        .into_iter()
        .filter(|field| {
            field
                .text()
                .is_some_and(|text| ObsPath::parse(text).is_none())
        })
        .collect()
}
