"""Options of tma-opt that mlir-opt does not have, or whose result is its own."""

from __future__ import annotations

import re

import pytest

FUNCTION = "func.func @f(%a: i32) -> i32 {\n  %0 = arith.addi %a, %a : i32\n  return %a : i32\n}\n"
KERNELS = "gpu.module @kernels {}\n"


@pytest.mark.parametrize("flag", ["--mlir-debug-counter=a=1", "-log-actions-to=x", "--load-pass-plugin=x.so"])
@pytest.mark.parametrize("beside", [[], ["--pass-pipeline=builtin.module(cse)"]])
def test_what_the_bindings_lack_names_the_stock_tool(tma_opt, flag, beside):
    outcome = tma_opt(flag, *beside, stdin=FUNCTION)
    assert outcome.code == 2
    assert re.search(
        rf"^tma-opt: error: tma-opt has no --{flag.strip('-').split('=')[0]}, .* Use mlir-opt", outcome.err
    )


def test_an_unknown_flag_beside_a_pipeline_is_named(tma_opt):
    outcome = tma_opt("--frobnicate", "--pass-pipeline=builtin.module(cse)", stdin=FUNCTION)
    assert (outcome.code, outcome.err) == (2, "tma-opt: error: unknown flag or pass '--frobnicate'\n")


def test_a_reproducer_is_there_after_a_failure_and_runs(tma_opt, tmp_path):
    path = tmp_path / "reproducer.mlir"
    flags = ["--nvvm-attach-target=chip=sm_1", f"--mlir-pass-pipeline-crash-reproducer={path}"]
    outcome = tma_opt(*flags, stdin=KERNELS)
    assert outcome.code == 1
    assert f"note: reproducer generated at `{path}`" in outcome.err
    again = tma_opt("--run-reproducer", str(path))
    assert again.code == 1
    assert "Minimum NVVM target SM version" in again.err


def test_a_reproducer_for_a_crash_is_gone_where_all_went_well(tma_opt, tmp_path):
    path = tmp_path / "reproducer.mlir"
    assert tma_opt("--cse", f"--mlir-pass-pipeline-crash-reproducer={path}", stdin=FUNCTION).code == 0
    assert not path.exists()


def test_a_program_without_a_pipeline_is_not_a_reproducer(tma_opt):
    outcome = tma_opt("--run-reproducer", stdin=FUNCTION)
    assert outcome.code == 1
    assert "<stdin>: error: this is not a reproducer" in outcome.err


def test_external_resources_are_lost_with_a_warning(tma_opt):
    outcome = tma_opt(stdin='module {}\n{-# external_resources: { mine: { a: "0x04000000" } } #-}\n')
    assert outcome.code == 0
    assert "warning: ignoring unknown external resources for 'mine'; MLIR's Python bindings do not keep" in outcome.err


def test_timing_as_a_list_has_the_slowest_first(tma_opt):
    outcome = tma_opt("--cse", "--mlir-timing", "--mlir-timing-display=list", stdin=FUNCTION)
    times = [float(each) for each in re.findall(r"^ +(\d\.\d+) \(", outcome.err, re.MULTILINE)]
    assert len(times) >= 5
    assert times[:-2] == sorted(times[:-2], reverse=True)  # Rest and Total stand at the end


def test_a_dialect_that_exists_is_not_loaded_again(tma_opt, tmp_path):
    path = tmp_path / "arith.irdl"
    path.write_text("irdl.dialect @arith { irdl.operation @op {} }")
    outcome = tma_opt(f"--irdl-file={path}", stdin=FUNCTION)
    assert outcome.code == 1
    assert "there is a dialect 'arith' already" in outcome.err


@pytest.mark.parametrize("arguments", [["--timeout=0"], ["--timeout", "x"]])
def test_a_time_limit_is_a_number(tma_opt, arguments):
    outcome = tma_opt(*arguments, stdin=FUNCTION)
    assert outcome.code == 2
    assert "is not a number of seconds above 0" in outcome.err
