#!/usr/bin/env python3
"""Writes the package files of the cores: membrane.core (FuseSoC), Bender.yml, and in sim/fusesoc
the test benches of the .core file's simulation targets, which play vectors/<core>-tiny.

    scripts/packages.py [--membrane PROGRAM]           writes them
    scripts/packages.py [--membrane PROGRAM] --check   only says whether they are up to date
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

CORE = """CAPI=2:
# Written by scripts/packages.py.
name: membrane:ip:cores:{version}
description: Membership filters on single-port SRAM

filesets:
  rtl:
    files:
{files}
    file_type: verilogSource-2005
{filesets}
targets:
  default:
    filesets: [rtl]
{targets}"""

# Vectors lie beside the simulation, where $readmemh looks.
FILESET = """  {core}_case:
    files:
      - sim/fusesoc/{core}_fixed.v: {{file_type: verilogSource-2005}}
      - sim/fusesoc/{core}_tb.v: {{file_type: verilogSource-2005}}
{vectors}
"""

TARGET = """  sim_{core}:
    description: Plays vectors/{core}-tiny on {module}
    default_tool: icarus
    filesets: [rtl, {core}_case]
    toplevel: membrane_tb
    tools:
      icarus:
        iverilog_options: [-g2005]
"""

BENDER = """# Written by scripts/packages.py.
package:
  name: membrane

sources:
{files}
"""

# Above what is one template of src/export/ for every core.
WRITTEN = "// Written by scripts/packages.py: change the template in src/export instead.\n//\n"


def benches(membrane, case, core):
    """The wrapper with fixed parameters and the test bench of a committed case."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "case"
        sets = [f"--set={name}={value}" for name, value in case["parameters"].items()]
        numbers = ["--seed", str(int(case["seed"], 16)), "--cycles", str(case["cycles"])]
        command = [membrane, "export", core, *sets, *numbers, "--out", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return {
            f"sim/fusesoc/{core}_fixed.v": WRITTEN + (folder / "rtl" / f"{case['module']}_fixed.v").read_text(),
            f"sim/fusesoc/{core}_tb.v": WRITTEN + (folder / "tb" / "membrane_tb.v").read_text(),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--membrane", default=ROOT / "target" / "release" / "membrane")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "rtl").glob("*.v"))
    version = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
    wanted, filesets, targets = {}, "", ""
    for core in json.loads(subprocess.run([args.membrane, "list", "--json"], check=True, capture_output=True).stdout):
        core = core["name"]
        folder = ROOT / "vectors" / f"{core}-tiny"
        case = json.loads((folder / "case.json").read_text())
        wanted.update(benches(args.membrane, case, core))
        hexes = sorted(path.relative_to(ROOT).as_posix() for path in folder.glob("*.hex"))
        lines = (f"      - {file}: {{copyto: {Path(file).name}, file_type: user}}" for file in hexes)
        filesets += FILESET.format(core=core, vectors="\n".join(lines))
        targets += TARGET.format(core=core, module=case["module"])
    wanted["membrane.core"] = CORE.format(
        version=version, files="\n".join(f"      - {file}" for file in files), filesets=filesets, targets=targets
    )
    wanted["Bender.yml"] = BENDER.format(files="\n".join(f"  - {file}" for file in files))
    for name, text in wanted.items():
        path = ROOT / name
        if path.is_file() and path.read_text() == text:
            continue
        if args.check:
            sys.exit(f"error: {name} is not up to date: run scripts/packages.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(f"{name} written")


if __name__ == "__main__":
    main()
