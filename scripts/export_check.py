#!/usr/bin/env python3
"""Exports every core and preset, and runs every player on each folder.

    scripts/export_check.py [--cycles N] [--only CORE[/PRESET]] [--players a,b,c]

Each folder is written to an empty directory of its own, so a player sees nothing else.
Exit code 1 if any player does not pass.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools" / "bin"
MEMBRANE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "membrane"
PLAYERS = {
    "icarus": ["sim", "SIM=icarus"],
    "verilator": ["sim", "SIM=verilator"],
    "selftest": ["selftest", "SIM=icarus"],
    "selftest-verilator": ["selftest", "SIM=verilator"],
    "cocotb": ["cocotb", "SIM=icarus"],
    "fusesoc": ["fusesoc"],
    "synth": ["synth"],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cycles", type=int, default=20000)
    parser.add_argument("--only", default="")
    parser.add_argument("--players", default=",".join(PLAYERS))
    args = parser.parse_args()
    players = args.players.split(",")
    unknown = [player for player in players if player not in PLAYERS]
    if unknown:
        parser.error(f"no player {unknown[0]}: there is {', '.join(PLAYERS)}")

    # Tools on the PATH first, then those that setup.py installed.
    env = {**os.environ, "PATH": os.environ["PATH"] + os.pathsep + str(TOOLS)}
    if (TOOLS / "cocotb-python").exists():
        env["PYTHON"] = str(TOOLS / "cocotb-python")
    cores = json.loads(subprocess.run([MEMBRANE, "list", "--json"], check=True, capture_output=True).stdout)
    cases = [(core["name"], preset["name"]) for core in cores for preset in core["presets"]]
    cases = [(core, preset) for core, preset in cases if not args.only or args.only in (core, f"{core}/{preset}")]
    if not cases:
        sys.exit(f"error: nothing is called {args.only}")
    failures = 0
    for core, preset in cases:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "case"
            export = [MEMBRANE, "export", core, "--preset", preset, "--cycles", str(args.cycles), "--out", folder]
            subprocess.run(export, check=True, stdout=subprocess.DEVNULL)
            for player in players:
                start = time.time()
                run = subprocess.run(
                    ["make", "-C", folder, "--no-print-directory", *PLAYERS[player]],
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
                # A simulator must say it, too.
                passed = run.returncode == 0 and (player == "synth" or "\nPASS " in "\n" + run.stdout)
                verdict = "pass" if passed else "FAIL"
                print(f"{core:14}{preset:20}{player:20}{verdict}  {time.time() - start:6.1f} s", flush=True)
                if not passed:
                    failures += 1
                    print("\n".join(run.stdout.splitlines()[-25:]), flush=True)
    print(f"{len(cases)} exports, {len(players)} players, {failures} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
