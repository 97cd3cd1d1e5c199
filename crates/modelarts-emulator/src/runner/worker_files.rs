//! The directories of the workers, and the logs in them.

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
    job::worker::Worker,
    runner::LogTail,
};

/// Name of the scratch directory in the directory of a worker, and of the link in the home
/// directory.
const SCRATCH: &str = "cache";

/// `jobs` in the data directory: worker 0 of a job has `<id>/worker-0` in it.
#[derive(Clone, Debug)]
pub(super) struct WorkerFiles(ConfinedDir);

impl WorkerFiles {
    pub(super) fn new(data_dir: &Path) -> io::Result<Self> {
        ConfinedDir::create(&data_dir.join("jobs")).map(Self)
    }

    /// The directory of a worker, created if missing; it contains paths below `/home`.
    pub(super) fn directory(&self, worker: &Worker) -> io::Result<ConfinedDir> {
        let below = Path::new(&worker.job_id).join(worker.task());
        ConfinedDir::create(&self.0.directory(&below)?)
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
        let scratch = self
            .job_directory(&worker.job_id)
            .join(worker.task())
            .join(SCRATCH);
        // A link in its place is removed, not followed.
        match fs::remove_dir_all(&scratch) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(()) => fs::create_dir(&scratch),
        }
    }

    /// Opens the log for appending.
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
            let of_all = Worker {
                trial: None,
                ..worker.clone()
            };
            logs.push(self.open_log(&of_all)?);
        }
        Ok(logs)
    }

    /// Writes a line of the platform to the log.
    pub(super) fn log(&self, worker: &Worker, line: &str) -> io::Result<()> {
        let mut log = self.open_log(worker)?;
        writeln!(log, "[ModelArts Service Log] {line}")
    }

    /// Removes everything but the log, which is moved aside and back and never copied, so that it
    /// exists at every moment.
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

    /// The last `limit` bytes of the log; `None` while it is empty.
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

    /// At most `most` bytes of the log from the byte `from` on.
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
        let path = self
            .job_directory(&worker.job_id)
            .join(worker.task())
            .join(worker.log_file());
        let aside = self.moved_log(worker);
        // The log may be moved aside and back between two attempts.
        let mut places = [&path, &aside, &path].into_iter();
        places.find_map(|path| is_log(path).then(|| fs::File::open(path).ok())?)
    }

    /// Location of the log while the worker's directory is recreated.
    fn moved_log(&self, worker: &Worker) -> PathBuf {
        let name = format!("{}.log", worker.task());
        self.job_directory(&worker.job_id).join(name)
    }

    /// Copies the log to the export path of the job.
    pub(super) fn export_log(
        &self,
        worker: &Worker,
        obs: &ConfinedDir,
        to: &ObsPath,
        interrupt: &CancellationToken,
    ) -> io::Result<()> {
        let directory = self.directory(worker)?;
        confined_dir::copy(
            (&directory, &worker.log_file()),
            (obs, &to.relative()),
            OnEscape::Refuse,
            interrupt,
        )?;
        Ok(())
    }

    /// Removes all files of a job.
    pub(super) fn remove(&self, job_id: &str) {
        if let Err(error) = fs::remove_dir_all(self.job_directory(job_id))
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(job = job_id, %error, "the job's directory cannot be removed");
        }
    }

    fn job_directory(&self, job_id: &str) -> PathBuf {
        self.0.root().join(job_id)
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
