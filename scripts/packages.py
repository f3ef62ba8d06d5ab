#!/usr/bin/env python3
"""Writes the package files of the cores, membrane.core (FuseSoC) and Bender.yml, from rtl/.

    scripts/packages.py           writes them
    scripts/packages.py --check   only says whether they are up to date
"""

import re
import sys
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

targets:
  default:
    filesets: [rtl]
"""

BENDER = """# Written by scripts/packages.py.
package:
  name: membrane

sources:
{files}
"""


def main():
    files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "rtl").glob("*.v"))
    version = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
    wanted = {
        "membrane.core": CORE.format(version=version, files="\n".join(f"      - {file}" for file in files)),
        "Bender.yml": BENDER.format(files="\n".join(f"  - {file}" for file in files)),
    }
    for name, text in wanted.items():
        path = ROOT / name
        if path.is_file() and path.read_text() == text:
            continue
        if "--check" in sys.argv:
            sys.exit(f"error: {name} does not list what is in rtl/: run scripts/packages.py")
        path.write_text(text)
        print(f"{name} written")


if __name__ == "__main__":
    main()
