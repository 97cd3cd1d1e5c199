//! Directories that the programs of a worker see: the worker's own, and mounted directories.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use crate::{
    files::{confined_dir::ConfinedDir, container_path::PACKAGE_DIR},
    job::{
        channel::{Volume, VolumeSource},
        worker::Worker,
    },
    runner::process::{
        ProcessRunner, moxing,
        python::Python,
        view::{Backstage, Sight, Stage},
    },
};

impl ProcessRunner {
    pub(super) fn stage(
        &self,
        worker: &Worker,
        directory: &ConfinedDir,
        python: Option<&Python>,
        volumes: &[Volume],
        sight: &Sight,
    ) -> io::Result<Stage> {
        directory.directory(Path::new("tmp"))?;
        self.files.make_scratch(directory)?;
        moxing::write_wheel(&self.settings.package)?;
        let sources: io::Result<Vec<_>> = volumes
            .iter()
            .map(|volume| Ok((self.source(volume)?, Path::new(&volume.local_path))))
            .collect();
        let sources = sources?;
        let obs = self.files.obs.root();
        match sight {
            Sight::Container(view) if self.image_command(worker).is_none() => {
                let places = Backstage {
                    worker: directory,
                    obs,
                    package: &self.settings.package,
                    prefixes: python.map_or(&[], |python| &python.prefixes),
                    packages: python.map_or(&[], |python| &python.packages),
                    volumes: &sources,
                };
                Stage::container(view, worker, &places)
            }
            _ => {
                let package = (self.settings.package.clone(), Path::new(PACKAGE_DIR));
                for (source, at) in sources.iter().chain([&package]) {
                    link(directory, source, at)?;
                }
                Ok(Stage::machine(directory.root(), obs))
            }
        }
    }

    fn source(&self, volume: &Volume) -> io::Result<PathBuf> {
        match &volume.source {
            VolumeSource::Obs(path) => self.files.obs.directory(&path.relative()),
            VolumeSource::Nfs(server) => {
                let (server, path) = server.split_once(':').unwrap_or((server, ""));
                let below = Path::new(server).join(path.trim_start_matches('/'));
                ConfinedDir::create(&self.settings.workers.nfs)?.directory(&below)
            }
        }
    }
}

/// Links a directory of this machine into the directory of a worker, at its path in a container.
fn link(directory: &ConfinedDir, source: &Path, at: &Path) -> io::Result<()> {
    let below = at.strip_prefix("/").unwrap_or(at);
    let parent = directory.directory(below.parent().unwrap_or(Path::new("")))?;
    let link = parent.join(below.file_name().unwrap_or_default());
    match symlink(source, &link) {
        // The link exists already if the code is restarted in place or runs as another trial.
        Err(_) if fs::read_link(&link).is_ok_and(|target| target == source) => Ok(()),
        Err(error) => Err(io::Error::new(
            error.kind(),
            format!("nothing can be mounted at {}: {error}", at.display()),
        )),
        Ok(()) => Ok(()),
    }
}
