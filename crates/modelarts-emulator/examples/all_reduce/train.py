"""An all-reduce over TCP: any number of workers add up their gradients.

Needs only the standard library of Python 3. Submit this directory as code_dir with this file as
boot_file and node_count 3. As on the service, the addresses of the workers are in VC_WORKER_HOSTS,
and VC_TASK_INDEX is the rank. Each worker contributes its own gradient and receives the sum.
"""

import json
import os
import socket
import time

PORT = 6666  # the same for all workers, because their addresses differ

rank = int(os.environ["VC_TASK_INDEX"])
hosts = os.environ["VC_WORKER_HOSTS"].split(",")
assert len(hosts) == int(os.environ["MA_NUM_HOSTS"])


def connect(host):
    """Connects to a worker; retries while it does not listen yet."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return socket.create_connection((host, PORT), timeout=30)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def all_reduce(values):
    """Returns the sum of the values of all workers, which rank 0 computes."""
    if rank == 0:
        with socket.create_server((hosts[0], PORT)) as server:
            peers = [server.accept()[0].makefile("rw") for _ in hosts[1:]]
        total = list(values)
        for peer in peers:
            theirs = json.loads(peer.readline())
            total = [mine + other for mine, other in zip(total, theirs)]
        for peer in peers:
            peer.write(json.dumps(total) + "\n")
            peer.flush()
        return total
    with connect(hosts[0]) as connection:
        peer = connection.makefile("rw")
        peer.write(json.dumps(values) + "\n")
        peer.flush()
        return json.loads(peer.readline())


gradient = [float(rank + 1), 10.0 * (rank + 1)]
print(f"rank {rank} of {len(hosts)}: mine {gradient}, all {all_reduce(gradient)}")
