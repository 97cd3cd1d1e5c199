//! Setters of `CreateJob` for single fields.

use modelarts_api::{
    request_path::create_training_job::{
        KIND,
        algorithm::{self, engine},
        metadata,
        spec::{self, log_export_path, resource, schedule_policy},
    },
    types::{
        AssetModelRequest, ContainerFlavorRequest, JobKind, LogExportConfig,
        PreferredAffinityRequest, RequiredAffinityRequest, RetentionPolicyRequest, RuntimeType,
    },
};

use crate::jobs::create::CreateJob;

/// Defines setters, each with the name of the argument and the path of the request field. An
/// argument of the type `text` accepts any value that converts into a string.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($argument:ident: $($type:tt)+) = $path:expr;)*) => {
        $(setters! { @one [$(#[$doc])*] $name $argument [$($type)+] $path })*
    };
    (@one [$(#[$doc:meta])*] $name:ident $argument:ident [text] $path:expr) => {
        $(#[$doc])*
        pub fn $name(self, $argument: impl Into<String>) -> Self {
            self.set($path, $argument.into())
        }
    };
    (@one [$(#[$doc:meta])*] $name:ident $argument:ident [$type:ty] $path:expr) => {
        $(#[$doc])*
        pub fn $name(self, $argument: $type) -> Self {
            self.set($path, $argument)
        }
    };
}

impl CreateJob {
    setters! {
        // Metadata.
        /// Sets the name of the job: 1 to 64 letters, digits, `_` and `-`.
        name(name: text) = metadata::NAME;
        /// Sets the description of the job, up to 256 characters.
        description(text: text) = metadata::DESCRIPTION;
        /// Sets the id of the workspace. The default is `0`.
        workspace(id: text) = metadata::WORKSPACE_ID;
        /// Sets the kind of the job. The default is `job`, a plain training job.
        kind(kind: JobKind) = KIND;

        // Code and image.
        /// Sets the id of the enterprise registry instance with the image (Huawei Cloud).
        image_repository(id: text) = engine::IMAGE_REPO_ID;
        /// Enables or disables the installation of the platform's `MoXing` in the image. Requires
        /// [`preset_image`](Self::preset_image) and [`custom_image`](Self::custom_image).
        install_sys_packages(install: bool) = engine::INSTALL_SYS_PACKAGES;
        /// Sets the command of a custom image, on a single line (`openapi/SOURCES.md`, F3).
        command(command: text) = algorithm::COMMAND;
        /// Sets the id of the algorithm. The code, boot file and engine of the job take precedence.
        algorithm(id: text) = algorithm::ID;
        /// Sets the OBS directory with the code, such as `obs://bucket/bert/`.
        ///
        /// ```no_run
        /// # async fn example(job: modelarts_ext::CreateJob) -> Result<(), modelarts_ext::Error> {
        /// // The directory is copied to each node, and its script is started there.
        /// let job = job.code_dir("obs://my-bucket/bert/");
        /// let job = job.boot_file("obs://my-bucket/bert/train.py");
        /// # drop(job);
        /// # Ok(()) }
        /// ```
        code_dir(path: text) = algorithm::CODE_DIR;
        /// Sets the script in the code directory, such as `obs://bucket/bert/train.py`.
        ///
        /// ```no_run
        /// # async fn example(job: modelarts_ext::CreateJob) -> Result<(), modelarts_ext::Error> {
        /// // The script may be in a subdirectory. It is started with `--epochs=3`.
        /// let job = job
        ///     .code_dir("obs://my-bucket/bert/")
        ///     .boot_file("obs://my-bucket/bert/scripts/train.py")
        ///     .parameter("epochs", 3);
        /// # drop(job);
        /// # Ok(()) }
        /// ```
        boot_file(path: text) = algorithm::BOOT_FILE;
        /// Sets the directory in the container, below `/home`, into which the last directory of
        /// `code_dir` is downloaded. The default is `/home/ma-user/modelarts/user-job-dir`.
        local_code_dir(path: text) = algorithm::LOCAL_CODE_DIR;
        /// Sets the working directory of the command.
        working_dir(path: text) = algorithm::WORKING_DIR;

        // Resources and logs.
        /// Sets the id of the flavor of the nodes, such as `modelarts.vm.cpu.8u`.
        ///
        /// ```no_run
        /// # async fn example(
        /// #     client: modelarts_ext::Client, job: modelarts_ext::CreateJob
        /// # ) -> Result<(), modelarts_ext::Error> {
        /// for flavor in client.flavors(None).collect(100).await? {
        ///     println!("{:?}", flavor.flavor_id);
        /// }
        /// let job = job.flavor("modelarts.vm.cpu.8u");
        /// # drop(job);
        /// # Ok(()) }
        /// ```
        flavor(id: text) = resource::FLAVOR_ID;
        /// Sets the id of the dedicated pool. The default is the public pool.
        pool(id: text) = resource::POOL_ID;
        /// Sets the id of the federation of pools (Huawei Cloud).
        pool_group(id: text) = resource::POOL_GROUP_ID;
        /// Sets the number of nodes. The default is 1.
        ///
        /// ```no_run
        /// # async fn example(job: modelarts_ext::CreateJob) -> Result<(), modelarts_ext::Error> {
        /// // The script runs on each node. The variable `VC_TASK_INDEX` is the rank: 0 to 3.
        /// let job = job.flavor("modelarts.vm.cpu.8u").nodes(4);
        /// # drop(job);
        /// # Ok(()) }
        /// ```
        nodes(count: u32) = resource::NODE_COUNT;
        /// Sets a custom size of the main container (Huawei Cloud).
        container_size(size: ContainerFlavorRequest) = resource::MAIN_CONTAINER_CUSTOMIZED_FLAVOR;
        /// Sets the priority in a dedicated pool: 1 (default), 2, or 3, which needs a permission.
        priority(priority: u8) = schedule_policy::PRIORITY;
        /// Allows or forbids other jobs to preempt the nodes of this job.
        preemptible(preemptible: bool) = schedule_policy::PREEMPTIBLE;
        /// Sets the required affinity, such as one cabinet for all nodes.
        required_affinity(affinity: RequiredAffinityRequest) = schedule_policy::REQUIRED_AFFINITY;
        /// Sets the preferred affinity of the nodes (Huawei Cloud).
        preferred_affinity(wish: PreferredAffinityRequest) = schedule_policy::PREFERRED_AFFINITY;
        /// Sets the OBS directory for the logs. Without it, the service keeps the logs for 30 days.
        log_path(obs_path: text) = log_export_path::OBS_URL;
        /// Sets the directory on the host to which the logs are written.
        log_host_path(path: text) = log_export_path::HOST_PATH;
        /// Sets the configuration of exported logs (Huawei Cloud).
        log_export_config(config: LogExportConfig) = spec::LOG_EXPORT_CONFIG;
        /// Sets the runtime type, such as debugging.
        runtime_type(kind: RuntimeType) = spec::RUNTIME_TYPE;
        /// Sets the retention policy of the record of the job (Huawei Cloud).
        retention(retention: RetentionPolicyRequest) = spec::RETENTION;

        // Assets.
        /// Registers the model of the job as an asset (Huawei Cloud).
        asset_model(model: AssetModelRequest) = spec::ASSET_MODEL;
        /// Sets the id of the model asset that a fine-tuning job tunes (Huawei Cloud).
        asset(id: text) = spec::ASSET_ID;
    }
}
