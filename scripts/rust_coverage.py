#!/usr/bin/env python3
"""Which lines of the Rust the tests reach.

    scripts/rust_coverage.py                 builds with counters, and runs the tests (make coverage-rust)
    scripts/rust_coverage.py --from FILE     the same table from the JSON of such a run
    scripts/rust_coverage.py --waivers FILE  with other waivers

A table by part of src/, and the lines that no test reaches. scripts/rust_coverage.txt names lines that cannot
be reached, each with its reason; one that is reached, or is not there, or fits a second missed line, is an error. Exit code 1: a line of the
models (all that computes bits, answers and pins) is neither reached nor named there, or a test failed.
"""

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WAIVERS = ROOT / "scripts" / "rust_coverage.txt"
FOLDER = ROOT / "target" / "coverage-rust"
# Parts of src/ around the models: a table and a list of what is left. All else, and so a new filter, computes bits,
# answers and pins, and every line is to be reached.
OTHERS = {
    "analysis", "cli", "cosim", "curves", "emulate", "export", "image", "keys", "main", "params", "plot", "registry",
    "report", "repro", "size", "stimulus", "vectors", "whole",
}
# They look at the Verilog alone; the last one kills programs, which then leave no counts behind.
WITHOUT = {"elaboration", "lint", "formal", "faults"}


def run():
    """Runs the tests with counters; returns the file with what they counted."""
    tests = sorted(path.stem for path in (ROOT / "tests").glob("*.rs") if path.stem not in WITHOUT)
    tests += [path.parent.name for path in (ROOT / "tests").glob("*/main.rs")]
    command = [ROOT / ".tools" / "tarpaulin" / "bin" / "cargo-tarpaulin", "tarpaulin"]
    command += ["--engine", "llvm", "--skip-clean", "--no-fail-fast", "--timeout", "3600"]
    # Tests that start the program count what it does.
    command += ["--follow-exec", "--target-dir", FOLDER, "--output-dir", FOLDER, "--out", "Json"]
    command += ["--lib", "--bins", *(word for test in tests for word in ("--test", test))]
    (FOLDER / "tarpaulin-report.json").unlink(missing_ok=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    log = FOLDER / "tests.log"
    with log.open("w") as file:
        code = subprocess.run([str(word) for word in command], cwd=ROOT, stdout=file, stderr=file).returncode
    report = FOLDER / "tarpaulin-report.json"
    if code != 0 or not report.is_file():
        sys.exit(f"error: a test failed, or could not be built: see {log.relative_to(ROOT)}")
    return report


def lines_of(report):
    """By file of src/: its lines, and how often each was reached."""
    files = {}
    for file in json.loads(report.read_text())["files"]:
        path = Path(*file["path"])
        if not path.is_relative_to(ROOT / "src"):
            continue
        counts = {trace["line"]: trace["stats"]["Line"] for trace in file["traces"]}
        if counts:
            files.setdefault(path.relative_to(ROOT / "src"), {}).update(counts)
    return files


def part_of(path):
    return path.parts[0].removesuffix(".rs")


class Waivers:
    """Lines of `file | text in the line | reason`; of a `const fn` all lines, which run when it is compiled."""

    def __init__(self, path):
        self.name = path.name
        self.lines = []
        # By number: the missed lines that it fits, of a constant function once.
        self.used = defaultdict(set)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.strip() and not line.startswith("#"):
                words = [word.strip() for word in line.split(" | ")]
                if len(words) != 3 or not all(words):
                    sys.exit(f"error: {path.name}:{number}: write `file | text in the line | reason`")
                self.lines.append((number, *words))

    def excuse(self, path, source, line):
        found = False
        for number, file, words, _ in self.lines:
            if file == str(path) and (words in source[line - 1] or self.within(words, source, line)):
                self.used[number].add("const fn" if words.startswith("const fn ") else line)
                found = True
        return found

    @staticmethod
    def within(words, source, line):
        """Whether a line is in the constant function with these words in its first line."""
        if not words.startswith("const fn "):
            return False
        first = next((i for i, text in enumerate(source) if words in text), None)
        if first is None:
            return False
        indent = source[first][: len(source[first]) - len(source[first].lstrip())]
        return first < line - 1 <= source.index(indent + "}", first)

    def problems(self):
        """What is wrong with them, now that all missed lines are known."""
        for number, file, words, _ in self.lines:
            lines = sorted(self.used[number])
            if not lines:
                yield f"{self.name}:{number}: no missed line of {file} has `{words}`"
            elif len(lines) > 1:
                yield f"{self.name}:{number}: `{words}` is in more than one missed line of {file}: {lines}"


def main():
    parser = argparse.ArgumentParser(description="Which lines of the Rust the tests reach.")
    parser.add_argument("--from", dest="report", type=Path, help="the JSON of such a run")
    parser.add_argument("--waivers", type=Path, default=WAIVERS, help="lines that cannot be reached")
    arguments = parser.parse_args()
    waivers = Waivers(arguments.waivers)
    report = arguments.report or run()
    parts = defaultdict(lambda: [0, 0, 0])
    missed = []
    for path, counts in sorted(lines_of(report).items()):
        source = (ROOT / "src" / path).read_text().splitlines()
        for line, count in sorted(counts.items()):
            part = parts[part_of(path)]
            if count > 0:
                part[0] += 1
            elif waivers.excuse(path, source, line):
                part[2] += 1
            else:
                part[1] += 1
                missed.append((path, line, source[line - 1].strip()))
    if not parts:
        sys.exit(f"error: {report} counts no line of src/")
    for path, line, text in missed:
        print(f"{'left' if part_of(path) in OTHERS else 'missed'}  src/{path}:{line}: {text}")
    print(f"\n{'part of src/':16} {'lines':>6} {'reached':>8} {'waived':>7} {'share':>7}")
    rows = [("models", parts.keys() - OTHERS), ("others", parts.keys() & OTHERS)]
    rows += [(name, {name}) for name in sorted(parts)]
    for name, names in rows:
        reached, left, waived = (sum(parts[part][i] for part in names) for i in range(3))
        share = reached / (reached + left) if reached + left else 1
        print(f"{name:16} {reached + left + waived:>6} {reached:>8} {waived:>7} {share:>7.1%}")
    problems = list(waivers.problems())
    bad = sum(part_of(path) not in OTHERS for path, _, _ in missed)
    if bad:
        problems.append(f"{bad} lines of the models are reached by no test: write one, or say why not in {WAIVERS.name}")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
