//! Table of the lines of logs that show a cause.
//!
//! A row matches a line that contains all its parts in this order. The first row that matches a
//! line counts, so a special row precedes the general one. Parts are long enough not to occur in
//! the output of a healthy run: `CUDA out of memory. Tried to allocate`, not `out of memory`.
//!
//! The excerpt of a row is its test. Excerpts have the form of real messages, with invented values.

use crate::jobs::diagnosis::cause::{
    Cause,
    Confidence::{self, Certain, Likely},
};

/// Row of the table.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) cause: Cause,
    pub(super) class: Class,
    /// Confidence in the cause if the process ended with this line.
    pub(super) confidence: Confidence,
    /// Place of the first part in the line.
    place: Place,
    parts: &'static [&'static str],
    /// Line of a log that the row matches.
    #[cfg_attr(not(test), expect(dead_code, reason = "the test of the row"))]
    excerpt: &'static str,
}

/// Class of a cause. If several lines match, a root cause takes precedence over a consequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Cause that needs no other one.
    Root,
    /// Failure that the end of another worker or process may have caused.
    Consequence,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// At the beginning of the line, such as the name of an exception. The same text in the middle
    /// of a line is often that of a warning.
    Start,
    /// Whole line, except for its indentation.
    Line,
    Anywhere,
}

use Class::{Consequence, Root};
use Place::{Anywhere, Line, Start};

/// Returns the first row that matches the line. The prefix of the line must have been removed, see
/// [`without_prefix`].
pub(super) fn find(line: &str) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|row| row.matches(line))
}

/// Removes the prefixes of launchers from a line, such as `[rank0]: ` and `(main pid=77) `, but not
/// the indentation.
pub(super) fn without_prefix(line: &str) -> &str {
    let mut rest = line;
    loop {
        let prefix = rest
            .strip_prefix('[')
            .and_then(|inner| inner.split_once("]:"))
            .filter(|(name, _)| {
                let name = name.trim_start_matches("rank");
                let name = name.trim_start_matches("default");
                !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
            })
            .or_else(|| {
                let inner = rest.strip_prefix('(')?.split_once(')')?;
                inner.0.contains("pid=").then_some(inner)
            });
        match prefix {
            Some((_, after)) => rest = after.strip_prefix(' ').unwrap_or(after),
            None => return rest,
        }
    }
}

impl Signature {
    fn matches(&self, line: &str) -> bool {
        let first = self.parts.first().copied().unwrap_or_default();
        let is_in_place = match self.place {
            Place::Start => line.starts_with(first),
            Place::Line => line.trim() == first,
            Place::Anywhere => true,
        };
        let mut rest = line;
        is_in_place
            && self.parts.iter().all(|part| match rest.split_once(part) {
                Some((_, after)) => {
                    rest = after;
                    true
                }
                None => false,
            })
    }
}

const fn row(
    cause: Cause,
    class: Class,
    confidence: Confidence,
    place: Place,
    parts: &'static [&'static str],
    excerpt: &'static str,
) -> Signature {
    Signature {
        cause,
        class,
        confidence,
        place,
        parts,
        excerpt,
    }
}

/// Message of botocore, and so of boto3 and of the AWS CLI, if the environment has no keys.
pub(super) const NO_KEYS: &str = "Unable to locate credentials";

/// Rows of the table, the special ones before the general ones.
#[rustfmt::skip]
static SIGNATURES: &[Signature] = &[
    // Memory of accelerators: PyTorch on CUDA and Ascend, CUDA libraries, XLA, TensorFlow, CANN,
    // MindSpore.
    row(Cause::DeviceOutOfMemory, Root, Certain, Anywhere, &["CUDA out of memory. Tried to allocate"],
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 31.74 GiB of which 233.56 MiB is free."),
    row(Cause::DeviceOutOfMemory, Root, Certain, Anywhere, &["NPU out of memory. Tried to allocate"],
        "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.97 GiB total capacity; 58.24 GiB already allocated; 1.12 GiB free; 59.01 GiB reserved in total by PyTorch)"),
    row(Cause::DeviceOutOfMemory, Root, Certain, Anywhere, &["CUDA error: out of memory"],
        "RuntimeError: CUDA error: out of memory"),
    row(Cause::DeviceOutOfMemory, Root, Certain, Anywhere, &["CUBLAS_STATUS_ALLOC_FAILED"],
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    row(Cause::DeviceOutOfMemory, Root, Certain, Anywhere, &["RESOURCE_EXHAUSTED: Out of memory"],
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes."),
    row(Cause::DeviceOutOfMemory, Root, Certain, Anywhere, &["OOM when allocating tensor with shape"],
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape[256,128,56,56] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"),
    row(Cause::DeviceOutOfMemory, Root, Certain, Anywhere, &["(EL0004)", "Failed to allocate memory"],
        "[PID: 77] 2026-01-15-08:30:45.384.694 Memory_Allocation_Failure(EL0004): Failed to allocate memory requested by GE module."),
    row(Cause::DeviceOutOfMemory, Root, Certain, Anywhere, &["EL0004:", "Failed to allocate memory"],
        "EL0004: [PID: 77] 2026-01-15-08:30:45.384.694 Failed to allocate memory."),
    row(Cause::DeviceOutOfMemory, Root, Certain, Anywhere, &["Device(id:", "memory isn't enough and alloc failed"],
        "RuntimeError: Device(id:0) memory isn't enough and alloc failed, kernel name: Default/Conv2D-op1, alloc size: 1073741824B."),
    row(Cause::DeviceOutOfMemory, Root, Certain, Anywhere, &["Malloc device memory failed"],
        "RuntimeError: Malloc device memory failed, size[32212254720], ret[207001], Device 0 may be other processes occupying this card"),

    // Shared memory, before the disk: both have the text `No space left on device`.
    row(Cause::SharedMemoryExhausted, Root, Certain, Anywhere, &["DataLoader worker", "out of shared memory"],
        "RuntimeError: DataLoader worker (pid 77) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit."),
    row(Cause::SharedMemoryExhausted, Root, Likely, Anywhere, &["Unexpected bus error encountered in worker"],
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm)."),
    row(Cause::SharedMemoryExhausted, Root, Certain, Anywhere, &["</torch_", "No space left on device"],
        "RuntimeError: unable to write to file </torch_77_2186045231_3>: No space left on device (28)"),
    row(Cause::SharedMemoryExhausted, Root, Certain, Anywhere, &["/dev/shm", "No space left on device"],
        "worker-0:77:91 [0] misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-Xy12Zw to 9637892 bytes: No space left on device"),

    // Disk.
    row(Cause::NoSpaceLeft, Root, Certain, Anywhere, &["No space left on device"],
        "OSError: [Errno 28] No space left on device: '/cache/checkpoints/epoch-12.pt'"),
    row(Cause::NoSpaceLeft, Root, Certain, Anywhere, &["[Errno 122] Disk quota exceeded"],
        "OSError: [Errno 122] Disk quota exceeded"),

    // Memory of the machine.
    row(Cause::OutOfMemory, Root, Certain, Line, &["MemoryError"],
        "MemoryError"),
    row(Cause::OutOfMemory, Root, Certain, Start, &["MemoryError: "],
        "MemoryError: Unable to allocate 59.6 GiB"),
    row(Cause::OutOfMemory, Root, Certain, Anywhere, &["ArrayMemoryError: Unable to allocate"],
        "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 59.6 GiB for an array with shape (80000, 100000) and data type float64"),
    row(Cause::OutOfMemory, Root, Certain, Anywhere, &["DefaultCPUAllocator: can't allocate memory"],
        "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 68719476736 bytes. Error code 12 (Cannot allocate memory)"),
    row(Cause::OutOfMemory, Root, Certain, Anywhere, &["[Errno 12] Cannot allocate memory"],
        "OSError: [Errno 12] Cannot allocate memory"),
    row(Cause::OutOfMemory, Root, Certain, Anywhere, &["Out of memory: Killed process"],
        "Out of memory: Killed process 77 (python3) total-vm:68719476kB, anon-rss:33554432kB"),
    row(Cause::OutOfMemory, Root, Likely, Anywhere, &["std::bad_alloc"],
        "  what():  std::bad_alloc"),
    row(Cause::OutOfMemory, Root, Likely, Anywhere, &["DataLoader worker", "is killed by signal: Killed"],
        "RuntimeError: DataLoader worker (pid 77) is killed by signal: Killed."),
    row(Cause::OutOfMemory, Root, Likely, Anywhere, &["Signal 9 (SIGKILL) received by PID"],
        "  traceback : Signal 9 (SIGKILL) received by PID 77"),
    row(Cause::OutOfMemory, Root, Likely, Anywhere, &["failed (exitcode: -9)"],
        "E0115 08:30:45.213000 77 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: -9) local_rank: 1 (pid: 78) of binary: /usr/bin/python3"),

    // Rendezvous, before the network: both have errors of name resolution.
    row(Cause::RendezvousTimeout, Consequence, Likely, Anywhere, &["network addresses of (", "cannot be retrieved"],
        "[W socket.cpp:601] [c10d] The IPv6 network addresses of (job-worker-0.job, 29500) cannot be retrieved (gai error: -2 - Name or service not known)."),
    row(Cause::RendezvousTimeout, Consequence, Likely, Anywhere, &["RendezvousTimeoutError"],
        "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError"),
    row(Cause::RendezvousTimeout, Consequence, Likely, Anywhere, &["RendezvousConnectionError:"],
        "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for details."),
    row(Cause::RendezvousTimeout, Consequence, Likely, Anywhere, &["Timed out after", "waiting for", "joined"],
        "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 1/3 clients joined."),
    row(Cause::RendezvousTimeout, Consequence, Likely, Anywhere, &["The client socket has timed out after", "while trying to connect to"],
        "torch.distributed.DistNetworkError: The client socket has timed out after 300000ms while trying to connect to (job-worker-0.job, 29500)."),
    row(Cause::RendezvousTimeout, Consequence, Likely, Anywhere, &["Timed out initializing process group in store based barrier"],
        "RuntimeError: Timed out initializing process group in store based barrier on rank: 0, for key: store_based_barrier_key:1 (world_size=2, worker_count=1, timeout=0:30:00)"),
    row(Cause::RendezvousTimeout, Consequence, Likely, Anywhere, &["retrieving ncclUniqueId from", "got error: Socket Timeout"],
        "torch.distributed.DistBackendError: [4] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Socket Timeout"),

    // Communication of workers: NCCL, Gloo, HCCL.
    row(Cause::CommunicationTimeout, Consequence, Likely, Anywhere, &["Watchdog caught collective operation timeout"],
        "[rank1]:[E115 08:30:45.408271257 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=808, OpType=ALLREDUCE, NumelIn=9801523, NumelOut=9801523, Timeout(ms)=600000) ran for 600020 milliseconds before timing out."),
    row(Cause::CommunicationTimeout, Consequence, Likely, Anywhere, &["Timed out waiting", "ms for", "operation to complete"],
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete"),
    row(Cause::CommunicationTimeout, Consequence, Likely, Anywhere, &["failed to pass monitoredBarrier in"],
        "RuntimeError: Rank 0 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 1: Ranks 1 failed to pass monitoredBarrier in 30000 ms"),
    row(Cause::CommunicationTimeout, Consequence, Likely, Anywhere, &["EI0002", "Notify register times out"],
        "EI0002: [PID: 77] 2026-01-15-08:30:45.713.335 The wait execution of the Notify register times out. Reason: The Notify register has not received the Notify record from remote rank: [24]."),
    row(Cause::CommunicationTimeout, Consequence, Likely, Anywhere, &["EI0006", "Getting socket times out"],
        "EI0006: [PID: 77] 2026-01-15-08:30:45.444.436 Getting socket times out. Reason: Remote Rank did not send the data in time. Please check the reason for the rank being stuck"),
    row(Cause::CommunicationTimeout, Consequence, Likely, Anywhere, &["HCCL(", "wait socket establish timeout"],
        "[ERROR] HCCL(77,python3):2026-01-15-08:30:45.177.194 [hccl_socket_manager.cc:778] [78][Wait][LinkEstablish]wait socket establish timeout, role[1] rank[12] timeout[120]"),
    row(Cause::CommunicationTimeout, Consequence, Likely, Anywhere, &["hccl fftsplus task timeout occurred"],
        "EI9999: 2026-01-15-08:30:45.358.410  The error from device(chipId:3, dieId:0), serial number is 9, hccl fftsplus task timeout occurred during task execution, stream_id:5, timeout:30min(default)."),
    row(Cause::CommunicationFailed, Consequence, Likely, Anywhere, &["ncclRemoteError:"],
        "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."),
    row(Cause::CommunicationFailed, Consequence, Likely, Anywhere, &["ncclSystemError:"],
        "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error."),
    row(Cause::CommunicationFailed, Consequence, Likely, Anywhere, &["ncclInternalError:"],
        "ncclInternalError: Internal check failed."),
    row(Cause::CommunicationFailed, Consequence, Likely, Anywhere, &["NCCL error in:"],
        "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1691, unhandled system error, NCCL version 2.19.3"),
    row(Cause::CommunicationFailed, Consequence, Likely, Anywhere, &["NCCL communicator was aborted"],
        "RuntimeError: NCCL communicator was aborted on rank 1."),
    row(Cause::CommunicationFailed, Consequence, Likely, Start, &["torch.distributed.DistBackendError: "],
        "torch.distributed.DistBackendError: Broken pipe"),
    row(Cause::CommunicationFailed, Consequence, Likely, Anywhere, &["gloo/transport/tcp/", "Connection "],
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.2]:29500"),
    row(Cause::CommunicationFailed, Consequence, Likely, Anywhere, &["error: Hccl", ", error code is"],
        "RuntimeError: InnerRunOpApi:torch_npu/csrc/framework/OpParamMaker.cpp:281 OPS function error: HcclAllreduce, error code is 6"),

    // Accelerators that are missing or do not fit, before modules: one is a missing library.
    row(Cause::DeviceUnavailable, Root, Certain, Anywhere, &["libcuda.so.1: cannot open shared object file"],
        "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory"),
    row(Cause::DeviceUnavailable, Root, Certain, Anywhere, &["Found no NVIDIA driver on your system"],
        "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver"),
    row(Cause::DeviceUnavailable, Root, Certain, Anywhere, &["Torch not compiled with CUDA enabled"],
        "AssertionError: Torch not compiled with CUDA enabled"),
    row(Cause::DeviceUnavailable, Root, Certain, Anywhere, &["no kernel image is available for execution on the device"],
        "RuntimeError: CUDA error: no kernel image is available for execution on the device"),
    row(Cause::DeviceUnavailable, Root, Certain, Anywhere, &["CUDA error: invalid device ordinal"],
        "RuntimeError: CUDA error: invalid device ordinal"),
    row(Cause::DeviceUnavailable, Root, Certain, Anywhere, &["no CUDA-capable device is detected"],
        "RuntimeError: CUDA error: no CUDA-capable device is detected"),
    row(Cause::DeviceUnavailable, Root, Certain, Anywhere, &["Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False"],
        "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu')"),
    row(Cause::DeviceError, Root, Certain, Anywhere, &["uncorrectable ECC error"],
        "RuntimeError: CUDA error: uncorrectable ECC error encountered"),
    row(Cause::DeviceError, Root, Certain, Anywhere, &["CUDA error: device-side assert triggered"],
        "RuntimeError: CUDA error: device-side assert triggered"),
    row(Cause::DeviceError, Root, Certain, Anywhere, &["CUDA error: an illegal memory access was encountered"],
        "RuntimeError: CUDA error: an illegal memory access was encountered"),
    row(Cause::DeviceError, Root, Certain, Anywhere, &["CUDA error: unspecified launch failure"],
        "RuntimeError: CUDA error: unspecified launch failure"),
    row(Cause::DeviceError, Consequence, Likely, Anywhere, &["ACL stream synchronize failed"],
        "RuntimeError: ACL stream synchronize failed."),
    row(Cause::DeviceError, Consequence, Likely, Anywhere, &["NPU function error:", "error code is 507"],
        "RuntimeError: npuSynchronizeDevice:torch_npu/csrc/core/npu/NPUStream.cpp:479 NPU function error: AclrtSynchronizeDeviceWithTimeout, error code is 507048"),

    // Modules and libraries. Packages that pip cannot install cause a missing module later.
    row(Cause::MissingModule, Root, Certain, Start, &["ModuleNotFoundError: No module named"],
        "ModuleNotFoundError: No module named 'apex'"),
    row(Cause::MissingModule, Root, Certain, Start, &["ImportError: "],
        "ImportError: libGL.so.1: cannot open shared object file: No such file or directory"),
    row(Cause::MissingModule, Root, Certain, Anywhere, &["/python", ": No module named "],
        "/usr/bin/python3: No module named train"),
    row(Cause::DependencyInstallFailed, Root, Certain, Start, &["ERROR: No matching distribution found for"],
        "ERROR: No matching distribution found for torchh==1.0"),
    row(Cause::DependencyInstallFailed, Root, Certain, Start, &["ERROR: Could not find a version that satisfies the requirement"],
        "ERROR: Could not find a version that satisfies the requirement torchh==1.0 (from versions: none)"),

    // OBS, in the forms of MoXing, of the SDK of OBS, of boto and of requests.
    row(Cause::ObsPermission, Root, Certain, Line, &["errorCode:AccessDenied"],
        "    errorCode:AccessDenied"),
    row(Cause::ObsPermission, Root, Certain, Line, &["stat:403"],
        "    stat:403"),
    row(Cause::ObsPermission, Root, Certain, Anywhere, &["An error occurred (AccessDenied) when calling"],
        "botocore.exceptions.ClientError: An error occurred (AccessDenied) when calling the GetObject operation: Access Denied"),
    row(Cause::ObsPermission, Root, Certain, Anywhere, &["403 Client Error: Forbidden for url:", ".obs."],
        "requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: https://bucket.obs.eu-de.otc.t-systems.com/data/a.bin"),
    row(Cause::ObsPermission, Root, Certain, Anywhere, &["(InvalidAccessKeyId)"],
        "botocore.exceptions.ClientError: An error occurred (InvalidAccessKeyId) when calling the ListObjects operation: The access key Id does not exist."),
    row(Cause::ObsPermission, Root, Certain, Anywhere, &[NO_KEYS],
        "botocore.exceptions.NoCredentialsError: Unable to locate credentials"),
    row(Cause::FileNotFound, Root, Certain, Anywhere, &["MoxFileNotExistsException"],
        "moxing.framework.file.file_io.MoxFileNotExistsException: MoxFileNotExistsException(resp, 'file or directory or bucket not found.')"),
    row(Cause::FileNotFound, Root, Certain, Anywhere, &["errorCode:NoSuch"],
        "    errorCode:NoSuchKey"),

    // Images without an interpreter or a command, before files: `env` reports a missing file.
    row(Cause::ImageWithoutPython, Root, Certain, Anywhere, &["env: ", "python", "No such file or directory"],
        "/usr/bin/env: 'python3': No such file or directory"),
    row(Cause::ImageWithoutPython, Root, Certain, Anywhere, &["python: command not found"],
        "/bin/bash: line 1: python: command not found"),
    row(Cause::ImageWithoutPython, Root, Certain, Anywhere, &["python3: command not found"],
        "bash: python3: command not found"),
    row(Cause::ImageWithoutPython, Root, Certain, Anywhere, &[": python: not found"],
        "/bin/sh: 1: python: not found"),
    row(Cause::ImageWithoutPython, Root, Certain, Anywhere, &[": python3: not found"],
        "/bin/sh: 1: python3: not found"),
    row(Cause::ImageWithoutPython, Root, Certain, Anywhere, &["exec: \"python", "executable file not found in $PATH"],
        "exec: \"python3\": executable file not found in $PATH: unknown"),
    row(Cause::CommandNotFound, Root, Certain, Anywhere, &["sh: ", ": command not found"],
        "/bin/bash: line 1: torchrun: command not found"),
    row(Cause::CommandNotFound, Root, Certain, Start, &["/bin/sh: ", ": not found"],
        "/bin/sh: 1: torchrun: not found"),
    row(Cause::CommandNotFound, Root, Certain, Anywhere, &["executable file not found in $PATH"],
        "exec: \"torchrun\": executable file not found in $PATH: unknown"),

    // Files.
    row(Cause::FileNotFound, Root, Certain, Start, &["FileNotFoundError: "],
        "FileNotFoundError: [Errno 2] No such file or directory: '/home/ma-user/modelarts/inputs/data_url_0/train.csv'"),
    row(Cause::FileNotFound, Root, Certain, Anywhere, &["python", ": can't open file ", "[Errno 2]"],
        "/usr/bin/python3: can't open file '/home/ma-user/modelarts/user-job-dir/code/trian.py': [Errno 2] No such file or directory"),
    row(Cause::FileNotFound, Root, Certain, Anywhere, &["errors_impl.NotFoundError: ", "No such file or directory"],
        "tensorflow.python.framework.errors_impl.NotFoundError: /home/ma-user/modelarts/inputs/data_url_0/train.tfrecord; No such file or directory"),
    row(Cause::FileNotFound, Root, Certain, Anywhere, &["bash: ", ": No such file or directory"],
        "bash: run.sh: No such file or directory"),
    row(Cause::PermissionDenied, Root, Certain, Start, &["PermissionError: [Errno 13]"],
        "PermissionError: [Errno 13] Permission denied: '/root/.cache'"),
    row(Cause::PermissionDenied, Root, Certain, Anywhere, &["bash: ", ": Permission denied"],
        "/bin/bash: line 1: ./run.sh: Permission denied"),

    // Arguments, in the forms of argparse, click and absl.
    row(Cause::BadArgument, Root, Certain, Anywhere, &[": error: unrecognized arguments: "],
        "train.py: error: unrecognized arguments: --data_url=/home/ma-user/modelarts/inputs/data_url_0"),
    row(Cause::BadArgument, Root, Certain, Anywhere, &[": error: the following arguments are required: "],
        "train.py: error: the following arguments are required: --data"),
    row(Cause::BadArgument, Root, Certain, Anywhere, &[": error: argument "],
        "train.py: error: argument --lr: invalid float value: 'fast'"),
    row(Cause::BadArgument, Root, Certain, Start, &["Error: No such option"],
        "Error: No such option: --epoch Did you mean --epochs?"),
    row(Cause::BadArgument, Root, Certain, Start, &["Error: Missing option"],
        "Error: Missing option '--data'."),
    row(Cause::BadArgument, Root, Certain, Start, &["Error: Invalid value for"],
        "Error: Invalid value for '--lr': 'fast' is not a valid float."),
    row(Cause::BadArgument, Root, Certain, Start, &["FATAL Flags parsing error:"],
        "FATAL Flags parsing error: Unknown command line flag 'data_url'"),

    // Network.
    row(Cause::NetworkUnreachable, Root, Certain, Anywhere, &["Temporary failure in name resolution"],
        "socket.gaierror: [Errno -3] Temporary failure in name resolution"),
    row(Cause::NetworkUnreachable, Root, Certain, Anywhere, &["Name or service not known"],
        "socket.gaierror: [Errno -2] Name or service not known"),
    row(Cause::NetworkUnreachable, Root, Certain, Anywhere, &["Max retries exceeded with url:"],
        "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='models.test', port=443): Max retries exceeded with url: /resnet50.pt (Caused by NewConnectionError(...))"),
    row(Cause::NetworkUnreachable, Root, Certain, Anywhere, &["We couldn't connect to 'https://"],
        "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files."),
    row(Cause::NetworkUnreachable, Root, Certain, Anywhere, &["[Errno 101] Network is unreachable"],
        "OSError: [Errno 101] Network is unreachable"),

    row(Cause::NetworkUnreachable, Root, Certain, Start, &["fatal: unable to access '", "Could not resolve host"],
        "fatal: unable to access 'https://git.test/kit.git/': Could not resolve host: git.test"),
    row(Cause::NetworkUnreachable, Root, Certain, Start, &["curl: (6) "],
        "curl: (6) Could not resolve host: files.test"),
    row(Cause::NetworkUnreachable, Root, Certain, Start, &["wget: unable to resolve host address"],
        "wget: unable to resolve host address ‘files.test’"),
    row(Cause::NetworkUnreachable, Root, Certain, Anywhere, &["Error: ", "Failed to establish a new connection: ["],
        "urllib3.exceptions.NewConnectionError: HTTPSConnection(host='models.test', port=443): Failed to establish a new connection: [Errno 110] Connection timed out"),
    row(Cause::NetworkUnreachable, Root, Certain, Start, &["huggingface_hub.", "LocalEntryNotFoundError: "],
        "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find the requested files in the disk cache. Please check your connection."),

    // Errors of the code that have no traceback.
    row(Cause::ScriptError, Root, Certain, Start, &["SyntaxError: "],
        "SyntaxError: invalid syntax"),
    row(Cause::ScriptError, Root, Certain, Start, &["IndentationError: "],
        "IndentationError: unexpected indent"),
    row(Cause::ScriptError, Root, Certain, Start, &["TabError: "],
        "TabError: inconsistent use of tabs and spaces in indentation"),
    row(Cause::KilledBySignal, Consequence, Likely, Anywhere, &["Segmentation fault"],
        "Fatal Python error: Segmentation fault"),
    row(Cause::KilledBySignal, Consequence, Likely, Anywhere, &["Bus error (core dumped)"],
        "run.sh: line 3:    77 Bus error (core dumped) python3 train.py"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_the_first_that_matches_its_excerpt() {
        for row in SIGNATURES {
            let found = find(without_prefix(row.excerpt)).unwrap();
            assert!(
                std::ptr::eq(found, row),
                "{:?} has the excerpt of {:?}",
                found.parts,
                row.parts
            );
        }
    }

    #[test]
    fn lines_of_healthy_runs_match_no_row() {
        for line in [
            "",
            "epoch 3: no out of memory so far, memory 71 %",
            "INFO lowering the batch size because of CUDA out of memory",
            "Warning: ModuleNotFoundError: No module named 'apex', using the Python fallback",
            "note: FileNotFoundError is raised if the cache is empty",
            "skipping 3 files: No such file or directory",
            "DataLoader worker (pid 77) started",
            "NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>",
            "NCCL INFO comm 0x55d0 rank 0 nranks 8 cudaDev 0 busId 1a000 - Init COMPLETE",
            "HCCL_CONNECT_TIMEOUT=1200 HCCL_EXEC_TIMEOUT=1800",
            "timeout: 1800 s, waiting for 2 workers; 2 joined",
            "checking disk: 12 GB space left on device /cache",
            "step 400 loss 0.403 stat: 403 samples",
            "argument lr: 0.1, argument epochs: 20",
            "error rate 0.12, validation error: 0.15",
            "watchdog started, collective operation timeout is 600 s",
            "permission denied counter: 0",
            "import errors: none. ImportError: 0",
            "MemoryErrors seen by the monitor: 0",
            "mean stat:403 of the batch",
        ] {
            assert!(find(line).is_none(), "{line}: {:?}", find(line));
        }
    }

    #[test]
    fn prefixes_of_launchers_are_removed() {
        for (line, rest) in [
            ("[rank0]: ValueError: a", "ValueError: a"),
            ("[rank12]:   File \"a.py\"", "  File \"a.py\""),
            ("[default3]:ValueError: a", "ValueError: a"),
            ("[0]: [rank0]: a", "a"),
            ("(train pid=77) EI0002: a", "EI0002: a"),
            ("(train pid=77, ip=10.0.0.1) a", "a"),
            ("[worker]: a", "[worker]: a"),
            ("[rank]: a", "[rank]: a"),
            ("(note) a", "(note) a"),
            ("  a", "  a"),
            ("[", "["),
            ("", ""),
        ] {
            assert_eq!(without_prefix(line), rest);
        }
    }
}
