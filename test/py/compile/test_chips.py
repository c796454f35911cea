"""What chips have: shared memory, names, and that each has its tests."""

import subprocess
import sys
from pathlib import Path

import pytest

from tma_mlir.chips import CHIPS, native_name
from tma_mlir.compile.compiler import CompileError, compile_text
from tma_mlir.sim.errors import SimulationError
from tma_mlir.sim.simulate import load_program

TOP = Path(__file__).resolve().parents[3]
SHARED_KIB = {"sm_90a": 227, "sm_100a": 227, "sm_103": 227, "sm_110f": 227, "sm_120": 99, "sm_120a": 99, "sm_121f": 99}
"""CUDA programming guide, "Technical Specifications per Compute Capability"."""


def kernel(dynamic: int, static: int = 0, other: int = 0) -> str:
    """A kernel with that much shared memory in bytes, and another in the same module with static memory only."""
    space = "#gpu.address_space<workgroup>"

    def attribution(size: int) -> str:
        return f"workgroup(%s: memref<{size}xi8, {space}>)" if size else ""

    return f"""gpu.module @m {{
  gpu.func @k(%o: memref<1xi8>) {attribution(static)} kernel
      attributes {{tile.dynamic_shared_bytes = {dynamic} : i64}} {{
    %c0 = arith.constant 0 : index
    %memory = gpu.dynamic_shared_memory : memref<?xi8, {space}>
    %tile = memref.view %memory[%c0][] : memref<?xi8, {space}> to memref<16xi8, {space}>
    %x = memref.load %tile[%c0] : memref<16xi8, {space}>
    memref.store %x, %o[%c0] : memref<1xi8>
    gpu.return
  }}
  gpu.func @other(%o: memref<1xi8>) {attribution(other)} kernel {{
    gpu.return
  }}
}}"""


def test_every_chip_has_a_lit_test():
    assert {path.stem for path in (TOP / "test" / "lit" / "chips").glob("*.test")} == set(CHIPS)


def test_the_table_agrees_with_the_assembler():
    command = [sys.executable, str(TOP / "tools" / "check_chips.py")]
    result = subprocess.run(command, capture_output=True, text=True, cwd=TOP)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout == "agree 436 of 436\n"


@pytest.mark.parametrize(("chip", "kib"), SHARED_KIB.items())
def test_shared_memory_up_to_the_chips_limit(chip, kib):
    compile_text(kernel(kib * 1024), chip, assemble_cubin=False)
    with pytest.raises(CompileError, match=rf"^-:2:3: error: kernel needs {kib * 1024 + 16} .* on {chip} has at most"):
        compile_text(kernel(kib * 1024 + 16), chip)


@pytest.mark.parametrize(
    ("static", "other", "rounded"),
    [(16, 0, 1024), (1024, 0, 1024), (1040, 0, 2048), (0, 16, 1024), (1024, 1024, 2048)],
)
def test_static_memory_of_the_module_is_packed_in_front_in_whole_kib(static, other, rounded):
    dynamic = 99 * 1024 - rounded
    compile_text(kernel(dynamic, static, other), "sm_120a", assemble_cubin=False)
    with pytest.raises(CompileError, match=f"{rounded} static and {dynamic + 1} dynamic"):
        compile_text(kernel(dynamic + 1, static, other), "sm_120a")


def test_the_simulator_has_the_chips_shared_memory():
    lowered = compile_text(kernel(163840), "sm_90a", keep=("lowered",), assemble_cubin=False).texts["lowered"]
    load_program(lowered, "k", 163840, "sm_100a")
    with pytest.raises(SimulationError, match="163840 B of shared memory, a block on sm_120a has at most 101376"):
        load_program(lowered, "k", 163840, "sm_120a")


@pytest.mark.parametrize(
    ("capability", "name"),
    [((9, 0), "sm_90a"), ((10, 0), "sm_100a"), ((10, 3), "sm_103a"), ((12, 0), "sm_120a"), ((12, 1), "sm_121a")],
)
def test_a_device_is_compiled_for_by_a_known_name(capability, name):
    assert native_name(*capability) == name  # H200, B200, B300, RTX 5090, GB10
    assert name in CHIPS
