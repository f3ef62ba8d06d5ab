#!/usr/bin/env python3
"""Area of the cores on an ECP5, as a table: what the pages in docs state.

    scripts/area_table.py [CORE | CORE/PRESET | cam] [--json FILE]

Without a name: the overflow list of 32 x 32 bits, and the presets of MEASURED. With one: that
core's presets of MEASURED, or any one preset. Parameters are those of `membrane list --json`. Each row is
printed as it is done; a 64-byte TinySet may take half an hour. --json writes the counts to a file
that `membrane report --area` reads.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEMBRANE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "membrane"
CAM = ("cam", "32x32", "membrane_cam", {"DEPTH": 32, "KEY_W": 32})
# Presets on block RAM of a size that people build. Those with write masks are for SRAM
# macros: an ECP5 has no block RAM with a mask per bit.
MEASURED = {
    "partitioned": ["k7"],
    "blocked": ["block256", "block512"],
    "balanced": ["single-256", "sequential-256", "multilevel-256"],
    "tinyset": ["32b", "32b-removals", "64b", "64b-1pct", "64b-removals"],
}
CELLS = ["LUT4", "CCU2C", "TRELLIS_FF", "DP16KD"]
ROW = "{:12} {:16} {:>8} {:>8} {:>11} {:>8} {:>9}"


def all_presets():
    cores = json.loads(subprocess.run([MEMBRANE, "list", "--json"], check=True, capture_output=True).stdout)
    return [
        (core["name"], preset["name"], core["module"], preset["parameters"])
        for core in cores
        for preset in core["presets"]
    ]


def wanted(only):
    rows = [CAM, *all_presets()]
    measured = [row for row in rows if row == CAM or row[1] in MEASURED.get(row[0], [])]
    if not only:
        return measured
    return [row for row in measured if row[0] == only] or [row for row in rows if f"{row[0]}/{row[1]}" == only]


def area(module, params):
    """Counts of cells by name."""
    sets = [f"{name}={value}" for name, value in params.items()]
    run = subprocess.run([ROOT / "scripts" / "area.sh", module, *sets], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr.strip())
    return {name: int(count) for name, count in re.findall(r"(\w+) (\d+)[,;]", run.stdout)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("only", nargs="?", default="")
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    rows = wanted(args.only)
    if not rows:
        parser.error(f"there is no {args.only}: see `membrane list`")
    print(ROW.format("core", "preset", "LUT4", "CCU2C", "flip-flops", "DP16KD", "seconds"))
    done = []
    for core, preset, module, params in rows:
        start = time.monotonic()
        if sys.stderr.isatty():
            print(f"{core} {preset} ...", end="\r", file=sys.stderr, flush=True)
        cells = area(module, params)
        counts = [f"{cells[name]:,}" for name in CELLS]
        print(ROW.format(core, preset, *counts, round(time.monotonic() - start)), flush=True)
        done.append({"core": core, "preset": preset, **{name: cells[name] for name in CELLS}})
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        fresh = args.json.with_name(args.json.name + ".new")
        fresh.write_text(json.dumps({"target": "ECP5", "rows": done}, indent=2) + "\n")
        fresh.replace(args.json)


if __name__ == "__main__":
    main()
