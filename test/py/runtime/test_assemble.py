import shutil
from pathlib import Path

import pytest

from tma_mlir.assembler import AssemblerError, assemble, assembler_version, parse_resources

PTX = (Path(__file__).parent / "kernels" / "copy_8x256.ptx").read_text()


def test_ptx_becomes_an_elf_image():
    cubin = assemble(PTX, "sm_90a")
    assert cubin.data[:4] == b"\x7fELF"
    assert b"copy" in cubin.data
    assert cubin.assembler == assembler_version()


def test_resources_are_those_the_ptx_declares():
    used = assemble(PTX, "sm_90a").resources["copy"]
    assert used.shared_bytes == 4096 + 8  # smem[4096] and one mbarrier
    assert used.barriers == 1  # bar.sync 0
    assert (used.spill_store_bytes, used.spill_load_bytes) == (0, 0)
    assert 1 <= used.registers <= 255


@pytest.mark.skipif(not shutil.which("ptxas"), reason="no ptxas on the PATH")
def test_ptxas_assembles_the_same_kernel():
    cubin = assemble(PTX, "sm_90a", assembler="ptxas")
    assert cubin.data[:4] == b"\x7fELF"
    assert cubin.resources["copy"].shared_bytes >= 4096 + 8  # ptxas counts the gap before the aligned tile
    assert cubin.assembler.startswith("ptxas ")


def test_error_carries_the_log():
    with pytest.raises(AssemblerError, match=r"Unknown modifier '\.foo'") as caught:
        assemble(PTX.replace("mbarrier.init", "mbarrier.foo"), "sm_90a")
    assert caught.value.chip == "sm_90a"
    assert "line" in caught.value.log


@pytest.mark.parametrize("chip", ["sm_9", "sm_01", "compute_90", "hopper", "", "sm_999", "sm_80"])
def test_unknown_chip_never_reaches_the_library(chip):
    with pytest.raises(AssemblerError, match=f"unknown chip '{chip}'.*known chips: sm_90, sm_90a, sm_100"):
        assemble(PTX, chip)


def test_wrong_chip_for_the_ptx_is_refused():
    with pytest.raises(AssemblerError, match="sm_100a"):
        assemble(PTX, "sm_100a")


def test_unknown_option_is_refused():
    with pytest.raises(AssemblerError, match="-no-such-option"):
        assemble(PTX, "sm_90a", options=["-no-such-option"])


def test_spills_and_several_kernels_are_parsed():
    log = """\
ptxas info    : Compiling entry function 'a' for 'sm_90a'
ptxas info    : Function properties for a
ptxas         .     16 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads
ptxas info    : Used 255 registers, used 2 barriers, 16 bytes cumulative stack size, 48 bytes smem
ptxas info    : Compiling entry function 'b' for 'sm_90a'
ptxas info    : Function properties for b
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
"""
    used = parse_resources(log)
    assert (used["a"].registers, used["a"].spill_store_bytes, used["a"].spill_load_bytes) == (255, 24, 32)
    assert (used["a"].stack_bytes, used["a"].shared_bytes, used["a"].barriers) == (16, 48, 2)
    assert (used["b"].registers, used["b"].shared_bytes) == (8, 0)
