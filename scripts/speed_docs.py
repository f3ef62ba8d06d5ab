#!/usr/bin/env python3
"""Puts what `make bench` measured last into docs/speed.md and docs/speed.svg.

    scripts/speed_docs.py

Reads target/bench/filters.json, filters.svg and cosim.json, and writes the tables between lines
`<!-- NAME: measured -->` and `<!-- end -->` anew. All other text is left as it is.
"""

import json
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "target" / "bench"
PAGE = ROOT / "docs" / "speed.md"
CHART = ROOT / "docs" / "speed.svg"
KINDS = ["insert_ns", "miss_ns", "hit_ns"]


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value):
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


class Filters:
    """What filters.json says, by name and number of keys."""

    def __init__(self, run):
        rows = run["measured"]
        self.limit, self.in_turn = run["limit"], run["limit_in_turn"]
        # Everything that is compared with a peer is compared with the limit too, but not keys one by one.
        batched = dict.fromkeys(ours for ours, _ in run["compared"] if ours.endswith(", batched"))
        self.compared = run["compared"] + [[ours, self.limit] for ours in batched]
        self.rows = {(row["name"], row["keys"]): row for row in rows}
        self.names = list(dict.fromkeys(row["name"] for row in rows))
        self.sizes = sorted({row["keys"] for row in rows})

    def is_whole(self):
        needed = {self.in_turn, *(name for pair in self.compared for name in pair)}
        return len(self.sizes) > 1 and needed <= set(self.names)

    def times(self):
        sizes = [f"{size:.0e}".replace("e+0", "e") for size in self.sizes]
        head = ["filter", f"bits per key ({sizes[1]})", "false positives"]
        head += [f"{size}: insert / miss / hit" for size in sizes]
        return table(head, [self.line(name) for name in self.names])

    def line(self, name):
        row = self.rows[name, self.sizes[1]]
        # A limit has none.
        rate = f"{row['false_positives']:.2e}" if name != self.limit and row["false_positives"] else ""
        times = [" / ".join(number(self.rows[name, size][kind]) for kind in KINDS) for size in self.sizes]
        return [name, f"{row['bits_per_key']:.1f}", rate, *times]

    def shares(self):
        head = ["our time", "as a share of", "insert", "absent keys", "present keys"]

        def share(ours, peer, kind):
            times = [(self.rows[ours, size][kind], self.rows[peer, size][kind]) for size in self.sizes]
            return ", ".join(f"{own / other:.2f}" for own, other in times)

        return table(head, [[ours, peer, *[share(ours, peer, kind) for kind in KINDS]] for ours, peer in self.compared])

    def growth(self):
        def of(name):
            fewest, most = (self.rows[name, self.sizes[i]]["miss_ns"] for i in (0, -1))
            return most / fewest

        limits = of(self.limit), of(self.in_turn)
        rows = [[name, f"{of(name):.1f}", *[f"{of(name) / limit:.2f}" for limit in limits]] for name in self.names]
        return table(["filter", "growth", "beside the limit's", "beside a read's in turn"], rows)


def cosim(rows):
    head = ["core and preset", "clocked model", "Verilated", "model / core"]
    head += ["Verilated, stimulus", "co-simulation", "co-simulation / core"]

    def line(row):
        model, core, alone, both = (row[key] for key in ("clocked_model", "verilated", "verilated_on_stimulus", "cosim"))
        rates = [f"{rate / 1e6:.1f}" for rate in (model, core, alone, both)]
        return [row["name"], *rates[:2], f"{model / core:.1f}", *rates[2:], f"{both / alone:.2f}"]

    return table(head, [line(row) for row in rows])


def load(name, read=json.loads):
    try:
        return read((BENCH / name).read_text())
    except (OSError, ValueError) as error:
        sys.exit(f"error: target/bench/{name}: {error}: run `make bench`")


def write(path, text):
    draft = path.with_name(path.name + ".tmp")
    draft.write_text(text)
    os.replace(draft, path)


def replaced(text, name, content):
    block = re.compile(rf"(<!-- {name}: measured -->\n).*?(<!-- end -->)", re.DOTALL)
    text, count = block.subn(lambda found: f"{found[1]}\n{content}\n\n{found[2]}", text)
    if count != 1:
        sys.exit(f"error: docs/speed.md has {count} places `<!-- {name}: measured -->`, not one")
    return text


def main():
    filters = Filters(load("filters.json"))
    if not filters.is_whole():
        sys.exit("error: target/bench/filters.json is not of a whole run: run `make bench` without KEYS")
    text = PAGE.read_text()
    text = replaced(text, "times", filters.times())
    text = replaced(text, "shares", filters.shares())
    text = replaced(text, "growth", filters.growth())
    text = replaced(text, "clocked", cosim(load("cosim.json")))
    chart = load("filters.svg", str)
    write(PAGE, text)
    write(CHART, chart)


if __name__ == "__main__":
    main()
