"""Copies that TMA cannot make, on the GPU: the same bytes as by definition."""

import pytest

from support.fallback_cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_result_is_what_the_copy_means(name):
    compiler = pytest.importorskip("tma_mlir.compile.compiler", reason="no MLIR here", exc_type=ImportError)
    from tma_mlir.run.arguments import make_arguments
    from tma_mlir.run.execute import compare, reference_result, run_gpu

    text, given = CASES[name]
    compiled = compiler.compile_text(text)
    signature = compiled.signatures["k"]
    values = make_arguments(signature, {int(key[1:]): value for key, value in given.items()})
    expected = reference_result(text, "k.mlir", "k", values)
    run_gpu(compiled, signature, values)
    assert compare(values, expected) == []
