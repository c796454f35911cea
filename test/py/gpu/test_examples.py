"""Every example on the GPU: the bytes are the simulator's."""

from pathlib import Path

import numpy as np
import pytest

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.mlir"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_gpu_and_simulator_agree(path, tmp_path):
    compiler = pytest.importorskip("tma_mlir.compile.compiler", reason="no MLIR here", exc_type=ImportError)
    from tma_mlir.run import arguments, execute
    from tma_mlir.run.reference import copy_arguments
    from tma_mlir.runtime import Kernel

    compiled = compiler.compile_file(path, keep=compiler.STAGES)
    for signature in compiled.signatures.values():
        if signature.grid is None or signature.block is None:
            continue
        values = arguments.make_arguments(signature, {})
        simulated, loaded = copy_arguments(values), copy_arguments(values)
        execute.run_simulator(compiled.texts["lowered"], signature, simulated)
        kernel = Kernel(compiled.cubin, signature, ptx=compiled.ptx, plans=[copy.plan for copy in compiled.plans])
        kernel(*values)
        kernel.save(tmp_path / "kernel.tma")
        Kernel.load(tmp_path / "kernel.tma")(*loaded)
        for found, again, expected in zip(values, loaded, simulated, strict=True):
            if isinstance(expected, np.ndarray):
                assert isinstance(found, np.ndarray)
                assert isinstance(again, np.ndarray)
                assert found.tobytes() == expected.tobytes()
                assert again.tobytes() == expected.tobytes()
