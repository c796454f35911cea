"""nvgpu.warpgroup.mma and mma.store in every shape: the product that NumPy has, or an error at the operation."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from support.matmul_kernels import matmul
from tma_mlir.compile.compiler import CompileError, compile_text
from tma_mlir.run.execute import run_simulator

TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8E4M3FN": ml_dtypes.float8_e4m3fn}


def equals_numpy(m: int, n: int, k: int, element: str, **options) -> bool:
    """Whether the simulated kernel gives A B; ``CompileError`` where it is refused."""
    random = np.random.default_rng(1)
    a, b = (random.integers(-3, 4, shape).astype(TYPES[element]) for shape in ((m, k), (k, n)))
    compiled = compile_text(matmul(m, n, k, element, **options), keep=("lowered",), assemble_cubin=False)
    found = np.zeros((m, n), np.float32)
    left = np.ascontiguousarray(a.T) if options.get("m_contiguous") else a
    right = b if options.get("n_contiguous", True) else np.ascontiguousarray(b.T)
    run_simulator(compiled.texts["lowered"], compiled.signatures["k"], [left, right, found])
    return bool((found == a.astype(np.float32) @ b.astype(np.float32)).all())


@pytest.mark.parametrize(
    ("m", "n", "k", "element", "options"),
    [
        (64, 64, 64, "bf16", {}),
        (64, 192, 64, "f16", {}),
        (64, 256, 64, "bf16", {}),
        (128, 128, 64, "f16", {}),
        (192, 128, 64, "bf16", {}),
        (64, 64, 16, "f16", {"m_contiguous": True}),
        (64, 128, 16, "bf16", {"m_contiguous": True}),
        # What the errors below advise.
        (128, 64, 64, "bf16", {"blocks": 2}),
        (192, 192, 64, "f16", {"blocks": 3}),
    ],
)
def test_what_mlir_lowers_right_is_the_product(m, n, k, element, options):
    assert equals_numpy(m, n, k, element, **options)


STORE = "mma.store' op puts rows 64 to 127 of a {}x{} accumulator into rows {} to {}"
STEPS = "takes {} steps through a K tile of {} bytes, with {}-contiguous A and {}-contiguous B"


@pytest.mark.parametrize(
    ("m", "n", "k", "element", "options", "message"),
    [
        (128, 64, 64, "bf16", {}, STORE.format(128, 64, 32, 95)),
        (128, 256, 64, "f16", {}, STORE.format(128, 256, 128, 191)),
        (192, 192, 64, "bf16", {}, STORE.format(192, 192, 96, 159)),
        (64, 64, 128, "f16", {}, STEPS.format(8, 256, "K", "N")),
        (64, 64, 64, "bf16", {"n_contiguous": False}, STEPS.format(4, 128, "K", "K")),
        (64, 64, 64, "f16", {"m_contiguous": True}, STEPS.format(4, 128, "M", "N")),
        (64, 64, 128, "f8E4M3FN", {"n_contiguous": False}, STEPS.format(4, 128, "K", "K")),
        (128, 128, 16, "f16", {"m_contiguous": True}, "reads the rows of A from 64 on at 512 bytes; they lie at 2048"),
        (64, 128, 64, "f16", {"map_rows": 128}, "reads B's columns from 64 on 128 rows of 128 bytes behind"),
    ],
)
def test_what_mlir_lowers_wrong_is_an_error(m, n, k, element, options, message):
    with pytest.raises(CompileError) as error:
        equals_numpy(m, n, k, element, **options)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("layout", "how"),
    [
        ('destination_layout = #tile.atoms<"64B">', "with atoms of 64B"),
        ('destination_layout = #tile.atoms<"32B">', "with atoms of 32B"),
        ("", "without a swizzle"),
    ],
)
@pytest.mark.parametrize("n", [64, 128])
def test_a_tile_in_another_layout_than_wgmma_reads_is_an_error(layout, how, n):
    with pytest.raises(CompileError) as error:
        equals_numpy(64, n, 64, "bf16", layout=layout)
    assert f"fills it {how}, so wgmma would multiply other elements" in str(error.value)


def test_rows_of_one_span_with_a_swizzle_are_atoms():
    assert equals_numpy(64, 64, 64, "bf16", layout='swizzle = #tile.swizzle<"128B">')
