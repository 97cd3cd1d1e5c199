"""Stand-ins for the commands of Slurm on a cluster of one machine: NAME ARGUMENT...

The directory `state` beside this file is the state of the cluster. Tests write these files there:

check.error    message with which srun fails for the check of a node
check.file     file that the check of a node reads instead of the one that it names
srun.error     message with which srun fails for a job
srun.gate      port on which srun asks for nodes; without it, nodes are free
squeue.error   message with which squeue fails
squeue.gate    port on which squeue waits before it prints the queue
squeue.format  format of a line of squeue, with {id}, {name}, {state}, {comment} and {reason}

`jobs/ID` contains the name, the state, the reason, the process and the comment of a job, one a line. `NAME.calls`
contains the arguments of each call of a command, one call a line.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

STATE = Path(__file__).parent / "state"
NAME, ARGUMENTS = sys.argv[1], sys.argv[2:]


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


def write_job(number, fields):
    temporary = STATE / f"{number}.{os.getpid()}"
    temporary.write_text("\n".join(fields))
    temporary.replace(STATE / "jobs" / str(number))


def change_job(number, state, reason="None"):
    name, _, _, process, comment = (STATE / "jobs" / str(number)).read_text().split("\n")
    write_job(number, [name, state, reason, process, comment])


def add_job(name, comment):
    number = 1
    while True:
        try:
            os.close(os.open(STATE / f"number.{number}", os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            number += 1
    write_job(number, [name, "PENDING", "Resources", str(os.getpid()), comment])
    return number


def squeue():
    wait_at_gate("squeue.gate")
    fail_if_set("squeue.error")
    form = setting("squeue.format") or "{id}|{name}|{state}|{comment}|{reason}"
    for file in (STATE / "jobs").iterdir():
        name, state, reason, _, comment = file.read_text().split("\n")
        fields = {"name": name, "state": state, "reason": reason, "comment": comment}
        print(form.format(id=file.name, **fields))


def scancel():
    for number in ARGUMENTS:
        if number.startswith("-"):
            continue
        process = (STATE / "jobs" / number).read_text().split("\n")[3]
        change_job(number, "CANCELLED")
        try:
            # The process may have ended, and another may have its number.
            if str(STATE.parent).encode() in Path(f"/proc/{process}/cmdline").read_bytes():
                os.kill(int(process), signal.SIGTERM)
        except (FileNotFoundError, ProcessLookupError):
            pass


def srun():
    first = next(at for at, word in enumerate(ARGUMENTS) if not word.startswith("--"))
    options, command = ARGUMENTS[:first], ARGUMENTS[first:]
    value = lambda name: next(o.removeprefix(name) for o in options if o.startswith(name))
    if any(option.startswith("--immediate=") for option in options):
        fail_if_set("check.error")
        command[-1] = setting("check.file") or command[-1]
        sys.exit(subprocess.run(command, env=os.environ | {"SLURM_PROCID": "0"}).returncode)
    fail_if_set("srun.error")
    number = add_job(value("--job-name="), value("--comment="))
    workers = []

    def end(*_):
        change_job(number, "CANCELLED")
        for worker in workers:
            worker.terminate()
        os._exit(143)

    signal.signal(signal.SIGTERM, end)
    wait_at_gate("srun.gate")
    change_job(number, "RUNNING")
    for rank in range(int(value("--ntasks="))):
        environment = {"SLURM_PROCID": str(rank), "SLURM_JOB_ID": str(number)}
        pipe = subprocess.PIPE
        environment = os.environ | environment
        workers.append(subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe))

    def send_input():
        for line in sys.stdin.buffer:
            for worker in workers:
                try:
                    worker.stdin.write(line)
                    worker.stdin.flush()
                except OSError:
                    pass
        for worker in workers:
            worker.stdin.close()

    lock = threading.Lock()

    def copy_output(rank, worker):
        for line in worker.stdout:
            with lock:
                sys.stdout.buffer.write(b"%d: " % rank + line)
                sys.stdout.buffer.flush()
        if worker.wait() != 0:
            for other in workers:
                other.kill()

    threading.Thread(target=send_input, daemon=True).start()
    copies = [threading.Thread(target=copy_output, args=pair) for pair in enumerate(workers)]
    for copy in copies:
        copy.start()
    for copy in copies:
        copy.join()
    failed = any(worker.returncode != 0 for worker in workers)
    change_job(number, "FAILED" if failed else "COMPLETED")
    # The thread that reads standard input may still run.
    os._exit(int(failed))


call = {"arguments": ARGUMENTS}
if NAME == "srun":
    call["mode"] = oct(os.stat(ARGUMENTS[-1]).st_mode & 0o7777)
with open(STATE / f"{NAME}.calls", "a") as calls:
    calls.write(json.dumps(call) + "\n")
{"srun": srun, "squeue": squeue, "scancel": scancel, "scontrol": lambda: None}[NAME]()
