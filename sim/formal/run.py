#!/usr/bin/env python3
"""Proves what sim/formal/proofs.py lists, and refutes it where the RTL is broken on purpose.

    sim/formal/run.py                        everything, two at a time
    sim/formal/run.py --only hits/blocked    one proof and the broken cores that belong to it
    sim/formal/run.py --only cam --quick     of these, the proof and its first broken core

Prints a table. Exit code 1: something was not as expected; its log is in target/formal. Needs what `scripts/setup.py formal` installs.
"""

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from proofs import PROOFS

ROOT = Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "target" / "formal"
LIMIT = 900  # seconds for one proof

ENGINES = {
    # method: (mode of SymbiYosys, engine)
    "pdr": ("prove", "abc pdr"),
    "induction": ("prove", "smtbmc yices"),
    "bmc": ("bmc", "abc bmc3"),
}


RUNNING = set()  # process groups


def stop(group):
    """Ends a run and all that it started."""
    try:
        os.killpg(group, signal.SIGTERM)
    except ProcessLookupError:
        pass


def interrupted(*_):
    for group in RUNNING:
        stop(group)
    os._exit(2)


class Job:
    """One run of SymbiYosys: a proof, or a proof with one edit of the RTL that breaks it."""

    def __init__(self, proof, number=None):
        self.proof = proof
        self.edit = None if number is None else proof.broken[number]
        self.wanted = "proven" if number is None else "refuted"
        self.method = proof.method
        # Where a core is broken, the shortest way to show it is looked for.
        if number is not None and proof.method == "pdr":
            self.method = "bmc"
        self.depth = proof.depth
        suffix = "" if number is None else f"-broken{number}"
        self.folder = WORK / str(os.getpid()) / (proof.name.replace("/", "-") + suffix)

    def broken(self, text):
        """The text of the file, with the edit made."""
        if text.count(self.edit.old) != 1:
            raise ValueError(f"{self.edit.file} has {self.edit.old!r} {text.count(self.edit.old)} times, not once")
        return text.replace(self.edit.old, self.edit.new)

    def prepare(self):
        """Writes the folder that SymbiYosys works in."""
        shutil.rmtree(self.folder, ignore_errors=True)
        source = self.folder / "src"
        source.mkdir(parents=True)
        for name in self.proof.files:
            text = (ROOT / name).read_text()
            if self.edit and self.edit.file == name:
                text = self.broken(text)
            if name in self.proof.inside:
                body, end, rest = text.rpartition("endmodule")
                text = f"{body}  {self.proof.inside[name]}\n{end}{rest}"
            (source / Path(name).name).write_text(text)
        mode, engine = ENGINES[self.method]
        names = [Path(name).name for name in self.proof.files]
        defines = " ".join(f"-D{name}={value}" for name, value in self.proof.defines.items())
        parameters = "".join(f" -chparam {name} {value}" for name, value in self.proof.chparams.items())
        lines = ["[options]", f"mode {mode}", f"depth {self.depth}", "vcd off", "[engines]", engine, "[script]"]
        lines += [f"read_verilog -formal -defer {defines} {' '.join(names)}"]
        lines += [f"hierarchy -check -top {self.proof.top}{parameters}", "setattr -mod -unset keep_hierarchy *"]
        lines += [f"prep -flatten -top {self.proof.top}"]
        lines += ["[files]"] + [f"src/{name}" for name in names]
        (self.folder / "proof.sby").write_text("\n".join(lines) + "\n")

    def run(self):
        """The result in a word, and the seconds that it took."""
        start = time.monotonic()
        try:
            self.prepare()
        except (OSError, ValueError) as error:
            return f"not run: {error}", 0.0
        env = {**os.environ, "PATH": f"{ROOT / '.tools' / 'bin'}:{os.environ['PATH']}"}
        with open(self.folder / "log", "w") as log:
            process = subprocess.Popen(
                ["sby", "-f", "-d", "out", "proof.sby"], cwd=self.folder, env=env, stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, start_new_session=True,
            )
            RUNNING.add(process.pid)
            try:
                process.wait(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                stop(process.pid)
                process.wait()
                return f"no answer in {LIMIT} s", time.monotonic() - start
        status = self.folder / "out" / "status"
        word = status.read_text().split()[0] if status.is_file() else "ERROR"
        # A counterexample is one even if its witness cannot be turned into a trace.
        if "was asserted in frame" in (self.folder / "log").read_text():
            word = "FAIL"
        result = {"PASS": "proven", "FAIL": "refuted"}.get(word, f"{word.lower()}: see {self.folder / 'log'}")
        return result, time.monotonic() - start


def row(job, result, seconds, ok):
    proof = job.proof
    depth = "any" if job.method == "pdr" else str(job.depth)
    if job.edit:
        what = f"  broken: {job.edit.why}"
        cells = [what, "", ""]
    else:
        cells = [proof.says, proof.core, proof.shape]
    cells += [job.method, depth, result if ok else f"NOT AS EXPECTED: {result}", f"{seconds:.1f}"]
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="proofs whose name begins so")
    parser.add_argument("--quick", action="store_true", help="one broken core for each proof")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    parser.add_argument("--list", action="store_true", help="names of the proofs")
    parser.add_argument("--check", action="store_true", help="only that every edit finds its place in the RTL")
    arguments = parser.parse_args()
    proofs = [proof for proof in PROOFS if proof.name.startswith(arguments.only)]
    if arguments.list:
        print("\n".join(proof.name for proof in proofs))
        return
    if not proofs:
        sys.exit(f"error: no proof has a name that begins with {arguments.only!r}: see --list")
    if arguments.check:
        broken = [Job(proof, number) for proof in proofs for number in range(len(proof.broken))]
        for job in broken:
            if job.edit.file not in job.proof.files:
                sys.exit(f"error: {job.proof.name} does not read {job.edit.file}")
            try:
                job.broken((ROOT / job.edit.file).read_text())
            except ValueError as error:
                sys.exit(f"error: {job.proof.name}: {error}: mend the edit in sim/formal/proofs.py")
        print(f"{len(broken)} edits find their place")
        return
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGINT, interrupted)
    jobs = []
    for proof in proofs:
        broken = range(len(proof.broken))[: 1 if arguments.quick else None]
        jobs += [Job(proof)] + [Job(proof, number) for number in broken]
    print("| property | core | parameters | method | depth | result | seconds |")
    print("|---|---|---|---|---|---|---|", flush=True)

    start = time.monotonic()
    bad = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for job, (result, seconds) in zip(jobs, pool.map(Job.run, jobs)):
            ok = result == job.wanted
            bad += not ok
            print(row(job, result, seconds, ok), flush=True)
            if ok:
                shutil.rmtree(job.folder, ignore_errors=True)
    proven = sum(job.edit is None for job in jobs)
    if not bad:
        shutil.rmtree(WORK / str(os.getpid()), ignore_errors=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"\n{proven} proofs, {len(jobs) - proven} broken cores, {bad} not as expected, ", end="")
    print(f"{time.monotonic() - start:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processor time")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
