//! Recommendations of the guides (`openapi/SOURCES.md`, F3, G).
//!
//! The service accepts jobs that do not follow a recommendation, so each finding is a warning.

use modelarts_api::{
    Shape,
    request_path::{
        create_training_job::{
            algorithm::{self, policies::auto_search},
            metadata, spec,
        },
        input, job_algorithm, output, parameter, volume,
    },
};

use crate::{
    error::violation::Actual,
    spelling::nearest,
    validation::{
        draft::{Draft, OTHERS, SWITCHES},
        json_path::{Fields, Located},
        limits::{self, BODY},
        obs_path::ObsPath,
        report::Warning,
    },
};

const RECOMMENDATIONS: &[fn(Draft<'_>, &mut Vec<Warning>)] = &[
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

pub(crate) fn check(job: Draft<'_>, found: &mut Vec<Warning>) {
    for recommendation in RECOMMENDATIONS {
        recommendation(job, found);
    }
}

fn warn(found: &mut Vec<Warning>, fields: Fields<'_>, advice: &'static str) {
    found.extend(fields.iter().map(|field| Warning::at(field, advice)));
}

/// Warns if no channel has the name that the user guide recommends (`openapi/SOURCES.md`, F3).
fn channel_names(job: Draft<'_>, found: &mut Vec<Warning>) {
    if job.has_stored_algorithm() || job.is_fine_tuning() {
        return;
    }
    for (list, field, name, channel) in [
        (algorithm::INPUTS, input::NAME, "data_url", "input"),
        (algorithm::OUTPUTS, output::NAME, "train_url", "output"),
    ] {
        let names = job.at(list).items().at(field);
        if let Some(first) = names.iter().next()
            && !names.iter().any(|field| field.is(name))
        {
            let advice = format!("should be {name}, the recommended name of an {channel}");
            found.push(Warning::at(first, advice));
        }
    }
}

/// Warns about channels and hyper-parameters of the same name, which become the same argument.
fn repeated_argument_names(job: Draft<'_>, found: &mut Vec<Warning>) {
    let mut earlier: Vec<&str> = Vec::new();
    for (list, name) in [
        (algorithm::INPUTS, input::NAME),
        (algorithm::OUTPUTS, output::NAME),
        (algorithm::PARAMETERS, parameter::NAME),
    ] {
        let arguments = job.at(list).items();
        let names = arguments.filter(|field| !field.at(input::ACCESS_METHOD).is("env")).at(name);
        warn(
            found,
            names.clone().texts(|name| earlier.contains(&name)),
            "should be unique: an input, an output or a hyper-parameter of this name becomes the \
             same argument",
        );
        earlier.extend(names.iter().filter_map(Located::text));
    }
}

fn filled_paths(job: Draft<'_>) -> Vec<ObsPath<'_>> {
    let inputs = job.at(algorithm::INPUTS).items();
    let inputs = inputs.at(input::remote::obs::OBS_URL).into_iter();
    inputs
        .chain([job.at(algorithm::CODE_DIR)])
        .filter_map(|field| ObsPath::parse(field.text()?))
        .collect()
}

fn output_folders(job: Draft<'_>, found: &mut Vec<Warning>) {
    let mut taken = filled_paths(job);
    for output in job.at(algorithm::OUTPUTS).items() {
        let field = output.at(output::remote::obs::OBS_URL);
        // A job that continues an earlier run reads the output of that run.
        if !output.at(output::PREFETCH_TO_LOCAL).is_true() {
            check_folder(found, &field, &taken, "an output");
        }
        taken.extend(field.text().and_then(ObsPath::parse));
    }
}

fn log_folder(job: Draft<'_>, found: &mut Vec<Warning>) {
    let mut taken = filled_paths(job);
    let outputs = job.at(algorithm::OUTPUTS).items();
    let outputs = outputs.at(output::remote::obs::OBS_URL).into_iter();
    taken.extend(outputs.filter_map(|field| ObsPath::parse(field.text()?)));
    let logs = job.at(spec::log_export_path::OBS_URL);
    check_folder(found, &logs, &taken, "the logs");
}

fn check_folder(
    found: &mut Vec<Warning>,
    field: &Located<'_>,
    taken: &[ObsPath<'_>],
    content: &str,
) {
    let Some(path) = field.text().and_then(ObsPath::parse) else {
        return;
    };
    let reason = if path.is_bucket() {
        ", not a whole bucket"
    } else if taken.iter().any(|other| other.overlaps(&path)) {
        "; this one overlaps with code, data or another output"
    } else {
        return;
    };
    let advice = format!("should be an empty folder for {content}{reason}");
    found.push(Warning::at(field, advice));
}

fn undocumented_predownload(job: Draft<'_>, found: &mut Vec<Warning>) {
    let outputs = job.at(algorithm::OUTPUTS).items();
    let switches = outputs.at(output::PREFETCH_TO_LOCAL);
    warn(
        found,
        switches.filter(Located::is_true),
        "no document names the field for predownload; make sure that the files are downloaded",
    );
}

fn highest_priority(job: Draft<'_>, found: &mut Vec<Warning>) {
    let priority = Fields::from(job.at(spec::schedule_policy::PRIORITY));
    warn(
        found,
        priority.filter(|priority| priority.integer() == Some(3)),
        "priority 3 requires a separate permission",
    );
}

fn derived_fields(job: Draft<'_>, found: &mut Vec<Warning>) {
    let datasets = job.lists(job_algorithm::INPUTS).items().at(input::remote::dataset::OBS_URL);
    let fields = datasets.into_iter().chain([job.at(algorithm::NAME)]);
    warn(
        found,
        fields.collect::<Fields<'_>>().given(),
        "should be left out, because the service fills it in",
    );
}

fn ineffective_code_directory(job: Draft<'_>, found: &mut Vec<Warning>) {
    let code = job.at(algorithm::CODE_DIR).text();
    let is_in_image = code.is_some_and(|path| path.starts_with("file://"));
    warn(
        found,
        job.at(algorithm::LOCAL_CODE_DIR).when(is_in_image).given(),
        "should be left out, because it has no effect on code in the image",
    );
}

/// Warns about misspelt annotations, which the service stores without effect.
fn misspelt_annotations(job: Draft<'_>, found: &mut Vec<Warning>) {
    let known = || SWITCHES.into_iter().chain(OTHERS);
    let annotations = job.at(metadata::ANNOTATIONS);
    for key in annotations.keys() {
        if known().any(|known| known == key) {
            continue;
        }
        if let Some(nearest) = nearest(key, known()) {
            let advice = format!("no such annotation is known; did you mean {nearest}?");
            found.push(Warning::at(&annotations.entry(key), advice));
        }
    }
}

/// Warns about unknown fields, such as in copied jobs. Omits values, which may be secrets.
fn unknown_fields(job: Draft<'_>, found: &mut Vec<Warning>) {
    let mut fields = Vec::new();
    limits::unknown(Shape::Object(BODY), &job.root(), &mut fields);
    let advice = "no document names this field; it is sent as it is";
    let warnings = fields.iter();
    found.extend(warnings.map(|field| Warning::new(field.path(), Actual::Field, advice)));
}

/// Root directories of local paths, which the service would interpret as names of buckets.
const LOCAL_ROOTS: [&str; 7] = ["home", "root", "tmp", "mnt", "cache", "Users", "var"];

fn local_paths(job: Draft<'_>, found: &mut Vec<Warning>) {
    let code = [job_algorithm::CODE_DIR, job_algorithm::BOOT_FILE];
    let channels = job.channels().at(input::remote::obs::OBS_URL).into_iter();
    let paths = channels
        .chain(job.programs().at_all(&code))
        .chain([job.at(spec::log_export_path::OBS_URL)]);
    for field in paths {
        let steps = field.text().and_then(|path| path.strip_prefix('/'));
        let bucket = steps.and_then(|steps| steps.split('/').next());
        if let Some(bucket) = bucket.filter(|bucket| LOCAL_ROOTS.contains(bucket)) {
            let advice = format!(
                "this is the bucket {bucket} in OBS, not a local path; write obs:// if the bucket \
                 is meant, or upload the files"
            );
            found.push(Warning::at(&field, advice));
        }
    }
}

fn volume_servers(job: Draft<'_>, found: &mut Vec<Warning>) {
    let has_path = |text: &str| {
        let parts = text.split_once(":/");
        parts.is_some_and(|(host, _)| !host.is_empty())
    };
    let volumes = job.at(spec::VOLUMES).items();
    let servers = volumes.at(volume::nfs::NFS_SERVER_PATH);
    warn(
        found,
        servers.texts(|text| !has_path(text)),
        "should be a server and a path, such as 10.0.0.5:/share",
    );
}

fn empty_search(job: Draft<'_>, found: &mut Vec<Warning>) {
    if job.has(auto_search::REWARD_ATTRS) && !job.has(auto_search::SEARCH_PARAMS) {
        found.push(Warning::new(
            auto_search::SEARCH_PARAMS,
            Actual::Missing,
            "should be given, because the search varies nothing; name the hyper-parameters to \
             vary, or leave the search out",
        ));
    }
}
