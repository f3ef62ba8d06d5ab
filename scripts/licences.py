#!/usr/bin/env python3
"""Checks that every crate of Cargo.lock has an accepted licence and comes from crates.io.

    scripts/licences.py                        with the list in scripts/licences.txt
    scripts/licences.py accepted.txt           with another

Exit code 1: a crate has another licence, or comes from elsewhere; it is named.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"


def accepts(expression, accepted):
    """Whether an SPDX expression can be met: OR (in old crates a slash), AND, and brackets."""
    words = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))
    names = {"(": "(", ")": ")", "OR": "or", "AND": "and"}
    parts = []
    skip = False
    for word in words:
        if skip:  # an exception (WITH ...) only permits more
            skip = False
        elif word == "WITH":
            skip = True
        else:
            parts.append(names.get(word) or str(word in accepted))
    return eval(" ".join(parts), {"__builtins__": {}})  # nothing but brackets, or, and, True, False


def main():
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "scripts" / "licences.txt"
    accepted = {line.split()[0] for line in path.read_text().splitlines() if line.strip() and line[0] != "#"}
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--quiet"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"error: cargo metadata: {run.stderr.strip()}")
    packages = json.loads(run.stdout)["packages"]
    faults = []
    for package in packages:
        name = f"{package['name']} {package['version']}"
        if package["source"] not in (None, REGISTRY):
            faults.append(f"{name} comes from {package['source']}, not from crates.io")
        licence = package["license"]
        if not licence or not accepts(licence, accepted):
            faults.append(f"{name} has licence {licence!r}: accept it in {path.name}, or do without the crate")
    if faults:
        sys.exit("\n".join(faults))
    print(f"{len(packages)} crates, {len(accepted)} accepted licences")


if __name__ == "__main__":
    main()
