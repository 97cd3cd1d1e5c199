"""Explains each job of the project that ended badly, once, until Ctrl-C.

Usage: watcher.py [SECONDS]

SECONDS is the pause between two lists, 60 by default; 0 lists once. The settings of the service are
those of the environment, see README.md.
"""

from __future__ import annotations

import sys
import time
from datetime import timedelta

from modelarts_tools import Client, ModelArtsError

BAD = ["Failed", "Abnormal"]


def explain_new(client: Client, known: set[str]) -> None:
    """Prints the diagnosis of each job of the last day that is not known yet."""
    for job in client.list(phase=BAD, since=timedelta(days=1)):
        if job.id in known:
            continue
        diagnosis = job.explain()
        print(f"{job.name}: {diagnosis.summary}", flush=True)
        for advice in diagnosis.advice:
            print(f"  {advice}", flush=True)
        known.add(job.id)


def main(pause: float) -> None:
    client = Client()
    known: set[str] = set()
    while True:
        try:
            explain_new(client, known)
        except ModelArtsError as error:
            # The next list may succeed: the calls were repeated, and the service is still busy.
            print(f"warning: {error}; {error.advice or 'no advice'}", file=sys.stderr)
        if not pause:
            return
        time.sleep(pause)


if __name__ == "__main__":
    try:
        main(float(sys.argv[1]) if len(sys.argv) > 1 else 60)
    except KeyboardInterrupt:
        sys.exit(130)
