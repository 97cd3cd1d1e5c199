//! Directories of the workers: their logs, and copies into and out of the directories.

use std::{
    fs,
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
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

/// Copy into or out of the directory of a worker. Numbers are indexes of channels.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Transfer {
    Code,
    Input(usize),
    /// The existing content of an output, copied to its local directory.
    StoredOutput(usize),
    Output(usize),
}

/// Last part of a log, with the size of the whole log.
#[derive(Debug, Default)]
pub(crate) struct LogTail {
    pub(crate) content: Vec<u8>,
    pub(crate) full_size: u64,
}

/// Name of the scratch directory of a worker, and of the link to it in the home directory.
const SCRATCH: &str = "cache";

#[derive(Debug)]
pub(crate) struct WorkerFiles {
    /// Directory `jobs`. Worker 0 of a job has the subdirectory `<id>/worker-0`.
    jobs: ConfinedDir,
    pub(crate) obs: ConfinedDir,
    /// Directory of data sets, with the subdirectory `<id>/<version id>` for each version.
    datasets: Option<PathBuf>,
}

impl WorkerFiles {
    pub(crate) fn new(
        data_dir: &Path,
        obs: ConfinedDir,
        datasets: Option<PathBuf>,
    ) -> io::Result<Self> {
        Ok(Self { jobs: ConfinedDir::create(&data_dir.join("jobs"))?, obs, datasets })
    }

    /// Returns the directory of a worker, with the paths below `/home`. Creates it if necessary.
    pub(crate) fn directory(&self, worker: &Worker) -> io::Result<ConfinedDir> {
        let below = Path::new(&worker.job_id).join(worker.task());
        ConfinedDir::create(&self.jobs.directory(&below)?)
    }

    pub(super) fn free_space(&self, worker: &Worker) -> io::Result<u64> {
        let disk = rustix::fs::statvfs(self.directory(worker)?.root())?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// Creates the directory for `/cache`, and a link to it in the home unless its name is taken.
    pub(super) fn make_scratch(&self, directory: &ConfinedDir) -> io::Result<()> {
        directory.directory(Path::new(SCRATCH))?;
        let home = directory.directory(ContainerPath::from_static(MA_HOME).relative())?;
        // A relative link is also valid in a container view.
        match symlink(Path::new("../..").join(SCRATCH), home.join(SCRATCH)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    pub(super) fn clear_scratch(&self, worker: &Worker) -> io::Result<()> {
        let scratch = self.worker_directory(worker).join(SCRATCH);
        // A symbolic link with this name is removed, not followed.
        match fs::remove_dir_all(&scratch) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(()) => fs::create_dir(&scratch),
        }
    }

    /// Removes the copies of the inputs, except those that contain directories of the code, of
    /// outputs or of logs.
    pub(super) fn clear_inputs(&self, worker: &Worker) -> io::Result<()> {
        let root = self.worker_directory(worker);
        if !root.exists() {
            return Ok(());
        }
        let (directory, request) = (ConfinedDir::open(&root)?, &worker.request);
        let outputs = request.outputs.iter().map(|output| output.local_dir.clone());
        let others = [request.code_copy(), ContainerPath::from_static(MA_LOG_DIR)];
        let others: Vec<_> = outputs.chain(others).collect();
        for input in &request.inputs {
            let path = input.local_dir.relative();
            if others.iter().any(|other| other.relative().starts_with(path)) {
                continue;
            }
            // A symbolic link in place of the copy is removed, not followed.
            let parent = directory.resolve(path.parent().unwrap_or(path));
            let copy = parent.map(|parent| parent.join(path.file_name().unwrap_or_default()));
            match copy.and_then(fs::remove_dir_all) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn open_log(&self, worker: &Worker) -> io::Result<fs::File> {
        let directory = self.directory(worker)?;
        directory.directory(ContainerPath::from_static(MA_LOG_DIR).relative())?;
        let path = directory.root().join(worker.log_file());
        fs::File::options().create(true).append(true).open(path)
    }

    /// Opens the logs of a worker. The output of a trial is also written to the worker's own log.
    pub(super) fn open_logs(&self, worker: &Worker) -> io::Result<Vec<fs::File>> {
        let mut logs = vec![self.open_log(worker)?];
        if worker.trial.is_some() {
            let mut of_all = worker.clone();
            of_all.trial = None;
            logs.push(self.open_log(&of_all)?);
        }
        Ok(logs)
    }

    /// Appends a line from the platform to the log of a worker.
    pub(crate) fn log(&self, worker: &Worker, line: &str) -> io::Result<()> {
        let mut log = self.open_log(worker)?;
        writeln!(log, "[ModelArts Service Log] {line}")
    }

    /// Removes all files of a worker except its log.
    pub(super) fn renew(&self, worker: &Worker) -> io::Result<()> {
        let directory = self.directory(worker)?;
        let log = directory.root().join(worker.log_file());
        let aside = self.moved_log(worker);
        // The log is moved and not copied, so that it exists at every moment.
        if is_log(&log) {
            fs::rename(&log, &aside)?;
        }
        // Symbolic links are removed, not followed.
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

    /// Opens the log for reading. Returns `None` if it is empty, unreadable or not a regular file.
    fn read_log(&self, worker: &Worker) -> Option<fs::File> {
        let path = self.worker_directory(worker).join(worker.log_file());
        let aside = self.moved_log(worker);
        // Another thread may move the log and move it back between two attempts to open it.
        let mut places = [&path, &aside, &path].into_iter();
        places.find_map(|path| is_log(path).then(|| fs::File::open(path).ok())?)
    }

    /// Returns the path to which the log is moved while the worker's directory is recreated.
    fn moved_log(&self, worker: &Worker) -> PathBuf {
        self.worker_directory(worker).with_added_extension("log")
    }

    pub(crate) fn copy(
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
                    // Before the first upload, the output has no content in OBS.
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

    /// Copies everything in the directory of the log except logs of workers. Returns the first
    /// error, after the other files.
    pub(super) fn export_other_logs(
        &self,
        worker: &Worker,
        to: &ObsPath,
        interrupt: &CancellationToken,
    ) -> io::Result<()> {
        let directory = self.directory(worker)?;
        let logs = ContainerPath::from_static(MA_LOG_DIR);
        let mut result = Ok(());
        for entry in fs::read_dir(directory.root().join(logs.relative()))? {
            let name = entry?.file_name();
            if Path::new(&name).extension() == Some("log".as_ref())
                && name.to_string_lossy().starts_with(&worker.pod())
            {
                continue;
            }
            let from = logs.relative().join(&name);
            let is_directory = directory.root().join(&from).is_dir();
            let to = match is_directory {
                true => to.relative().join(&name),
                false => to.relative(),
            };
            let copied = confined_dir::copy(
                (&directory, &from),
                (&self.obs, &to),
                OnEscape::Skip,
                interrupt,
            );
            result = result.and(copied.map(|_| ()));
        }
        result
    }

    pub(super) fn has_output(&self, worker: &Worker, index: usize) -> io::Result<bool> {
        let output = &worker.request.outputs[index];
        let directory = self.directory(worker)?.root().join(output.local_dir.relative());
        Ok(fs::read_dir(directory)?.next().is_some())
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

    pub(crate) fn worker_directory(&self, worker: &Worker) -> PathBuf {
        self.job_directory(&worker.job_id).join(worker.task())
    }
}

/// Returns `true` for a file with content. Code can replace its log with any other kind of entry.
fn is_log(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
}

/// Appends bytes to a log of at most `cap` bytes, as on the service. Returns `true` if bytes were
/// discarded, which the last line then reports; nothing may be appended after that line.
pub(super) fn append_capped(log: &mut fs::File, bytes: &[u8], cap: u64) -> io::Result<bool> {
    let room = cap.saturating_sub(log.metadata()?.len());
    let count = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
    let (kept, lost) = bytes.split_at(count);
    log.write_all(kept)?;
    if lost.is_empty() {
        return Ok(false);
    }
    // The wording is that of the service, with the value of the cap.
    let line = format!(
        "\nmodelarts-pope: log length overflow(max:{cap}; already:{cap}; going to add:{}), \
         process will continue running silently\n",
        lost.len()
    );
    log.write_all(line.as_bytes())?;
    Ok(true)
}
