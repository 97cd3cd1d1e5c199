//! Rules on inputs, outputs and OBS paths.

use modelarts_api::request_path::{
    create_training_job::{TASKS, algorithm, spec},
    dataset, input, input_remote, job_algorithm, task, task_algorithm, volume,
};

use crate::validation::{
    draft::Draft,
    json_path::{Fields, Located},
    obs_path::{ObsPath, is_name, is_variable_name},
};

/// Returns missing input names, except in fine-tuning jobs and, outside of `job_config`, in tasks.
pub(super) fn input_names(job: Draft<'_>) -> Fields<'_> {
    if job.is_fine_tuning() {
        return Fields::default();
    }
    let inputs = job.lists(job_algorithm::INPUTS).items();
    inputs
        .filter(|input| !is_of_task(input) || input.path().contains(task_algorithm::JOB_CONFIG))
        .at(input::NAME)
        .missing()
}

fn is_of_task(input: &Located<'_>) -> bool {
    input.path().starts_with(TASKS)
}

pub(super) fn repeated_names(job: Draft<'_>) -> Fields<'_> {
    let lists =
        job.lists(job_algorithm::INPUTS).into_iter().chain(job.lists(job_algorithm::OUTPUTS));
    lists.flat_map(|list| list.items().at(input::NAME).repeated()).collect()
}

/// Returns repeated local directories of a program, whose channels share a file system.
pub(super) fn repeated_directories(job: Draft<'_>) -> Fields<'_> {
    let programs =
        job.lists(job_algorithm::INPUTS).into_iter().zip(job.lists(job_algorithm::OUTPUTS));
    programs
        .flat_map(|(inputs, outputs)| {
            let channels: Fields<'_> = inputs.items().into_iter().chain(outputs.items()).collect();
            channels.at(input::LOCAL_DIR).repeated_paths()
        })
        .collect()
}

/// Returns names that are valid for a channel, but not for an environment variable.
pub(super) fn variable_names(job: Draft<'_>) -> Fields<'_> {
    let channels = job.channels();
    channels
        .filter(|channel| channel.at(input::ACCESS_METHOD).is("env"))
        .at(input::NAME)
        .texts(|text| is_name(text) && !is_variable_name(text))
}

pub(super) fn sources(job: Draft<'_>) -> Fields<'_> {
    let [obs, dataset] = [input_remote::OBS, input_remote::DATASET];
    let remotes = job.lists(job_algorithm::INPUTS).items().at(input::REMOTE).present();
    remotes.filter(|remote| remote.at(obs).is_present() == remote.at(dataset).is_present())
}

pub(super) fn dataset_version(job: Draft<'_>) -> Fields<'_> {
    let datasets = job.lists(job_algorithm::INPUTS).items().at(input::remote::DATASET).present();
    datasets
        .filter(|dataset| !dataset.at(dataset::SERVICE_TYPE).is("V3"))
        .at(dataset::VERSION_ID)
        .missing()
}

pub(super) fn task_datasets(job: Draft<'_>) -> Fields<'_> {
    let inputs = job.lists(job_algorithm::INPUTS).items().filter(is_of_task);
    inputs.at(input::remote::DATASET).given()
}

/// Returns invalid OBS paths, except `autosearch_config_path`, which may be `/config/search.yaml`.
pub(super) fn obs_paths(job: Draft<'_>) -> Fields<'_> {
    let code = [job_algorithm::CODE_DIR, job_algorithm::BOOT_FILE];
    let code = job.programs().at_all(&code).into_iter();
    // A path that begins with `file://` refers to code in the image.
    let code = code.filter(|field| !field.text().is_some_and(|text| text.starts_with("file://")));
    let single = [
        algorithm::summary::log_dir::pfs::PFS_PATH,
        spec::log_export_path::OBS_URL,
        spec::output_model::obs::OBS_PATH,
    ];
    let volumes = job.at(spec::VOLUMES).items();
    let paths: Fields<'_> = code
        .chain(single.map(|path| job.at(path)))
        .chain(job.channels().at(input::remote::obs::OBS_URL))
        .chain(job.at(TASKS).items().at(task::log_export_path::OBS_URL))
        .chain(volumes.at_all(&[volume::pfs::PFS_PATH, volume::obs::OBS_PATH]))
        .collect();
    paths.texts(|text| ObsPath::parse(text).is_none())
}
