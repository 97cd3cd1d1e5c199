//! Configuration of the cluster: `slurm.conf` and `gres.conf`.

use std::path::Path;

/// Names of the nodes. Each is also a feature of its node, so that `constraint` selects it.
pub const NODES: [&str; 3] = ["n1", "n2", "n3"];
/// Partition of jobs without another one. Jobs of [`HIGH`] preempt its jobs.
pub const LOW: &str = "low";
/// Partition whose jobs preempt those of [`LOW`].
pub const HIGH: &str = "high";

/// Each node has the resources of the flavors `modelarts.vm.cpu.8u` and
/// `modelarts.p3.large.public`, so it runs one of their jobs at a time. GPUs are two.
const RESOURCES: &str = "CPUs=8 RealMemory=65536 Gres=gpu:2";

/// Devices of the GPUs. Each machine has these files.
pub const GRES: &str = "\
AutoDetect=off
Name=gpu File=/dev/zero
Name=gpu File=/dev/full
";

/// Returns the text of `slurm.conf`. The ports are those of the controller and of the nodes.
///
/// The daemons do not authenticate each other, so they listen on the loopback address only.
pub fn slurm_conf(directory: &Path, host: &str, user: &str, ports: [u16; 4]) -> String {
    let directory = directory.display();
    let [controller, nodes @ ..] = ports;
    let mut text = format!(
        "\
ClusterName=modelarts
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1
SlurmdTimeout=10
KillWait=2
MinJobAge=300
ReturnToService=2
StateSaveLocation={directory}/state
SlurmctldPidFile={directory}/slurmctld.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdSpoolDir={directory}/%n
SlurmdPidFile={directory}/%n.pid
SlurmdLogFile={directory}/%n.log
GresTypes=gpu
"
    );
    for (node, port) in NODES.iter().zip(nodes) {
        text += &format!(
            "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} {RESOURCES} \
             Feature={node} State=UNKNOWN\n"
        );
    }
    let nodes = NODES.join(",");
    text += &format!("PartitionName={LOW} Nodes={nodes} PriorityTier=1 Default=YES\n");
    text += &format!("PartitionName={HIGH} Nodes={nodes} PriorityTier=3\n");
    text
}
