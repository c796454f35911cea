"""What the bindings in use can do, whichever they are: ``make bindings`` runs this with each."""

from pathlib import Path

import numpy as np
import pytest

from tma_mlir.bindings import chosen, ir, passmanager
from tma_mlir.compile.compiler import CompileError, compile_text
from tma_mlir.dialect import make_context
from tma_mlir.passes.pipeline import run_pipeline
from tma_mlir.testing import simulate

DEMO = (Path(__file__).parents[3] / "examples" / "copy_8x256.mlir").read_text()


def can_lower() -> bool:
    with make_context():
        try:
            passmanager.PassManager("gpu.module").add("convert-gpu-to-nvvm")
        except ValueError:
            return False
    return True


def test_a_copy_is_planned_and_becomes_nvgpu():
    with make_context():
        module = ir.Module.parse(DEMO)
        row = "tile-verify,tile-plan-copies{chip=sm_90a},convert-tile-to-nvgpu,tile-descriptor-args"
        run_pipeline(module.operation, f"builtin.module({row})")
        text = str(module)
    assert text.count("nvgpu.tma.async.load") == 1
    assert "tile.copy_async" not in text


def test_a_wrong_copy_is_refused_where_it_stands():
    # Without IRDL it is the pass tile-verify alone that sees this.
    with pytest.raises(CompileError, match=r"k\.mlir:\d+:\d+: error: .*tile\.copy_async"):
        compile_text(DEMO.replace("expect_tx", "sizes_of_nothing"), "sm_90a", name="k.mlir")


def test_a_kernel_runs_or_the_error_says_what_is_missing():
    if not can_lower():
        with pytest.raises(CompileError, match=rf"the bindings {chosen()} were built without MLIR's pass '[\w-]+'"):
            compile_text(DEMO, "sm_90a")
        pytest.skip(f"{chosen()} has no passes that lower kernels")
    compiled = compile_text(DEMO, "sm_90a", assemble_cubin=False, keep=("lowered",))
    assert compiled.ptx.count("cp.async.bulk.tensor.3d.shared::cta.global") == 1
    source = np.arange(8 * 256, dtype=np.float16).reshape(8, 256)
    target = np.zeros_like(source)
    simulate(compiled, args=[source, target])
    # The kernel hands on the tile as it lies in shared memory, in atoms: every element once, in another order.
    np.testing.assert_array_equal(np.sort(target, axis=None), source.ravel())
