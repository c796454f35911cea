"""``tma_mlir.compile``: sources, several kernels, the cache on disk, saving."""

from pathlib import Path

import pytest

import tma_mlir
from support.processes import run_python
from tma_mlir import api
from tma_mlir.bindings import ir
from tma_mlir.compile import compiler
from tma_mlir.dialect import make_context
from tma_mlir.plan import CopyPlan
from tma_mlir.runtime.disk_cache import DiskCache

TOP = Path(__file__).resolve().parents[3]
DEMO = TOP / "examples" / "copy_8x256.mlir"
TWO = """module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @one(%out: memref<4xf32>) kernel { gpu.return }
    gpu.func @two(%out: memref<8xf16>, %n: i32) kernel { gpu.return }
  }
}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TMA_MLIR_CACHE_DIR", str(tmp_path))
    return DiskCache(tmp_path)


@pytest.fixture
def compilations(monkeypatch):
    """Chips of what was compiled and not found."""
    seen, real = [], api.compile_isolated
    monkeypatch.setattr(
        api, "compile_isolated", lambda *given, **options: seen.append(given[2]) or real(*given, **options)
    )
    return seen


def test_a_kernel_has_its_plans_ptx_cubin_resources_and_signature():
    kernel = tma_mlir.compile(DEMO, "sm_90a")
    (plan,) = kernel.plans
    assert isinstance(plan, CopyPlan)
    assert plan.tensor_maps[0].box == (64, 8, 4)
    assert ".entry copy_8x256(" in kernel.ptx
    assert kernel.cubin.startswith(b"\x7fELF")
    assert kernel.resources is not None
    assert kernel.resources.registers > 0
    assert kernel.signature.block == (128, 1, 1)
    assert kernel.chip == "sm_90a"


def test_text_path_and_module_give_the_same_kernel():
    with make_context():
        module = ir.Module.parse(DEMO.read_text())
    sources = [DEMO, str(DEMO), DEMO.read_text(), module, module.operation]
    signatures = [tma_mlir.compile(source, "sm_90a").signature for source in sources]
    assert signatures == signatures[:1] * 5


def test_other_things_are_no_source():
    with pytest.raises(TypeError, match="list is not a source: needed: MLIR text, a path or an MLIR module"):
        tma_mlir.compile([], "sm_90a")  # type: ignore[arg-type]


def test_one_of_several_kernels_is_named():
    assert list(tma_mlir.compile_all(TWO, "sm_90a")) == ["one", "two"]
    assert len(tma_mlir.compile(TWO, "sm_90a", kernel="two").signature.arguments) == 2
    with pytest.raises(ValueError, match=r"the module has kernels one, two\. Pass kernel= with a name"):
        tma_mlir.compile(TWO, "sm_90a")
    with pytest.raises(ValueError, match="no kernel 'three'; it has one, two"):
        tma_mlir.compile(TWO, "sm_90a", kernel="three")
    with pytest.raises(
        compiler.CompileError, match=r"-:1:1: error: the module has no kernel to compile; needed: a gpu"
    ):
        tma_mlir.compile("module {}", "sm_90a")


def test_the_same_is_compiled_once(compilations):
    first = tma_mlir.compile(DEMO, "sm_90a")
    again = tma_mlir.compile(DEMO, "sm_90a")
    assert compilations == ["sm_90a"]
    for field in ("cubin", "ptx", "signature", "plans", "resources", "chip"):
        assert getattr(first, field) == getattr(again, field)


def test_another_chip_option_or_text_is_another_kernel(compilations):
    tma_mlir.compile(DEMO, "sm_90a")
    tma_mlir.compile(DEMO, "sm_100a")
    tma_mlir.compile(DEMO, "sm_90a", opt_level=2)
    tma_mlir.compile(DEMO, "sm_90a", assembler_options=["-maxrregcount=32"])
    tma_mlir.compile(DEMO.read_text() + "\n", "sm_90a")
    assert len(compilations) == 5


def test_without_the_cache_nothing_is_kept(compilations, cache):
    for _ in range(2):
        tma_mlir.compile(DEMO, "sm_90a", cache=False)
    assert len(compilations) == 2
    assert cache.size_bytes() == 0


def test_a_cache_can_be_given(tmp_path, compilations):
    own = DiskCache(tmp_path / "own")
    for _ in range(2):
        tma_mlir.compile(DEMO, "sm_90a", cache=own)
    assert len(compilations) == 1
    assert own.size_bytes() > 0


def test_errors_say_the_place_and_are_not_kept(cache):
    for _ in range(2):
        with pytest.raises(compiler.CompileError, match=r"-:1:\d+: error"):
            tma_mlir.compile("module { gpu.func }", "sm_90a")
    with pytest.raises(ValueError, match="sm_1"):
        tma_mlir.compile(DEMO, "sm_1")
    assert cache.size_bytes() == 0


FOUND = """
import sys
import tma_mlir
kernel = tma_mlir.compile(sys.argv[1], "sm_90a", isolate=bool(sys.argv[2]), cache=not sys.argv[2])
from tma_mlir.bindings import chosen
print(kernel.signature.name, chosen() + ".ir" in sys.modules)
"""


def test_what_is_found_needs_no_mlir():
    """In the process that finds it, nor where a child compiles; a compiler here does."""
    answers = [run_python(FOUND, str(DEMO), isolate).stdout for isolate in ("", "", "1")]
    assert answers == ["copy_8x256 True\n", "copy_8x256 False\n", "copy_8x256 False\n"]


def test_a_saved_kernel_is_the_same(tmp_path):
    kernel = tma_mlir.compile(DEMO, "sm_90a")
    kernel.save(tmp_path / "kernel.tma")
    loaded = tma_mlir.Kernel.load(tmp_path / "kernel.tma")
    for field in ("cubin", "ptx", "signature", "plans", "resources", "chip"):
        assert getattr(loaded, field) == getattr(kernel, field)
