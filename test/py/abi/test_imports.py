"""The contract is for hosts without MLIR and without a GPU."""

from support.processes import run_python

ALONE = """
import importlib, pkgutil, sys
sys.modules["mlir"] = sys.modules["cuda"] = None
import tma_mlir.abi
for module in pkgutil.iter_modules(tma_mlir.abi.__path__):
    importlib.import_module(f"tma_mlir.abi.{module.name}")
print([name for name in sys.modules if name.startswith(("tma_mlir.runtime", "tma_mlir.compile", "tma_mlir.sim"))])
"""


def test_abi_needs_neither_mlir_nor_cuda_nor_what_is_built_on_it():
    done = run_python(ALONE)
    assert (done.stdout, done.stderr) == ("[]\n", "")
