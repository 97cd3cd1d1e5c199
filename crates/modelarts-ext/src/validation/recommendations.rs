//! Recommendations of the guides (`openapi/SOURCES.md`, F3, G).
//!
//! A job that does not follow them still runs, so they are warnings.

use modelarts_api::Shape;

use crate::{
    error::violation::Actual,
    validation::{
        annotations::{INSIGHT, JUPYTER, RETRIES, SWITCHES, TENSORBOARD},
        draft::Draft,
        json_path::Located,
        limits::{self, BODY},
        obs_path::ObsPath,
        report::Warning,
    },
};

/// All recommendations.
const RECOMMENDATIONS: &[fn(&Draft<'_>, &mut Vec<Warning>)] = &[
    channel_names,
    repeated_argument_names,
    output_folders,
    log_folder,
    undocumented_predownload,
    highest_priority,
    derived_fields,
    ineffective_code_directory,
    misspelt_annotations,
    unknown_fields,
    local_paths,
    volume_servers,
    empty_search,
];

pub(crate) fn check(draft: &Draft<'_>, found: &mut Vec<Warning>) {
    for recommendation in RECOMMENDATIONS {
        recommendation(draft, found);
    }
}

fn warn(found: &mut Vec<Warning>, field: &Located<'_>, advice: impl Into<String>) {
    found.push(Warning::new(field.path(), field.actual(), advice.into()));
}

/// Channels without the names that the user guide recommends (`openapi/SOURCES.md`, F3) and that
/// most scripts use. Exempt are stored algorithms, which name their channels, and fine-tuning jobs,
/// which need no names.
fn channel_names(draft: &Draft<'_>, found: &mut Vec<Warning>) {
    if draft.has_stored_algorithm() || draft.is_fine_tuning() {
        return;
    }
    for (list, name, what) in [
        ("algorithm.inputs", "data_url", "input"),
        ("algorithm.outputs", "train_url", "output"),
    ] {
        let channels = draft.at(list).items();
        let names: Vec<_> = channels.iter().map(|channel| channel.at("name")).collect();
        if let Some(first) = names.first()
            && !names.iter().any(|field| field.is(name))
        {
            warn(
                found,
                first,
                format!("should be {name}, the recommended name of an {what}"),
            );
        }
    }
}

/// Names of channels and hyper-parameters that are used twice: both become the argument `--<name>`.
fn repeated_argument_names(draft: &Draft<'_>, found: &mut Vec<Warning>) {
    let mut seen: Vec<&str> = Vec::new();
    for list in ["inputs", "outputs", "parameters"] {
        let fields = draft.at("algorithm").at(list).items();
        let names: Vec<_> = fields
            .iter()
            .filter(|field| !field.at("access_method").is("env"))
            .map(|field| field.at("name"))
            .collect();
        for name in &names {
            if let Some(text) = name.text()
                && seen.contains(&text)
            {
                warn(
                    found,
                    name,
                    "should be unique: an input, an output or a hyper-parameter of this name \
                     becomes the same argument",
                );
            }
        }
        seen.extend(names.iter().filter_map(Located::text));
    }
}

/// Paths in OBS that are not empty: code and inputs.
fn filled_paths<'a>(draft: &Draft<'a>) -> Vec<ObsPath<'a>> {
    let inputs = draft.at("algorithm.inputs").items();
    let inputs = inputs.iter().map(|input| input.at("remote.obs.obs_url"));
    inputs
        .chain([draft.at("algorithm.code_dir")])
        .filter_map(|field| ObsPath::parse(field.text()?))
        .collect()
}

fn output_folders(draft: &Draft<'_>, found: &mut Vec<Warning>) {
    let mut taken = filled_paths(draft);
    for output in draft.at("algorithm.outputs").items() {
        let field = output.at("remote.obs.obs_url");
        let Some(path) = field.text().and_then(ObsPath::parse) else {
            continue;
        };
        // A job that continues an earlier run uses the output of that run.
        if !output.at("prefetch_to_local").is_true() {
            check_folder(found, &field, &path, &taken, "an output");
        }
        taken.push(path);
    }
}

fn log_folder(draft: &Draft<'_>, found: &mut Vec<Warning>) {
    let mut taken = filled_paths(draft);
    let outputs = draft.at("algorithm.outputs").items();
    let outputs: Vec<_> = outputs
        .iter()
        .map(|output| output.at("remote.obs.obs_url"))
        .collect();
    taken.extend(
        outputs
            .iter()
            .filter_map(|field| ObsPath::parse(field.text()?)),
    );
    let field = draft.at("spec.log_export_path.obs_url");
    if let Some(path) = field.text().and_then(ObsPath::parse) {
        check_folder(found, &field, &path, &taken, "the logs");
    }
}

fn check_folder(
    found: &mut Vec<Warning>,
    field: &Located<'_>,
    path: &ObsPath<'_>,
    taken: &[ObsPath<'_>],
    what: &str,
) {
    if path.is_bucket() {
        warn(
            found,
            field,
            format!("should be an empty folder for {what}, not a whole bucket"),
        );
    } else if taken.iter().any(|other| other.overlaps(path)) {
        warn(
            found,
            field,
            format!(
                "should be an empty folder for {what}; this one overlaps with code, data or \
                 another output"
            ),
        );
    }
}

fn undocumented_predownload(draft: &Draft<'_>, found: &mut Vec<Warning>) {
    for output in draft.at("algorithm.outputs").items() {
        let predownload = output.at("prefetch_to_local");
        if predownload.is_true() {
            warn(
                found,
                &predownload,
                "no document names the field for predownload; make sure that the files are \
                 downloaded",
            );
        }
    }
}

fn highest_priority(draft: &Draft<'_>, found: &mut Vec<Warning>) {
    let priority = draft.at("spec.schedule_policy.priority");
    if priority.integer() == Some(3) {
        warn(
            found,
            &priority,
            "priority 3 requires a separate permission",
        );
    }
}

fn derived_fields(draft: &Draft<'_>, found: &mut Vec<Warning>) {
    let name = draft.at("algorithm.name");
    let inputs = draft.inputs().into_iter().flatten();
    let derived = inputs.map(|input| input.at("remote.dataset.obs_url"));
    for field in derived.chain([name]).filter(Located::is_given) {
        warn(
            found,
            &field,
            "should be left out, because the service fills it in",
        );
    }
}

fn ineffective_code_directory(draft: &Draft<'_>, found: &mut Vec<Warning>) {
    let code = draft.at("algorithm.code_dir").text();
    let directory = draft.at("algorithm.local_code_dir");
    if directory.is_given() && code.is_some_and(|path| path.starts_with("file://")) {
        warn(
            found,
            &directory,
            "should be left out, because it has no effect on code in the image",
        );
    }
}

/// Annotations that resemble a known one. The service stores others without an effect.
fn misspelt_annotations(draft: &Draft<'_>, found: &mut Vec<Warning>) {
    const OTHER_ANNOTATIONS: [&str; 6] = [
        "job_template",
        "key_task",
        "fault-tolerance/pod-retry-num",
        "fault-tolerance/hccl_op_retry",
        "performance_diagnosis_enabled",
        "record/code-dir",
    ];
    let known = SWITCHES
        .iter()
        .chain([&RETRIES, &JUPYTER, &TENSORBOARD, &INSIGHT])
        .chain(&OTHER_ANNOTATIONS);
    for (key, field) in draft.at("metadata.annotations").entries() {
        if known.clone().any(|known| *known == key) {
            continue;
        }
        if let Some(nearest) = nearest(key, known.clone().copied()) {
            warn(
                found,
                &field,
                format!("no such annotation is known; did you mean {nearest}?"),
            );
        }
    }
}

/// Fields that no document names; copied jobs may have them. Their values may be secrets, so the
/// warning does not show them.
fn unknown_fields(draft: &Draft<'_>, found: &mut Vec<Warning>) {
    let mut fields = Vec::new();
    limits::unknown(Shape::Object(BODY), &draft.root(), &mut fields);
    found.extend(fields.iter().map(|field| {
        Warning::new(
            field.path(),
            Actual::Field,
            "no document names this field; it is sent as it is",
        )
    }));
}

/// The first directory of common local paths. The service reads such a path as one in OBS, in the
/// bucket of this name.
const LOCAL_ROOTS: [&str; 7] = ["home", "root", "tmp", "mnt", "cache", "Users", "var"];

fn local_paths(draft: &Draft<'_>, found: &mut Vec<Warning>) {
    let channels = draft.channels().into_iter();
    let mut paths: Vec<_> = channels
        .map(|field| field.at("remote.obs.obs_url"))
        .collect();
    for program in draft.programs() {
        paths.extend(["code_dir", "boot_file"].map(|name| program.at(name)));
    }
    paths.push(draft.at("spec.log_export_path.obs_url"));
    for field in paths {
        let steps = field.text().and_then(|path| path.strip_prefix('/'));
        let bucket = steps.and_then(|steps| steps.split('/').next());
        if let Some(bucket) = bucket.filter(|bucket| LOCAL_ROOTS.contains(bucket)) {
            warn(
                found,
                &field,
                format!(
                    "this is the bucket {bucket} in OBS, not a local path; write obs:// if the bucket \
                     is meant, or upload the files"
                ),
            );
        }
    }
}

fn volume_servers(draft: &Draft<'_>, found: &mut Vec<Warning>) {
    for volume in draft.at("spec.volumes").items() {
        let server = volume.at("nfs.nfs_server_path");
        let has_path = |text: &str| {
            text.split_once(":/")
                .is_some_and(|(host, _)| !host.is_empty())
        };
        if server.text().is_some_and(|text| !has_path(text)) {
            warn(
                found,
                &server,
                "should be a server and a path, such as 10.0.0.5:/share",
            );
        }
    }
}

fn empty_search(draft: &Draft<'_>, found: &mut Vec<Warning>) {
    let search = draft.at("algorithm.policies.auto_search");
    let varied = search.at("search_params");
    if search.at("reward_attrs").is_given() && !varied.is_given() {
        found.push(Warning::new(
            varied.path(),
            Actual::Missing,
            "should be given, because the search varies nothing; name the hyper-parameters to \
             vary, or leave the search out",
        ));
    }
}

/// The known name that is most similar to a misspelt one.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|known| {
            (
                strsim::jaro_winkler(&name.to_lowercase(), &known.to_lowercase()),
                known,
            )
        })
        // Below this similarity, names are unrelated.
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}
