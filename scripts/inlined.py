#!/usr/bin/env python3
"""Holds that no instruction of a processor's level became a call.

    scripts/inlined.py PROGRAM

What is not inlined into code that is built for a level is not built for it: there a compiler calls a
function for every instruction, which takes many times as long, and no test sees it.
"""

import re
import subprocess
import sys

# Asked once, when the program finds out what the processor has.
ONCE = {"_xgetbv"}


def main():
    if len(sys.argv) != 2:
        sys.exit(f"error: a program to look at, please: {sys.argv[0]} target/release/membrane")
    program = sys.argv[1]
    try:
        symbols = subprocess.run(["nm", "-C", program], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: nm {program}: {error}: nm comes with g++")
    if "membrane" not in symbols:
        sys.exit(f"error: {program} has no symbols: build it with them")
    called = sorted(set(re.findall(r"core_arch::\S*::(\w+)", symbols)) - ONCE)
    if called:
        sys.exit(
            f"error: {program}: {', '.join(called)}: instructions that are called as functions. Something between "
            "`Work::run` or `Question::ask` and them is not inlined: mark it #[inline(always)], and use no closure"
        )


if __name__ == "__main__":
    main()
