"""Runs the calls and ends with how many passed: `python -m Clients PROGRAM [SERVICE …]`, in `Tests/`."""

import importlib
import sys

from .calls import run_all

SERVICES = ["auth", "rest", "realtime", "storage", "answers", "faults"]


def main(program, *wanted):
    for service in SERVICES:
        importlib.import_module(f".{service}", __package__)
    passed, failed = run_all(program, set(wanted))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python -m Clients PROGRAM [SERVICE …]")
    sys.exit(main(*sys.argv[1:]))
