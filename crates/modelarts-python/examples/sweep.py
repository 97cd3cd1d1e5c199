"""Trains a script with several learning rates, and prints a table with the best one first.

Usage: sweep.py SCRIPT [FLAVOR]

Run again after an interruption, the program continues with the jobs that exist. The script prints
`loss=NUMBER`. The settings of the service are those of the environment, see README.md.
"""

from __future__ import annotations

import sys

import pandas

from modelarts_tools import Client, End

RATES = (0.4, 0.2, 0.1)


def last_loss(end: End) -> float:
    losses = [value.value for value in end.job.values(r"loss=(\S+)")]
    return losses[-1] if losses else float("nan")


def main(script: str, flavor: str) -> None:
    client = Client(flavor=flavor)
    trials = [
        client.prepare(script, name=f"sweep-{index}", parameters={"lr": rate}, adopt=True)
        for index, rate in enumerate(RATES)
    ]
    rows = []
    for result in client.submit_all(trials, at_most=2):
        rate = RATES[result.index]
        if result.end is None:
            print(f"lr={rate}: {result.error}", file=sys.stderr)
            continue
        print(result.end, file=sys.stderr)
        if result.end.is_completed:
            rows.append({"lr": rate, "loss": last_loss(result.end), "job": result.end.job.name})
    if not rows:
        sys.exit("no job completed")
    print(pandas.DataFrame(rows).sort_values("loss").to_string(index=False))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "modelarts.vm.cpu.8u")
