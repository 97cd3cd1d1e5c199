"""Submits 100 jobs, and prints the seconds: the counterpart of `submissions.rs`."""

import sys
import time

from modelarts_tools import Client

client = Client()
start = time.perf_counter()
for index in range(100):
    client.submit(
        "obs://bucket/code/train.py",
        name=f"{sys.argv[1]}-{index}",
        engine="PyTorch:pytorch_1.8.0",
        flavor="modelarts.vm.cpu.2u",
        parameters={"seed": index},
    )
print(time.perf_counter() - start)
