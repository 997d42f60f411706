#!/usr/bin/env python3
"""Coffre, its peers, libfuse alone and the bare filesystem, run in turn over the same workloads.

Each group of workloads gets a fresh ext4 in a loop file for each system; systems take turns within a round; what is reported
are medians over the rounds. Results are added to a file of JSON lines, so that a run can be cut short and continued.
"""

import argparse
import json
import os
import sys
import tempfile
import time

import report
import systems
import volume
import workloads
from inputs import Inputs


class Run:
    """One group of workloads in one system, once."""

    def __init__(self, system, lower, inputs, group, number, results):
        self.system, self.lower, self.inputs = system, lower, inputs
        self.group, self.round, self.results = group, number, results
        self.cpu, self.peak = 0.0, 0.0

    def path(self, name):
        return os.path.join(self.system.mountpoint, name)

    def remount(self, cold):
        self.cpu += self.system.cpu_seconds()
        self.peak = max(self.peak, self.system.peak_memory())
        self.system.unmount()
        if cold:
            volume.drop_caches()
        self.system.mount()

    def measure(self, row, work, unit="s", amount=None):
        """Times `work`; the value is seconds, `amount` by seconds, or what `work` returns."""
        os.sync()
        cpu, started = self.system.cpu_seconds(), time.monotonic()
        returned = work()
        seconds = time.monotonic() - started
        value = seconds if unit == "s" else amount / seconds if amount else returned
        daemon = self.system.cpu_seconds() - cpu
        self.write(row, unit=unit, value=value, daemon_cpu=daemon if daemon >= 0 else None, seconds=seconds)

    def skip(self, what):
        print(f"skipped: {what}", file=sys.stderr)

    def write(self, row, **fields):
        line = dict(system=self.system.name, group=self.group, round=self.round, row=row, **fields,
                    load=os.getloadavg()[0])
        self.results.write(json.dumps(line) + "\n")
        self.results.flush()

    def finish(self):
        self.peak = max(self.peak, self.system.peak_memory())
        self.write(f"peak memory, {self.group}", unit="MiB", value=self.peak)
        self.system.unmount()
        self.write(f"space on disk, {self.group}", unit="MiB", value=self.lower.used_mebibytes())


def run_group(arguments, folder, inputs, kind, group, number, results):
    tools = {"coffre": os.path.abspath(arguments.coffre), "passthrough": os.path.abspath(arguments.passthrough),
             "password": os.path.join(folder, "password"), "state": os.path.join(folder, "cryfs-state")}
    with volume.LoopVolume(folder, 2 if arguments.quick else 8) as lower:
        system = kind(os.path.join(lower.mountpoint, "store"), os.path.join(folder, "mounted"), tools)
        run = Run(system, lower, inputs, group, number, results)
        try:
            system.create()
            system.mount()
            workloads.GROUPS[group](run)
            run.finish()
        except Exception as error:  # a peer that fails in a workload is a result, not the end of the run
            print(f"{system.name} failed in {group}: {error}", file=sys.stderr)
            run.write(f"failed: {group}", unit="", value=None, error=str(error))
        finally:
            system.unmount()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--coffre", required=True, help="the release binary")
    parser.add_argument("--passthrough", required=True, help="passthrough.c, compiled")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small inputs, one round")
    parser.add_argument("--systems", nargs="*", help="some of: " + ", ".join(s.name for s in systems.ALL))
    parser.add_argument("--groups", nargs="*", default=list(workloads.GROUPS), choices=list(workloads.GROUPS))
    parser.add_argument("--results", default="bench-results.jsonl")
    parser.add_argument("--report", help="write the tables into this file")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("bench: loop mounts and dropping caches need root")
    chosen = systems.available(arguments.systems)
    os.environ["XDG_RUNTIME_DIR"] = os.environ["XDG_STATE_HOME"] = ""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="coffre-bench.") as folder:
        os.chmod(folder, 0o755)
        for variable in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME"):
            os.environ[variable] = os.path.join(folder, variable)
            os.mkdir(os.environ[variable], 0o700)
        with open(os.path.join(folder, "password"), "w") as file:
            file.write(systems.PASSWORD + "\n")
        inputs = Inputs(folder, arguments.quick, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        with open(arguments.results, "a") as results:
            for number in range(1 if arguments.quick else arguments.rounds):
                for group in arguments.groups:
                    # Another system first in each round: none has always the quietest or the busiest moment.
                    turn = number % len(chosen)
                    for kind in chosen[turn:] + chosen[:turn]:
                        print(f"round {number + 1}: {group}: {kind.name}", file=sys.stderr)
                        run_group(arguments, folder, inputs, kind, group, number, results)
    text = report.tables(arguments.results)
    print(text)
    if arguments.report:
        report.write_into(arguments.report, text)


if __name__ == "__main__":
    main()
