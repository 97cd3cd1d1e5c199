//! The directories of the workers: their logs, and copies into and out of them.

use std::{
    fs,
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use tokio_util::sync::CancellationToken;

use crate::{
    files::{
        confined_dir::{self, ConfinedDir, OnEscape},
        container_path::{ContainerPath, MA_HOME, MA_LOG_DIR},
        obs_path::ObsPath,
    },
    job::{
        channel::{Channel, DataSource},
        worker::Worker,
    },
};

/// A copy into or out of the directory of a worker. Channels are given by their index.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Transfer {
    /// The code directory, into its local directory.
    Code,
    /// An input, into its local directory.
    Input(usize),
    /// The stored content of an output, into its local directory.
    StoredOutput(usize),
    /// An output, from its local directory.
    Output(usize),
}

/// The end of a log.
#[derive(Debug, Default)]
pub(crate) struct LogTail {
    pub(crate) content: Vec<u8>,
    pub(crate) full_size: u64,
}

/// Name of the scratch directory in the directory of a worker, and of the link in the home
/// directory.
const SCRATCH: &str = "cache";

/// The directories of all workers, and the storage that their data is copied from and to.
#[derive(Debug)]
pub(super) struct WorkerFiles {
    /// `jobs` in the data directory: worker 0 of a job has `<id>/worker-0` in it.
    jobs: ConfinedDir,
    pub(super) obs: ConfinedDir,
    /// Directory of data sets, `<id>/<version id>`.
    datasets: Option<PathBuf>,
}

impl WorkerFiles {
    pub(super) fn new(
        data_dir: &Path,
        obs: ConfinedDir,
        datasets: Option<PathBuf>,
    ) -> io::Result<Self> {
        Ok(Self {
            jobs: ConfinedDir::create(&data_dir.join("jobs"))?,
            obs,
            datasets,
        })
    }

    /// The directory of a worker, created if missing; it contains paths below `/home`.
    pub(super) fn directory(&self, worker: &Worker) -> io::Result<ConfinedDir> {
        let below = Path::new(&worker.job_id).join(worker.task());
        ConfinedDir::create(&self.jobs.directory(&below)?)
    }

    /// Free bytes on the disk of a worker.
    pub(super) fn free_space(&self, worker: &Worker) -> io::Result<u64> {
        let disk = rustix::fs::statvfs(self.directory(worker)?.root())?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// Creates the scratch directory of a worker, `/cache` on the service, and a link to it in the
    /// home directory. A file that the job has put in the place of the link is kept.
    pub(super) fn make_scratch(&self, directory: &ConfinedDir) -> io::Result<()> {
        let scratch = directory.directory(Path::new(SCRATCH))?;
        let home = directory.directory(ContainerPath::from_static(MA_HOME).relative())?;
        match symlink(scratch, home.join(SCRATCH)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    /// Empties the scratch directory, if there is one.
    pub(super) fn clear_scratch(&self, worker: &Worker) -> io::Result<()> {
        let scratch = self.worker_directory(worker).join(SCRATCH);
        // A link in its place is removed, not followed.
        match fs::remove_dir_all(&scratch) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(()) => fs::create_dir(&scratch),
        }
    }

    pub(super) fn open_log(&self, worker: &Worker) -> io::Result<fs::File> {
        let directory = self.directory(worker)?;
        directory.directory(ContainerPath::from_static(MA_LOG_DIR).relative())?;
        let path = directory.root().join(worker.log_file());
        fs::File::options().create(true).append(true).open(path)
    }

    /// Opens all logs that receive the output of the code: the log of a worker includes its trials.
    pub(super) fn open_logs(&self, worker: &Worker) -> io::Result<Vec<fs::File>> {
        let mut logs = vec![self.open_log(worker)?];
        if worker.trial.is_some() {
            let mut of_all = worker.clone();
            of_all.trial = None;
            logs.push(self.open_log(&of_all)?);
        }
        Ok(logs)
    }

    /// Writes a line of the platform to the log.
    pub(super) fn log(&self, worker: &Worker, line: &str) -> io::Result<()> {
        let mut log = self.open_log(worker)?;
        writeln!(log, "[ModelArts Service Log] {line}")
    }

    /// Removes everything but the log.
    pub(super) fn renew(&self, worker: &Worker) -> io::Result<()> {
        let directory = self.directory(worker)?;
        let log = directory.root().join(worker.log_file());
        let aside = self.moved_log(worker);
        // Moved and never copied, so that it exists at every moment.
        if is_log(&log) {
            fs::rename(&log, &aside)?;
        }
        // Links are removed, not followed.
        fs::remove_dir_all(directory.root())?;
        drop(self.open_log(worker)?);
        match fs::rename(&aside, &log) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    pub(super) fn log_tail(&self, worker: &Worker, limit: u64) -> io::Result<Option<LogTail>> {
        let Some(mut file) = self.read_log(worker) else {
            return Ok(None);
        };
        let full_size = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(full_size.saturating_sub(limit)))?;
        let mut content = Vec::new();
        file.take(limit.min(full_size)).read_to_end(&mut content)?;
        Ok(Some(LogTail { content, full_size }))
    }

    pub(super) fn log_part(&self, worker: &Worker, from: u64, most: u64) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        if let Some(mut file) = self.read_log(worker) {
            file.seek(SeekFrom::Start(from))?;
            file.take(most).read_to_end(&mut content)?;
        }
        Ok(content)
    }

    /// Opens the log for reading; `None` while it is empty.
    fn read_log(&self, worker: &Worker) -> Option<fs::File> {
        let path = self.worker_directory(worker).join(worker.log_file());
        let aside = self.moved_log(worker);
        // The log may be moved aside and back between two attempts.
        let mut places = [&path, &aside, &path].into_iter();
        places.find_map(|path| is_log(path).then(|| fs::File::open(path).ok())?)
    }

    /// Location of the log while the worker's directory is recreated.
    fn moved_log(&self, worker: &Worker) -> PathBuf {
        self.worker_directory(worker).with_added_extension("log")
    }

    pub(super) fn copy(
        &self,
        worker: &Worker,
        transfer: Transfer,
        interrupt: &CancellationToken,
    ) -> io::Result<()> {
        let request = &worker.request;
        let copy_in = |from: &DataSource, to: &ContainerPath| {
            let directory = self.directory(worker)?;
            let (root, path) = self.find_source(from)?;
            let to = (&directory, to.relative());
            confined_dir::copy((&root, &path), to, OnEscape::Refuse, interrupt).map(|_| ())
        };
        match transfer {
            Transfer::Code => match request.code_dir.clone() {
                Some(code_dir) => copy_in(&DataSource::Obs(code_dir), &request.code_copy()),
                None => Ok(()),
            },
            Transfer::Input(index) => {
                let input = &request.inputs[index];
                copy_in(&input.source, &input.local_dir)
            }
            Transfer::StoredOutput(index) => {
                let output = &request.outputs[index];
                match copy_in(&output.source, &output.local_dir) {
                    // The first run of a recovered job.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                    result => result,
                }
            }
            Transfer::Output(index) => self.copy_out(worker, &request.outputs[index], interrupt),
        }
    }

    fn copy_out(
        &self,
        worker: &Worker,
        output: &Channel,
        interrupt: &CancellationToken,
    ) -> io::Result<()> {
        let directory = self.directory(worker)?;
        directory.directory(output.local_dir.relative())?;
        let (root, path) = self.find_source(&output.source)?;
        let from = (&directory, output.local_dir.relative());
        for reason in confined_dir::copy(from, (&root, &path), OnEscape::Skip, interrupt)? {
            let name = &output.name;
            let line = format!("output {name}: not uploaded, because {reason}");
            self.log(worker, &line)?;
        }
        Ok(())
    }

    /// The location of the data of a channel on this machine.
    fn find_source(&self, source: &DataSource) -> io::Result<(ConfinedDir, PathBuf)> {
        match source {
            DataSource::Obs(path) => Ok((self.obs.clone(), path.relative())),
            DataSource::DataSet { id, version } => {
                let root = self.datasets.as_ref();
                let root = root.ok_or_else(|| io::Error::other("there are no data sets"))?;
                let below = Path::new(id).join(version.as_deref().unwrap_or_default());
                Ok((ConfinedDir::create(root)?, below))
            }
        }
    }

    pub(super) fn export_log(
        &self,
        worker: &Worker,
        to: &ObsPath,
        interrupt: &CancellationToken,
    ) -> io::Result<()> {
        let log = (&self.directory(worker)?, &*worker.log_file());
        let to = (&self.obs, &*to.relative());
        confined_dir::copy(log, to, OnEscape::Refuse, interrupt).map(|_| ())
    }

    pub(super) fn remove(&self, job_id: &str) {
        if let Err(error) = fs::remove_dir_all(self.job_directory(job_id))
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(job = job_id, %error, "the job's directory cannot be removed");
        }
    }

    fn job_directory(&self, job_id: &str) -> PathBuf {
        self.jobs.root().join(job_id)
    }

    /// The directory of a worker, which may not exist.
    fn worker_directory(&self, worker: &Worker) -> PathBuf {
        self.job_directory(&worker.job_id).join(worker.task())
    }
}

/// True for a non-empty file. The job code can put anything else in the place of its log.
fn is_log(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
}

/// Appends up to `cap` bytes of the log in total; the rest is discarded, as on the service. Returns
/// `true` if bytes were discarded: a last line says so, and nothing must follow it.
pub(super) fn append_capped(log: &mut fs::File, bytes: &[u8], cap: u64) -> io::Result<bool> {
    let room = cap.saturating_sub(log.metadata()?.len());
    let count = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
    let (kept, lost) = bytes.split_at(count);
    log.write_all(kept)?;
    if lost.is_empty() {
        return Ok(false);
    }
    // The service's own line, with the cap filled in.
    let line = format!(
        "\nmodelarts-pope: log length overflow(max:{cap}; already:{cap}; going to add:{}), process will continue running silently\n",
        lost.len()
    );
    log.write_all(line.as_bytes())?;
    Ok(true)
}
