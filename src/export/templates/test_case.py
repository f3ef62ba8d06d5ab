"""Plays the case of this folder by cocotb 2: every output pin in every cycle, memories at the end."""

import os
import re

import cocotb
from cocotb.triggers import Timer

import membrane_case

SHOWN = 10


def find(handle, path):
    """The object at a hierarchical path such as g_bank[0].bank.mem."""
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        handle = getattr(handle, name) if name else handle[int(index)]
    return handle


@cocotb.test()
async def plays_the_case(dut):
    case = membrane_case.read(os.environ["MEMBRANE_CASE"])
    differences = []

    def differ(text):
        differences.append(text)
        if len(differences) <= SHOWN:
            dut._log.error(text)

    async def edge():
        dut.clk.value = 1
        await Timer(5, "ns")
        dut.clk.value = 0

    inputs = [(getattr(dut, pin.name), pin) for pin in case.inputs]
    outputs = [(getattr(dut, pin.name), pin) for pin in case.outputs]
    dut.clk.value = 0
    for handle, pin in inputs:
        handle.value = int(pin.name == "rst")
    await Timer(5, "ns")
    await edge()

    before = None
    for cycle, (row, expected) in enumerate(zip(case.stimulus, case.expected)):
        for handle, pin in inputs:
            value = pin.get(row)
            if before is None or pin.get(before) != value:
                handle.value = value
        before = row
        await Timer(5, "ns")
        for handle, pin in outputs:
            # As text, so that an unknown bit is a difference and no exception.
            wanted = f"{pin.get(expected):0{pin.width}b}"
            if str(handle.value) != wanted:
                differ(f"cycle {cycle}: {pin.name} expected {wanted} actual {handle.value}")
        await edge()

    await Timer(5, "ns")
    for memory in case.memories:
        handle = find(dut.core, memory.path)
        for row, value in enumerate(memory.rows):
            wanted = f"{value:0{memory.width}b}"
            if str(handle[row].value) != wanted:
                differ(f"memory {memory.path} row {row}: expected {wanted} actual {handle[row].value}")
    assert not differences, f"{len(differences)} differences, the first: {differences[0]}"
