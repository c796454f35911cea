"""What is read off cubins."""

import pytest

from tma_mlir.assembler import assemble
from tma_mlir.runtime.cubin import parameter_count

PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry one(.param .align 128 .b8 m[128], .param .u64 p, .param .u32 q) { ret; }
.visible .entry other(.param .u64 p, .param .align 128 .b8 m[128]) { ret; }
.visible .entry none() { ret; }
"""


def test_parameters_of_each_kernel():
    cubin = assemble(PTX, "sm_90").data
    assert [parameter_count(cubin, name) for name in ("one", "other", "none", "absent")] == [3, 2, None, None]


@pytest.mark.parametrize("data", [b"", b"cubin", b"\x7fELF\x02\x01" + b"\xff" * 200, b"\x7fELF\x02\x01"])
def test_what_is_no_cubin_says_nothing(data):
    assert parameter_count(data, "one") is None
