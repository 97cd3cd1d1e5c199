//! Setters of `CreateJob` for flavor, pool, placement, run time, volumes and logs, and the type
//! `Volume`.

use std::time::Duration;

use modelarts_api::{
    request_path::{
        auto_stop,
        create_training_job::spec::{
            self, log_export_path, resource,
            schedule_policy::{self, REQUIRED_AFFINITY},
        },
        required_affinity, reserved_time, volume,
    },
    types,
};
use serde_json::Value;

use crate::{
    jobs::create::{
        CreateJob,
        json_edit::{self, object, text},
    },
    validation::annotations::{HANG_RETRY, RETRIES, UNCONDITIONAL},
};

impl CreateJob {
    /// Sets the flavor of the nodes, such as `modelarts.vm.cpu.8u`. After
    /// [`look_up`](Self::look_up), another flavor needs a new look-up.
    pub fn flavor(self, id: impl Into<String>) -> Self {
        self.set(resource::FLAVOR_ID, id.into())
    }

    /// Sets the dedicated pool. Default: the public pool.
    pub fn pool(self, id: impl Into<String>) -> Self {
        self.set(resource::POOL_ID, id.into())
    }

    /// Sets the federation of pools (Huawei Cloud).
    pub fn pool_group(self, id: impl Into<String>) -> Self {
        self.set(resource::POOL_GROUP_ID, id.into())
    }

    /// Sets the number of nodes. Default 1.
    pub fn nodes(self, count: u32) -> Self {
        self.set(resource::NODE_COUNT, count)
    }

    /// Sets a custom size of the main container (Huawei Cloud).
    pub fn container_size(self, size: types::ContainerFlavorRequest) -> Self {
        self.set(resource::MAIN_CONTAINER_CUSTOMIZED_FLAVOR, size)
    }

    /// Sets the priority in a dedicated pool: 1 to 3; 3 is the highest and requires a permission.
    /// Default 1.
    pub fn priority(self, priority: u8) -> Self {
        self.set(schedule_policy::PRIORITY, priority)
    }

    /// Allows or forbids other jobs to preempt the nodes of this job.
    pub fn preemptible(self, preemptible: bool) -> Self {
        self.set(schedule_policy::PREEMPTIBLE, preemptible)
    }

    /// Places all nodes in one cabinet.
    pub fn in_one_cabinet(self) -> Self {
        let affinity = object([(required_affinity::AFFINITY_TYPE, text("cabinet"))]);
        self.set(REQUIRED_AFFINITY, affinity)
    }

    /// Schedules each group of this many tasks on one supernode.
    pub fn on_supernodes(self, group_size: u32) -> Self {
        let affinity = object([
            (required_affinity::AFFINITY_TYPE, text("hyperinstance")),
            (required_affinity::AFFINITY_GROUP_SIZE, group_size.into()),
        ]);
        self.set(REQUIRED_AFFINITY, affinity)
    }

    /// Sets the required affinity.
    pub fn required_affinity(self, affinity: types::RequiredAffinityRequest) -> Self {
        self.set(REQUIRED_AFFINITY, affinity)
    }

    /// Sets the preferred affinity (Huawei Cloud).
    pub fn preferred_affinity(self, affinity: types::PreferredAffinityRequest) -> Self {
        self.set(schedule_policy::PREFERRED_AFFINITY, affinity)
    }

    /// Mounts a file system in the container.
    pub fn volume(self, volume: Volume) -> Self {
        self.push(spec::VOLUMES, volume.0)
    }

    /// Removes all mounts. Useful for a job that was copied or read from a document.
    pub fn without_volumes(self) -> Self {
        self.without_field(spec::VOLUMES)
    }

    /// Sets the number of automatic restarts after a failure: 1 to 3, on Huawei Cloud up to 128.
    /// The number cannot be changed later. Default: none.
    pub fn auto_restart(self, times: u32) -> Self {
        self.annotation(RETRIES, times.to_string())
    }

    /// Restarts the job after any failure, at most three times in a row.
    pub fn unconditional_restart(self) -> Self {
        self.annotation(UNCONDITIONAL, "true")
    }

    /// Restarts a hanging job in place. Requires [`auto_restart`](Self::auto_restart).
    pub fn hang_restart(self) -> Self {
        self.annotation(HANG_RETRY, "true")
    }

    /// Stops the job after this time: 1 to 72 whole hours. Default: no limit.
    pub fn auto_stop(self, after: Duration) -> Self {
        let limit = object([
            (auto_stop::TIME_UNIT, text("HOURS")),
            (auto_stop::DURATION, hours(after)),
        ]);
        self.set(spec::AUTO_STOP, limit)
    }

    /// Keeps the resources allocated for this time after the end of the job, in whole hours (Huawei
    /// Cloud).
    pub fn reserve(self, time: Duration) -> Self {
        let time = object([
            (reserved_time::TIME_UNIT, text("HOURS")),
            (reserved_time::DURATION, hours(time)),
        ]);
        self.set(spec::RESERVED_TIME, time)
    }

    /// Sets the OBS directory for the logs, which should be empty. Default: the service keeps logs
    /// for 30 days.
    pub fn log_path(self, obs_path: impl Into<String>) -> Self {
        self.set(log_export_path::OBS_URL, obs_path.into())
    }

    /// Sets the directory on the host to which the logs are written.
    pub fn log_host_path(self, path: impl Into<String>) -> Self {
        self.set(log_export_path::HOST_PATH, path.into())
    }

    /// Sets the configuration of exported logs (Huawei Cloud).
    pub fn log_export_config(self, config: types::LogExportConfigRequest) -> Self {
        self.set(spec::LOG_EXPORT_CONFIG, config)
    }

    /// Sets the runtime type, such as debugging.
    pub fn runtime_type(self, kind: types::RuntimeType) -> Self {
        self.set(spec::RUNTIME_TYPE, kind.as_str())
    }

    /// Sets the retention of the job's record (Huawei Cloud).
    pub fn retention(self, retention: types::RetentionPolicyRequest) -> Self {
        self.set(spec::RETENTION, retention)
    }
}

/// File system that is mounted in the container.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "it does nothing until it is added to a job"]
pub struct Volume(Value);

impl Volume {
    /// Mounts an SFS Turbo file system, such as `10.0.0.5:/share`, at a path such as `/mnt/data`.
    /// Dedicated pools only, at most 8 in a job.
    pub fn nfs(server_path: impl Into<String>, local_path: impl Into<String>) -> Self {
        Self(object([
            (volume::nfs::NFS_SERVER_PATH, text(server_path)),
            (volume::nfs::LOCAL_PATH, text(local_path)),
        ]))
    }

    /// Mounts an OBS parallel file system, such as `/file-system/path`.
    pub fn pfs(pfs_path: impl Into<String>, local_path: impl Into<String>) -> Self {
        Self(object([
            (volume::pfs::PFS_PATH, text(pfs_path)),
            (volume::pfs::LOCAL_PATH, text(local_path)),
        ]))
    }

    /// Mounts an OBS directory, such as `/bucket/path`.
    pub fn obs(obs_path: impl Into<String>, local_path: impl Into<String>) -> Self {
        Self(object([
            (volume::obs::OBS_PATH, text(obs_path)),
            (volume::obs::LOCAL_PATH, text(local_path)),
        ]))
    }

    /// Makes the mount read-only. Supported for SFS Turbo only.
    pub fn read_only(mut self) -> Self {
        if self.0.get(volume::NFS).is_some() {
            json_edit::set(&mut self.0, volume::nfs::READ_ONLY, true);
        }
        self
    }
}

/// Converts a duration into hours, the unit of the service. A fraction is preserved, so that the
/// validation reports it.
fn hours(time: Duration) -> Value {
    match (time.subsec_nanos(), time.as_secs() % 3600) {
        (0, 0) => (time.as_secs() / 3600).into(),
        _ => (time.as_secs_f64() / 3600.0).into(),
    }
}
