"""Builds the core and plays the case by cocotb 2: SIM=icarus or verilator, WAVES=1."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import membrane_case  # noqa: E402

try:
    from cocotb_tools.check_results import get_results
    from cocotb_tools.runner import get_runner
except ImportError:
    sys.exit("error: no cocotb 2 for this Python: pip install cocotb")


def main():
    folder = HERE.parent
    try:
        case = membrane_case.read(folder)
    except membrane_case.CaseError as error:
        sys.exit(f"FAIL: {error}")
    sim = os.environ.get("SIM") or "icarus"
    waves = bool(os.environ.get("WAVES"))
    top = f"{case.module}_fixed"
    build = folder / "build" / f"cocotb-{sim}"
    # cocotb needs the signals by name.
    args = {"icarus": ["-g2005"], "verilator": ["-Wno-fatal", "--public-flat-rw"]}.get(sim, [])
    runner = get_runner(sim)
    runner.build(
        sources=[folder / line for line in (folder / "files.f").read_text().split() if line.startswith("rtl/")],
        hdl_toplevel=top,
        build_dir=build,
        build_args=args,
        timescale=("1ns", "1ps"),
        waves=waves,
        always=True,
    )
    results = runner.test(
        hdl_toplevel=top,
        test_module="test_case",
        test_dir=build,
        build_dir=build,
        waves=waves,
        extra_env={
            "MEMBRANE_CASE": str(folder),
            "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
        },
    )
    tests, failed = get_results(results)
    if tests == 0 or failed:
        sys.exit(f"FAIL {case.module} by cocotb in {sim}")
    print(f"PASS {case.module} by cocotb in {sim}: {case.cycles} cycles")


if __name__ == "__main__":
    main()
