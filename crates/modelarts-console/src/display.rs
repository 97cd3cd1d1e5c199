//! Values as text, for the page and for the tool: durations, sizes, phases, names.

use std::time::Duration;

use modelarts_ext::{
    Job,
    types::{FlavorInfo, Phase},
};

/// Returns a duration in its two largest units, such as `2m51s` or `3d4h`.
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

/// Returns a path of OBS with its scheme, which the service leaves out.
pub fn obs_address(path: &str) -> String {
    match path.starts_with('/') {
        true => format!("obs:/{path}"),
        false => path.to_owned(),
    }
}

/// Returns the class of a phase and its sign: a phase is visible by word and shape, not by colour
/// alone. All signs are one column wide on a terminal.
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

/// Returns the name of a job, or its id if it has none.
pub(crate) fn name(job: &Job) -> &str {
    match job.name() {
        "" => job.id(),
        name => name,
    }
}

/// Returns the hardware of a flavor, such as `8 CPU cores, 32 GB of memory, 1 × GP-Vnt1 (32GB)`.
pub fn hardware(info: &FlavorInfo) -> String {
    let cores = info.cpu.as_ref().and_then(|cpu| cpu.core_num);
    let memory = info.memory.as_ref();
    let memory =
        memory.and_then(|memory| Some((memory.size?, memory.unit.as_deref().unwrap_or("GB"))));
    let device = |count: Option<i64>, product: Option<&str>, memory: Option<&str>| {
        let product = product.filter(|product| !product.is_empty())?;
        let memory = memory.map(|memory| format!(" ({memory})"));
        let memory = memory.unwrap_or_default();
        Some(format!("{} × {product}{memory}", count.unwrap_or(1)))
    };
    let gpu = info.gpu.as_ref().and_then(|gpu| {
        let (product, memory) = (gpu.product_name.as_deref(), gpu.memory.as_deref());
        device(gpu.unit_num, product, memory)
    });
    let npu = info.npu.as_ref().and_then(|npu| {
        let (product, memory) = (npu.product_name.as_deref(), npu.memory.as_deref());
        device(npu.unit_num, product, memory)
    });
    let parts = [
        cores.map(|cores| format!("{cores} CPU cores")),
        memory.map(|(size, unit)| format!("{size} {unit} of memory")),
        gpu,
        npu,
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns a size in its largest binary unit, such as `1.50 GiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        // The precision of a float suffices for two decimals.
        Some((unit, name)) => format!("{:.2} {name}", bytes as f64 / *unit as f64),
        None => format!("{bytes} B"),
    }
}
