"""Code of the jobs: prints a line for each epoch."""

import argparse
import time

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--pause", type=float, default=0, help="seconds after each epoch")
arguments, _ = parser.parse_known_args()
for epoch in range(arguments.epochs):
    print("epoch", epoch + 1, flush=True)
    time.sleep(arguments.pause)
