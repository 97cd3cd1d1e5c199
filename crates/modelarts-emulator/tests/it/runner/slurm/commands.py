"""Stand-ins for the commands of Slurm on a cluster of one machine: NAME ARGUMENT...

The directory `state` beside this file is the state of the cluster. Tests write these files there:

version        version of Slurm, whose options the commands accept (default: 20.11)
sbatch.error   message with which sbatch fails
sbatch.lost    message with which sbatch fails although the job is in the queue
sbatch.gate    port on which sbatch waits when the job is in the queue
nodes.gate     port on which a job waits for nodes; without it, nodes are free
squeue.error   message with which squeue fails
squeue.gate    port on which squeue waits before it reads the queue
squeue.late    port on which squeue waits when it has read the queue
squeue.format  format of a line of squeue, with {id}, {name}, {state} and {reason}
sacct.states   output of sacct; without it, there is no accounting database
script         batch script in place of that of a job

`jobs/ID` contains the name, the state, the reason, the process and the restarts of a job, one a
line. `calls/NAME` contains a line for each call of a command. Tests call `requeue ID MESSAGE`.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

STATE = Path(__file__).parent / "state"
NAME, ARGUMENTS = sys.argv[1], sys.argv[2:]
# Options of each command, with the version that introduced them.
OPTIONS = {
    "sbatch": {
        "--parsable": 20, "--job-name": 20, "--output": 20, "--open-mode": 20, "--requeue": 20,
        "--nodes": 20, "--ntasks": 20, "--ntasks-per-node": 20, "--account": 20,
        "--partition": 20, "--qos": 20, "--reservation": 20, "--constraint": 20, "--comment": 20,
        "--cpus-per-task": 20, "--mem": 20, "--gres": 20, "--time": 20, "--version": 20,
        "--gpus-per-node": 19, "--prefer": 22.05, "--tres-per-task": 22.05, "--resv-ports": 23.11,
    },
    "srun": {
        "--kill-on-bad-exit": 20, "--mpi": 20, "--export": 20, "--het-group": 20,
        "--cpus-per-task": 20, "--external-launcher": 23.11, "--external": 24.05,
    },
    "squeue": {"-a": 20, "-h": 20, "-t": 20, "-u": 20, "-o": 20, "--json": 21.08, "--yaml": 21.08},
    "scancel": {"--version": 20, "--ctld": 20},
    "scontrol": {"--version": 20, "--json": 23.02},
    "sacct": {"-n": 20, "-P": 20, "-X": 20, "-j": 20, "-o": 20, "--json": 21.08},
}


def setting(name):
    try:
        return (STATE / name).read_text()
    except FileNotFoundError:
        return None


def fail_if_set(name):
    message = setting(name)
    if message is not None:
        sys.exit(message)


def wait_at_gate(name):
    port = setting(name)
    if port is not None:
        gate = socket.create_connection(("127.0.0.1", int(port)))
        gate.sendall(b"x")
        gate.recv(1)


def check_options():
    version = float(setting("version") or 20.11)
    for option in ARGUMENTS:
        option = option.split("=")[0]
        if option.startswith("-") and not OPTIONS[NAME].get(option, 99) <= version:
            sys.exit(f"{NAME}: unrecognized option '{option}' in {version}")


def read_job(number):
    return (STATE / "jobs" / str(number)).read_text().split("\n")


def write_job(number, fields):
    temporary = STATE / f"{number}.{os.getpid()}"
    temporary.write_text("\n".join(fields))
    temporary.replace(STATE / "jobs" / str(number))


def change_job(number, state, reason="None", process=None, restarts=None):
    name, _, _, old, count = read_job(number)
    write_job(number, [name, state, reason, process or old, restarts or count])


def add_job(name):
    number = 1
    while True:
        try:
            os.close(os.open(STATE / f"number.{number}", os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            number += 1
    write_job(number, [name, "PENDING", "Resources", "", "0"])
    return number


def sbatch():
    if ARGUMENTS == ["--version"]:
        return
    check_options()
    fail_if_set("sbatch.error")
    *options, script = ARGUMENTS
    value = lambda name: next(o.removeprefix(name) for o in options if o.startswith(name))
    number = add_job(value("--job-name="))
    if setting("script") is not None:
        script = STATE / "script"
    start([number, value("--output="), script])
    wait_at_gate("sbatch.gate")
    fail_if_set("sbatch.lost")
    print(number)


def start(words):
    words = [sys.executable, __file__, "run", *map(str, words)]
    # The standard output of a command of Slurm is read to its end.
    subprocess.Popen(words, start_new_session=True, stdin=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def run():
    """Runs the script of a job, in a process group that its end reaches."""
    number, output, script = ARGUMENTS
    wait_at_gate("nodes.gate")
    name, state, _, _, restarts = read_job(number)
    if state != "PENDING":
        return
    (STATE / f"script.{number}").write_text(f"{output}\n{script}")
    environment = os.environ | {"SLURM_JOB_ID": number, "SLURM_LAUNCH_NODE_IPADDR": "127.0.0.1"}
    if restarts != "0":
        environment["SLURM_RESTART_COUNT"] = restarts
    with open(output, "a") as file:
        job = subprocess.Popen(["/bin/bash", script], env=environment, stdin=subprocess.DEVNULL,
                               stdout=file, stderr=file, process_group=0)
    change_job(number, "RUNNING", process=str(job.pid))
    code = job.wait()
    if read_job(number)[1:4:2] == ["RUNNING", str(job.pid)]:
        change_job(number, "FAILED" if code else "COMPLETED")


def end(number, state, reason, message):
    """Ends the processes of a job as Slurm does, after the job has got a new state. A script that has
    ended gets no message."""
    _, _, _, process, restarts = read_job(number)
    again = str(int(restarts) + 1) if state == "PENDING" else restarts
    change_job(number, state, reason, restarts=again)
    if not process:
        return
    output = Path((STATE / f"script.{number}").read_text().split("\n")[0])
    try:
        os.kill(int(process), 0)
        with open(output, "a") as file:
            line = f"slurmstepd-n1: error: *** JOB {number} ON n1 CANCELLED AT {message} ***"
            print(line, file=file)
        os.killpg(int(process), signal.SIGTERM)
        for _ in range(200):
            time.sleep(0.01)
            os.killpg(int(process), 0)
        os.killpg(int(process), signal.SIGKILL)
    except ProcessLookupError:
        pass


def requeue():
    number, message = ARGUMENTS
    end(number, "PENDING", "BeginTime", message)
    change_job(number, "PENDING", "BeginTime", process=" ")
    start([number, *(STATE / f"script.{number}").read_text().split("\n")])


def squeue():
    check_options()
    wait_at_gate("squeue.gate")
    fail_if_set("squeue.error")
    form = setting("squeue.format") or "{id}|{state}|{reason}|{name}"
    jobs = [(file.name, file.read_text().split("\n")) for file in (STATE / "jobs").iterdir()]
    wait_at_gate("squeue.late")
    for number, (name, state, reason, _, _) in jobs:
        print(form.format(id=number, name=name, state=state, reason=reason))


def scancel():
    check_options()
    for number in ARGUMENTS:
        if number.isdigit() and read_job(number)[1] in ["PENDING", "RUNNING"]:
            end(number, "CANCELLED", "None", "2026-01-01T00:00:00")


def sacct():
    check_options()
    states = setting("sacct.states")
    print(states) if states else sys.exit("Slurm accounting storage is disabled")


def srun():
    check_options()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    (STATE / "srun.mode").write_text(oct(os.stat(f"{ARGUMENTS[-1]}/job.json").st_mode & 0o7777))
    parts = " ".join(ARGUMENTS).split(" : ")
    words = [re.sub(r"(^| )--\S+", "", part).split() for part in parts]
    counts = json.loads(Path(f"{ARGUMENTS[-1]}/job.json").read_text())["body"]
    counts = [task["task_resource"]["node_count"] for task in counts.get("tasks", [])] or [
        counts["spec"]["resource"].get("node_count", 1)]
    commands = [word for word, count in zip(words, counts) for _ in range(count)]
    default = lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL)
    workers = []
    for rank, command in enumerate(commands):
        environment = os.environ | {"SLURM_PROCID": str(rank)}
        workers.append(subprocess.Popen(command, env=environment, preexec_fn=default))
    codes = [worker.wait() for worker in workers]
    sys.exit(int(any(codes)))


if NAME not in ["run", "requeue"]:
    with open(STATE / "calls" / NAME, "a") as calls:
        calls.write(json.dumps(ARGUMENTS) + "\n")
commands = [sbatch, run, requeue, squeue, scancel, sacct, srun]
{command.__name__: command for command in commands}.get(NAME, lambda: None)()
