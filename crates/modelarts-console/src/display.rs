//! Values as text, for the page and the command line: durations, sizes, phases, names.

use std::time::{Duration, SystemTime};

use modelarts_ext::{
    Job, Timestamp,
    types::{FlavorInfo, Input, Output, Phase},
};

/// Known phases of jobs: those before the end in their order, then the final ones.
pub static PHASES: [Phase; 8] = [
    Phase::Creating,
    Phase::Pending,
    Phase::Running,
    Phase::Terminating,
    Phase::Completed,
    Phase::Failed,
    Phase::Abnormal,
    Phase::Terminated,
];

/// Formats a duration with its two largest units, such as `2m51s` or `3d4h`.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes, seconds % 60) {
        (0, 0, 0, seconds) => format!("{seconds}s"),
        (0, 0, minutes, seconds) => format!("{minutes}m{seconds}s"),
        (0, hours, minutes, _) => format!("{hours}h{minutes}m"),
        (days, hours, ..) => format!("{days}d{hours}h"),
    }
}

/// Returns an OBS path with its scheme, which the service omits.
pub fn obs_address(path: &str) -> String {
    match path.starts_with('/') {
        true => format!("obs:/{path}"),
        false => path.to_owned(),
    }
}

/// Returns the style class and the symbol of a phase. The symbol identifies the phase without
/// colour. All symbols are one column wide on a terminal.
pub fn phase_style(phase: &Phase) -> (&'static str, &'static str) {
    match phase {
        Phase::Completed => ("completed", "✓"),
        Phase::Failed | Phase::Abnormal => ("failed", "✗"),
        Phase::Terminated => ("stopped", "■"),
        Phase::Terminating => ("stopped", "□"),
        Phase::Running => ("running", "●"),
        _ => ("waiting", "◌"),
    }
}

/// Returns the start of the run of a running job.
pub(crate) fn running_since(job: &Job) -> Option<Timestamp> {
    let last = job.runs().last().and_then(|run| time_of_seconds(run.start_at));
    last.or_else(|| job.started_at()).filter(|_| job.phase() == Phase::Running)
}

/// Returns the name of a job, or its id if it has none.
pub(crate) fn name(job: &Job) -> &str {
    match job.name() {
        "" => job.id(),
        name => name,
    }
}

/// Describes the hardware of a flavor, such as `8 CPU cores, 32 GB of memory, 1 × GP-Vnt1 (32GB)`.
pub fn hardware(info: &FlavorInfo) -> String {
    let cores = info.cpu.as_ref().and_then(|cpu| cpu.core_num);
    let memory = info.memory.as_ref();
    let memory =
        memory.and_then(|memory| Some((memory.size?, memory.unit.as_deref().unwrap_or("GB"))));
    let device = |(count, product, memory): (Option<i64>, Option<&str>, Option<&str>)| {
        let product = product.filter(|product| !product.is_empty())?;
        let memory = memory.map(|memory| format!(" ({memory})"));
        Some(format!("{} × {product}{}", count.unwrap_or(1), memory.unwrap_or_default()))
    };
    let gpu = info.gpu.as_ref();
    let gpu = gpu.map(|it| (it.unit_num, it.product_name.as_deref(), it.memory.as_deref()));
    let npu = info.npu.as_ref();
    let npu = npu.map(|it| (it.unit_num, it.product_name.as_deref(), it.memory.as_deref()));
    let parts = [
        cores.map(|cores| format!("{cores} CPU cores")),
        memory.map(|(size, unit)| format!("{size} {unit} of memory")),
        gpu.and_then(device),
        npu.and_then(device),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Describes the disk of a flavor, to which the data of a job must fit, such as `50 GB of disk`.
pub(crate) fn disk(info: &FlavorInfo) -> Option<String> {
    let disk = info.disk.as_ref()?;
    Some(format!("{} {} of disk", disk.size?, disk.unit.as_deref().unwrap_or("GB")))
}

/// Formats a size with its largest binary unit, such as `1.50 GiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        // The precision of a floating-point number suffices for two decimals.
        Some((unit, name)) => format!("{:.2} {name}", bytes as f64 / *unit as f64),
        None => format!("{bytes} B"),
    }
}

/// Parses tags of the form `KEY` or `KEY=VALUE`. Returns each key once with its values, as the
/// service requires. A key without values matches any value.
pub fn tags(texts: &[String]) -> Vec<(&str, Vec<&str>)> {
    let mut tags: Vec<(&str, Vec<&str>)> = Vec::new();
    for text in texts {
        let (tag, value) = match text.split_once('=') {
            Some((tag, value)) => (tag, Some(value)),
            None => (text.as_str(), None),
        };
        match tags.iter_mut().find(|(known, _)| *known == tag) {
            Some((_, values)) => values.extend(value),
            None => tags.push((tag, Vec::from_iter(value))),
        }
    }
    tags
}

/// Parses a date, optionally with a time of day. The default time zone is that of this machine.
///
/// # Errors
/// Returns an error if the text is not a valid date or time.
pub fn parse_time(text: &str) -> Result<SystemTime, jiff::Error> {
    let zoned = text.parse::<jiff::Timestamp>();
    let time = zoned.or_else(|_| {
        let local: jiff::civil::DateTime = text.parse()?;
        Ok::<_, jiff::Error>(local.to_zoned_datetime(jiff::tz::TimeZone::system())?.timestamp())
    });
    time.and_then(SystemTime::try_from)
}

/// Returns the name and the version of an engine, as far as they exist, otherwise its id.
pub fn engine(name: Option<&str>, version: Option<&str>, id: Option<&str>) -> Option<String> {
    let [name, version, id] = [name, version, id].map(|text| text.filter(|it| !it.is_empty()));
    match (name, version) {
        (Some(name), Some(version)) => Some(format!("{name} {version}")),
        _ => name.or(version).or(id).map(str::to_owned),
    }
}

/// Returns the address of an input in OBS, or its data set.
pub fn source_of_input(input: &Input) -> Option<String> {
    let remote = input.remote.as_deref()?;
    let obs = remote.obs.as_ref().and_then(|obs| obs.obs_url.as_deref());
    let dataset = || {
        let set = remote.dataset.as_ref()?;
        let name = set.name.as_deref().or(set.id.as_deref())?;
        let version = set.version_id.as_ref().map(|version| format!(", version {version}"));
        Some(format!("data set {name}{}", version.unwrap_or_default()))
    };
    obs.map(obs_address).or_else(dataset)
}

/// Returns the address of an output in OBS.
pub fn target_of_output(output: &Output) -> Option<String> {
    let remote = output.remote.as_ref()?;
    remote.obs.as_ref()?.obs_url.as_deref().map(obs_address)
}

/// Converts seconds since 1970. Returns `None` unless they are positive: 0 means no time.
pub fn time_of_seconds(seconds: Option<i64>) -> Option<Timestamp> {
    let seconds = seconds.filter(|seconds| *seconds > 0)?;
    Some(Timestamp::from_epoch_millis(seconds.saturating_mul(1_000)))
}
