"""Reader of Membrane's golden vectors, format version 1. Python 3.8 or newer, no packages.

    case = read("path/to/folder")          # or to a case.json that holds its lines
    case.cycles, case.inputs, case.outputs
    for row in case.stimulus:              # one int per cycle
        for pin in case.inputs:
            value = pin.get(row)

A row holds all input pins, or all output pins, of one cycle: a pin takes bits `lsb` to
`lsb + width - 1`. To play a case: one rising edge of `clk` with `rst` high and all other
inputs low; then for each row apply the inputs, let everything settle, compare all outputs,
and let `clk` rise; after the last row compare the memories.

Files that are cut, edited, of another width or of a newer version are refused by CaseError,
which names the file, the line and the reason. As a program it checks the cases it is given:

    python3 membrane_case.py FOLDER ...
"""

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple

FORMAT = "membrane-case"
VERSION = 1
MAX_WIDTH = 1 << 20


class CaseError(Exception):
    """A case that cannot be read: the message names file, line and reason."""


class Pin(NamedTuple):
    """A pin and its place in the packed row of its direction."""

    name: str
    direction: str
    width: int
    lsb: int

    def get(self, row: int) -> int:
        """The value of this pin in a row."""
        return (row >> self.lsb) & ((1 << self.width) - 1)


class Memory(NamedTuple):
    """A memory at the end: where the RTL has it below the top module, and its rows."""

    path: str
    width: int
    rows: List[int]


class Case(NamedTuple):
    """A recorded run of a core."""

    core: str
    module: str
    parameters: Dict[str, int]
    seed: int
    cycles: int
    inputs: List[Pin]
    outputs: List[Pin]
    stimulus: List[int]
    expected: List[int]
    memories: List[Memory]


def read(path) -> Case:
    """Reads a case from its folder or from its case.json."""
    path = Path(path)
    return _Reader(path / "case.json" if path.is_dir() else path).case()


class _Reader:
    def __init__(self, file: Path):
        self.file = file

    def text(self, path: Path) -> str:
        try:
            return path.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CaseError(f"{path}: {error}") from None

    def refuse(self, field: str, reason: str):
        raise CaseError(f"{self.file}: field {field}: {reason}")

    def fields(self, value, where: str, kinds: dict):
        """Checks that an object has exactly these fields, each of its kind."""
        if not isinstance(value, dict):
            self.refuse(where or "(all)", "is not an object")
        for name in kinds.keys() - value.keys():
            self.refuse(where + name, "is missing")
        for name in value.keys() - kinds.keys():
            self.refuse(where + name, "is not known")
        for name, kind in kinds.items():
            # In Python a bool is an int.
            if not isinstance(value[name], kind) or isinstance(value[name], bool):
                self.refuse(where + name, f"is not of type {kind.__name__}")

    def case(self) -> Case:
        try:
            data = json.loads(self.text(self.file))
        except json.JSONDecodeError as error:
            raise CaseError(f"{self.file}:{error.lineno}: not a case description: {error.msg}") from None
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            self.refuse("format", f'is not "{FORMAT}"')
        # First of all, whatever else a newer version changed.
        version = data.get("version")
        if isinstance(version, int) and version > VERSION:
            raise CaseError(f"{self.file}: format version {version}, this reader knows up to {VERSION}")
        if version != VERSION or isinstance(version, bool):
            self.refuse("version", f"must be 1 to {VERSION}")
        kinds = dict(format=str, version=int, core=str, module=str, parameters=dict, seed=str)
        kinds.update(cycles=int, pins=list, stimulus=dict, expected=dict, memories=list)
        self.fields(data, "", kinds)
        if not re.fullmatch(r"0x[0-9a-f]{1,16}", data["seed"]):
            self.refuse("seed", 'is not "0x" and hexadecimal digits')
        if data["cycles"] < 0:
            self.refuse("cycles", "is negative")
        inputs, outputs = self.pins(data["pins"])
        bits = [pins[-1].lsb + pins[-1].width for pins in (inputs, outputs)]
        stimulus = self.rows("stimulus", data["stimulus"], bits[0], data["cycles"])
        expected = self.rows("expected", data["expected"], bits[1], data["cycles"])
        memories = [self.memory(entry) for entry in data["memories"]]
        parameters = {name: self.number(name, value) for name, value in data["parameters"].items()}
        return Case(
            data["core"],
            data["module"],
            parameters,
            int(data["seed"], 16),
            data["cycles"],
            inputs,
            outputs,
            stimulus,
            expected,
            memories,
        )

    def number(self, name: str, value) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        if isinstance(value, str) and re.fullmatch(r"0x[0-9a-f]{1,16}", value):
            return int(value, 16)
        return self.refuse(f"parameters.{name}", 'is neither a number nor "0x..."')

    def pins(self, entries):
        """The pins: inputs first, then outputs, each packed without gaps."""
        pins = {"input": [], "output": []}
        for entry in entries:
            self.fields(entry, "pins.", dict(name=str, direction=str, width=int, lsb=int))
            pin = Pin(**entry)
            where = f"pins ({pin.name})"
            if pin.direction not in pins:
                self.refuse(where, "direction must be input or output")
            if pin.direction == "input" and pins["output"]:
                self.refuse(where, "inputs come before outputs")
            if not 1 <= pin.width <= MAX_WIDTH:
                self.refuse(where, f"width must be 1 to {MAX_WIDTH}")
            row = pins[pin.direction]
            lsb = row[-1].lsb + row[-1].width if row else 0
            if pin.lsb != lsb:
                self.refuse(where, f"lsb is {pin.lsb}, {lsb} expected: pins are packed without gaps")
            row.append(pin)
        if not pins["input"] or not pins["output"]:
            self.refuse("pins", "there must be inputs and outputs")
        return pins["input"], pins["output"]

    def memory(self, entry) -> Memory:
        self.fields(entry, "memories.", dict(path=str, rows=int, width=int, content=dict))
        where = f"memories ({entry['path']})"
        if entry["rows"] < 1 or not 1 <= entry["width"] <= MAX_WIDTH:
            self.refuse(where, f"rows must be at least 1, width 1 to {MAX_WIDTH}")
        rows = self.rows(where, entry["content"], entry["width"], entry["rows"])
        return Memory(entry["path"], entry["width"], rows)

    def rows(self, where: str, source: dict, bits: int, count: int) -> List[int]:
        """The rows of a hex file beside the description, or of lines inside it."""
        if "lines" in source:
            self.fields(source, f"{where}.", dict(lines=list))
            return self.parse(self.file, source["lines"], bits, count)
        self.fields(source, f"{where}.", dict(file=str, sha256=str))
        name = source["file"]
        if name.startswith(".") or Path(name).name != name:
            self.refuse(where, f'"{name}" is not a plain file name')
        path = self.file.with_name(name)
        text = self.text(path)
        rows = self.parse(path, text.splitlines(), bits, count)
        found = hashlib.sha256(text.encode()).hexdigest()
        if found != source["sha256"]:
            raise CaseError(
                f"{path}: SHA-256 is {found}, {self.file.name} says {source['sha256']}: the file was edited"
            )
        return rows

    def parse(self, path: Path, lines, bits: int, count: int) -> List[int]:
        digits = (bits + 3) // 4
        rows = []
        for number, line in enumerate(lines, 1):
            where = f"{path}:{number}: the line"
            if not isinstance(line, str) or len(line) != digits:
                length = len(line) if isinstance(line, str) else "no"
                raise CaseError(f"{where} has {length} characters, {digits} hexadecimal digits expected ({bits} bits)")
            if not re.fullmatch(r"[0-9a-fA-F]+", line):
                raise CaseError(f"{where} {line!r} has a character that is no hexadecimal digit")
            row = int(line, 16)
            if row >> bits:
                raise CaseError(f"{where} sets a bit above the {bits} bits of a row")
            rows.append(row)
        if len(rows) != count:
            raise CaseError(f"{path}: {len(rows)} lines, {count} expected: the file was cut or edited")
        return rows


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: membrane_case.py FOLDER ...")
    for path in sys.argv[1:]:
        try:
            case = read(path)
        except CaseError as error:
            sys.exit(f"error: {error}")
        print(f"{path}: {case.cycles} cycles of {case.module}, {len(case.memories)} memories")


if __name__ == "__main__":
    main()
