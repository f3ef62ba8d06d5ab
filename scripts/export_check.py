#!/usr/bin/env python3
"""Exports every core and preset, and runs every player on each folder.

Each folder is written to an empty directory of its own, so a player sees nothing else. Several
folders are played at a time; a line says what is done, and a table ends it. A folder in which a
player does not pass is kept, and the command that shows it again is printed. Exit code 1 then.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools" / "bin"
MEMBRANE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "membrane"
PLAYERS = {
    "icarus": ["sim", "SIM=icarus"],
    "verilator": ["sim", "SIM=verilator"],
    "selftest": ["selftest", "SIM=icarus"],
    "cocotb": ["cocotb", "SIM=icarus"],
    "fusesoc": ["fusesoc"],
    "synth": ["synth"],
}


def environment():
    """Tools on the PATH first, then those that setup.py installed."""
    env = {**os.environ, "PATH": os.environ["PATH"] + os.pathsep + str(TOOLS)}
    if (TOOLS / "cocotb-python").exists():
        env["PYTHON"] = str(TOOLS / "cocotb-python")
    return env


def run(command, env):
    return subprocess.run(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


class Check:
    """One run over all cases, which have their cycles: `play` is called from several threads."""

    def __init__(self, args, players, cases):
        self.args = args
        self.players = players
        self.cases = cases
        self.env = environment()
        self.lock = threading.Lock()
        self.done = 0
        self.start = time.monotonic()

    def say(self, core, preset, player, verdict, seconds, detail=""):
        with self.lock:
            self.done += 1
            total = len(self.cases) * len(self.players)
            elapsed = time.monotonic() - self.start
            print(
                f"[{self.done:3}/{total} {elapsed:5.0f} s] {core} {preset} {player}: {verdict} in {seconds:.1f} s{detail}",
                flush=True,
            )

    def play(self, case):
        """Runs all players on one case: seconds by player, negative where it did not pass."""
        core, preset = case
        cycles = self.args.cycles or self.cases[case]
        scratch = Path(tempfile.mkdtemp(prefix=f"export-{core}-{preset}-"))
        folder = scratch / "case"
        export = [self.args.membrane, "export", core, "--preset", preset, "--cycles", str(cycles), "--out", folder]
        exported = run(export, self.env)
        seconds = {}
        for player in self.players:
            start = time.monotonic()
            # One after another: they share the folder build/.
            command = ["make", "--no-print-directory", "-C", str(folder), *PLAYERS[player]]
            result = exported if exported.returncode else run(command, self.env)
            # A simulator must say it, too.
            passed = result.returncode == 0 and (player == "synth" or "\nPASS " in "\n" + result.stdout)
            took = time.monotonic() - start
            seconds[player] = took if passed else -1
            detail = ""
            if not passed:
                tail = "\n    ".join(result.stdout.splitlines()[-25:])
                detail = f"\n    {tail}\n  again: {' '.join(command)}"
            self.say(core, preset, player, "pass" if passed else "FAIL", took, detail)
        if min(seconds.values()) >= 0:
            shutil.rmtree(scratch)
        return seconds


def table(players, rows):
    """Seconds by case and player."""
    width = max(len(f"{core} {preset}") for core, preset in rows)
    print(" " * width, *(f"{player:>{max(7, len(player))}}" for player in players))
    for (core, preset), seconds in rows.items():
        cells = ("FAIL" if seconds[player] < 0 else f"{seconds[player]:.1f} s" for player in players)
        cells = (f"{cell:>{max(7, len(player))}}" for cell, player in zip(cells, players))
        print(f"{f'{core} {preset}':{width}}", *cells)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cycles", type=int, help="(default: two sweeps over the rows, and 4000)")
    parser.add_argument("--only", default="", metavar="CORE[/PRESET]")
    parser.add_argument("--players", default=",".join(PLAYERS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--membrane", default=MEMBRANE, help="the program (default: that of the release build)")
    args = parser.parse_args()
    players = args.players.split(",")
    unknown = [player for player in players if player not in PLAYERS]
    if unknown:
        parser.error(f"no player {unknown[0]}: there is {', '.join(PLAYERS)}")

    cores = json.loads(subprocess.run([args.membrane, "list", "--json"], check=True, capture_output=True).stdout)
    cases = {}
    for core in cores:
        for preset in core["presets"]:
            if args.only in ("", core["name"], f"{core['name']}/{preset['name']}"):
                rows = preset["parameters"].get("ROWS") or preset["parameters"]["BLOCKS"]
                cases[core["name"], preset["name"]] = 2 * rows + 4000
    if not cases:
        sys.exit(f"error: nothing is called {args.only}")
    check = Check(args, players, cases)
    # The last cores are the largest: begun first, they are not waited for at the end.
    with ThreadPoolExecutor(args.jobs) as pool:
        results = dict(zip(reversed(cases), pool.map(check.play, reversed(cases))))
    table(players, {case: results[case] for case in cases})
    failures = sum(seconds < 0 for row in results.values() for seconds in row.values())
    minutes = (time.monotonic() - check.start) / 60
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{len(cases)} exports, {len(players)} players, {failures} failures, {minutes:.1f} minutes "
        f"({(used.ru_utime + used.ru_stime) / 60:.1f} of processor time)"
    )
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
