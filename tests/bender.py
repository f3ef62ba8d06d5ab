"""Checks a Bender.yml as far as that goes without Bender: the fields that its manual lists, files
that are there, target expressions that parse. Prints the files for the targets given, in order.

    bender.py Bender.yml [TARGET ...]
"""

import re
import sys
from pathlib import Path

import yaml

MANIFEST = {"package", "dependencies", "sources", "export_include_dirs", "plugins", "frozen", "workspace"}
PACKAGE = {"name", "authors", "description"}
GROUP = {"target", "files", "include_dirs", "defines"}


def only(found, known, where):
    unknown = set(found) - known
    assert not unknown, f"{where}: unknown field {', '.join(sorted(unknown))}"


def holds(expression, targets):
    """Evaluates `name`, `not(x)`, `all(x, ...)` and `any(x, ...)`."""
    tokens = re.findall(r"[A-Za-z0-9_-]+|[(),]", expression)
    assert "".join(tokens) == expression.replace(" ", ""), f"target {expression}: unknown sign"

    def term():
        name = tokens.pop(0)
        assert name not in "(),", f"target {expression}: {name} where a name should be"
        if not tokens or tokens[0] != "(":
            return name in targets
        values = []
        while tokens.pop(0) != ")":
            values.append(term())
            assert tokens and tokens[0] in ",)", f"target {expression}: no end"
        assert name in ("all", "any") or (name == "not" and len(values) == 1), f"target {expression}: {name}"
        return {"all": all, "any": any, "not": lambda v: not v[0]}[name](values)

    value = term()
    assert not tokens, f"target {expression}: {tokens[0]} after the end"
    return value


def sources(entries, folder, targets):
    for entry in entries:
        if isinstance(entry, str):
            assert (folder / entry).is_file(), f"{entry} is not there"
            yield entry
        else:
            only(entry, GROUP, "sources")
            group = list(sources(entry["files"], folder, targets))
            if holds(entry.get("target", "all()"), targets):
                yield from group


def main():
    path = Path(sys.argv[1])
    manifest = yaml.safe_load(path.read_text())
    only(manifest, MANIFEST, "manifest")
    only(manifest["package"], PACKAGE, "package")
    assert re.fullmatch(r"[a-z][a-z0-9_-]*", manifest["package"]["name"]), "package name"
    print("\n".join(sources(manifest["sources"], path.parent, set(sys.argv[2:]))))


if __name__ == "__main__":
    main()
