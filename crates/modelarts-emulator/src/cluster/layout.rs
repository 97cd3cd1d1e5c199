//! Files of a submission in the shared directory, `jobs/<id>/batch-<number>`.

use std::{
    fs, io,
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    catalog::quirks::Quirks,
    clock::{timestamp::Timestamp, timing::Timing},
    job::state::{RestartOn, StopReason},
    runner::launcher::WorkerSettings,
};
#[cfg(feature = "cli")]
use crate::{files::confined_dir::ConfinedDir, runner::worker_files::WorkerFiles};

/// Line that the program writes to the output of its script at the start of each run.
pub(super) const RUN_MARK: &str = "modelarts-emulator: start of a run\n";

/// Version of the files. Programs of other versions do not run the submission.
pub(super) const LAYOUT: u32 = 1;

/// Directory of a submission. Only the user can read the files, because a request may contain
/// secrets. Files exist from the start: NFS may report a new file with a delay of a minute, but
/// reads an opened file as it is.
#[derive(Clone, Debug)]
pub(super) struct Directory(pub(super) PathBuf);

impl Directory {
    pub(super) fn new(shared: &Path, job_id: &str, number: u32) -> Self {
        Self(shared.join("jobs").join(job_id).join(format!("batch-{number}")))
    }

    /// Batch script.
    pub(super) fn script(&self) -> PathBuf {
        self.0.join("script")
    }

    /// [`Specification`].
    pub(super) fn specification(&self) -> PathBuf {
        self.0.join("job.json")
    }

    /// Lines of the program: what has happened to the job.
    pub(super) fn journal(&self) -> PathBuf {
        self.0.join("journal")
    }

    /// Lines of the emulator: [`Order`].
    pub(super) fn orders(&self) -> PathBuf {
        self.0.join("orders")
    }

    /// Output of the batch script, which contains the messages of Slurm.
    pub(super) fn output(&self) -> PathBuf {
        self.0.join("output")
    }

    /// File with the id in Slurm of the batch job that may run the submission.
    #[cfg(feature = "cli")]
    pub(super) fn claim(&self, restart: u32) -> PathBuf {
        self.0.join(format!("claim-{restart}"))
    }

    /// Returns the output of the last run of the script.
    pub(super) fn last_output(&self) -> String {
        let output = fs::read(self.output()).unwrap_or_default();
        let output = String::from_utf8_lossy(&output);
        output.rsplit(RUN_MARK).next().unwrap_or_default().to_owned()
    }

    /// Returns the time of the last line of the program, or of Slurm in the output of the script.
    pub(super) fn last_change(&self) -> Option<Timestamp> {
        let files = [self.journal(), self.output()].map(|path| fs::metadata(path)?.modified());
        files.into_iter().flatten().max().map(Timestamp::from)
    }

    /// Writes the files, unless they exist: Slurm may have accepted an earlier submission of them.
    pub(super) fn write(&self, script: &str, specification: &Specification) -> io::Result<()> {
        if self.specification().exists() {
            return Ok(());
        }
        fs::create_dir_all(&self.0)?;
        fs::set_permissions(&self.0, fs::Permissions::from_mode(0o700))?;
        for empty in [self.journal(), self.orders(), self.output()] {
            private(&empty)?;
        }
        for (path, text) in [
            (self.script(), script.as_bytes()),
            (self.specification(), &serde_json::to_vec(specification)?),
        ] {
            // A temporary file has the mode 0600.
            let mut file = tempfile::NamedTempFile::new_in(&self.0)?;
            file.write_all(text)?;
            file.as_file().sync_all()?;
            file.persist(path)?;
        }
        Ok(())
    }
}

fn private(path: &Path) -> io::Result<fs::File> {
    fs::File::options().create(true).append(true).read(true).mode(0o600).open(path)
}

/// Appends a line to a file, so that other nodes see it. A line that was cut off is ended first.
pub(super) fn append(path: &Path, line: &impl Serialize) -> io::Result<()> {
    let mut file = private(path)?;
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    if last != [b'\n'] {
        text.insert(0, b'\n');
    }
    file.write_all(&text)?;
    file.sync_data()
}

/// Reads the complete lines after `offset`. Returns them with the offset of the next line.
pub(super) fn read_lines<T: DeserializeOwned>(
    path: &Path,
    offset: u64,
) -> io::Result<(Vec<T>, u64)> {
    let mut file = fs::File::open(path)?;
    if file.metadata()?.len() <= offset {
        return Ok((Vec::new(), offset));
    }
    file.seek(SeekFrom::Start(offset))?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let lines = text[..end].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let lines = lines.filter_map(|line| {
        let parsed = serde_json::from_slice(line);
        parsed.inspect_err(|error| tracing::warn!(?path, %error, "a line is not readable")).ok()
    });
    Ok((lines.collect(), offset + end as u64))
}

/// Specification of a submission: the job and the settings of the emulator that apply to it.
#[derive(Serialize, Deserialize)]
pub(super) struct Specification {
    pub(super) layout: u32,
    /// Stored form of the job when it was submitted.
    pub(super) job: Value,
    /// Body of the request that created the job.
    pub(super) body: Value,
    pub(super) timing: Timing,
    pub(super) restart_on: RestartOn,
    pub(super) quirks: Quirks,
    pub(super) workers: WorkerSettings,
    /// Token that the workers expect in each call.
    pub(super) token: String,
    /// Arguments of `srun`, which starts the workers.
    pub(super) srun: Vec<String>,
}

/// Opens the directories of workers on a node.
#[cfg(feature = "cli")]
pub(super) fn open_files(settings: &WorkerSettings) -> io::Result<WorkerFiles> {
    let obs = ConfinedDir::create(&settings.obs)?.with_umask_mode();
    WorkerFiles::new(&settings.place, obs, settings.datasets.clone())
}

/// Order of the emulator to the program of a submission.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Order {
    Stop(StopReason),
    StopTrial(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_when_it_is_complete() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("orders");
        append(&path, &Order::Stop(StopReason::ByUser)).unwrap();
        let (first, end) = read_lines::<Order>(&path, 0).unwrap();
        assert_eq!(first, [Order::Stop(StopReason::ByUser)]);
        // A program that was killed has written half a line. The next one writes after it.
        private(&path).unwrap().write_all(b"{\"StopTr").unwrap();
        assert_eq!(read_lines::<Order>(&path, end).unwrap(), (vec![], end));
        append(&path, &Order::StopTrial("a".into())).unwrap();
        let (second, end) = read_lines::<Order>(&path, end).unwrap();
        assert_eq!(second, [Order::StopTrial("a".into())]);
        assert_eq!(read_lines::<Order>(&path, end).unwrap(), (vec![], end));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
