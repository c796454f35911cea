"""Launches in C on the stand-in driver, with a stand-in for PyTorch that has the DLPack C exchange API."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import tma_mlir
from tma_mlir.runtime import native, native_build

PACKAGE = Path(tma_mlir.__file__).parent
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
HEADERS = Path(sysconfig.get_path("include"), "Python.h")

PROGRAM = '''
import ctypes, sys
from types import ModuleType, SimpleNamespace
import numpy as np


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_uint64), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Tensor:
    """A tensor of bytes on GPU 0; everything but its type may change in place."""
    layout, is_cuda, device = "torch.strided", True, SimpleNamespace(type="cuda", index=0)

    def __init__(self, array, kind="uint8"):
        self.array, self.kind = array, kind
        self.moved()

    def moved(self):
        rank = self.array.ndim
        self.c_shape = (ctypes.c_int64 * rank)(*self.array.shape)
        self.c_strides = (ctypes.c_int64 * rank)(*self.stride())

    data_ptr = lambda self: self.array.ctypes.data
    stride = lambda self: tuple(step // self.array.itemsize for step in self.array.strides)
    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: "torch." + self.kind)
    get_device = lambda self: 0
    is_conj = is_neg = lambda self: False


Tensor.__module__ = "torch"
torch = sys.modules["torch"] = ModuleType("torch")
torch.Tensor, torch.nn = Tensor, SimpleNamespace(Parameter=None)
torch._C = SimpleNamespace(_cuda_getCurrentRawStream=lambda ordinal: torch.stream)
torch.stream = 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
def read(tensor, out):
    out[0] = DLTensor(tensor.data_ptr(), 2, 0, tensor.array.ndim, {"int8": 0, "uint8": 1}[tensor.kind], 8, 1,
                      tensor.c_shape, tensor.c_strides, 0)
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_uint64))
def current_stream(device_type, device, out):
    out[0] = torch.stream
    return 0


class Api(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32 * 2), ("older", ctypes.c_void_p), ("unused", ctypes.c_void_p * 3),
                ("read", ctypes.c_void_p), ("current_stream", ctypes.c_void_p)]


api = Api((1, 3), None, (None,) * 3, ctypes.cast(read, ctypes.c_void_p), ctypes.cast(current_stream, ctypes.c_void_p))
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
Tensor.__dlpack_c_exchange_api__ = new(ctypes.addressof(api), b"dlpack_exchange_api", None)

from tma_mlir.abi.signature import KernelSignature, MemRefArgument, ScalarArgument, TensorMapArgument
from tma_mlir.dtypes import dtype
from tma_mlir.layout.expr import Expr, Symbol
from tma_mlir.plan.tensor_map import TensorMap
from tma_mlir.runtime import Kernel, native

rows = Expr.of(Symbol("arg0.dim0"))
tensor_map = TensorMap("UINT8", (64, rows), (64,), (32, 4), (1, 1))
arguments = (MemRefArgument(dtype("i8"), (None, 64), (64, 1)), ScalarArgument(dtype("i8")))
signature = KernelSignature("k", (TensorMapArgument(0, tensor_map),), arguments, block=(32, 1, 1))


def tensor(rows, offset=0):
    raw = np.zeros(rows * 64 + 4096, np.uint8)
    start = -raw.ctypes.data % 1024 + offset
    return Tensor(raw[start : start + rows * 64].reshape(rows, 64))


looked = []
real = Kernel._look
Kernel._look = lambda self, *given, **options: (looked.append(1), real(self, *given, **options))[1]
kernel = Kernel(b"\\x7fELF", signature)


def launch(what, *given, run=None):
    looked.clear()
    try:
        (run or kernel[1, None])(*given)
    except (TypeError, ValueError, RuntimeError) as error:
        return print(f"{what}: {type(error).__name__}")
    byte = given[0].array.flat[0] if isinstance(given[0], Tensor) else "host"
    print(f"{what}: {'looked at' if looked else 'in C'}, {byte}")


a, b = tensor(8), tensor(8)
launch("first", a, 1)
launch("again", a, 2)
launch("another address", b, 3)
torch.stream = 5
launch("another stream", b, 0)
a.array = a.array[:4]
a.moved()
launch("resized in place", a, 1)
launch("resized again", a, 1)
launch("old size", b, 1)
launch("misaligned", tensor(8, 8), 1)
a.kind = "int8"
launch("another type", a, 1)
launch("another type again", a, -1)
launch("out of range", a, 256)
launch("in range", a, 255)
launch("no integer", a, 1.0)
launch("bool", a, True)
launch("numpy number", a, np.int8(1))
launch("too few", a)
launch("wrong kind", 1, a)
launch("host", np.zeros((8, 64), np.uint8), 1)
held = kernel[1, None]
kernel.unload()
launch("unloaded", a, 1, run=held)
print(native.why_not or "native")
'''

EXPECTED = """
first: looked at, 1
again: in C, 3
another address: in C, 3
another stream: in C, 3
resized in place: looked at, 4
resized again: in C, 5
old size: in C, 4
misaligned: DescriptorError
another type: looked at, 6
another type again: in C, 5
out of range: ArgumentTypeError
in range: in C, 4
no integer: ArgumentTypeError
bool: in C, 5
numpy number: looked at, 6
too few: ArgumentTypeError
wrong kind: ArgumentTypeError
host: looked at, host
unloaded: Unloaded
native
"""


@pytest.fixture(scope="module")
def stub(tmp_path_factory):
    """Environment with the stand-in driver and an empty cache."""
    if native_build.why_never() or not COMPILER or not HEADERS.exists():
        pytest.skip("no C compiler, or no headers of this Python")
    pytest.importorskip("cuda.bindings")
    folder = tmp_path_factory.mktemp("stub")
    source = Path(__file__).parent / "stub_driver.c"
    library = folder / "libcuda.so.1"
    command = [str(COMPILER), "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    chosen = {"LD_LIBRARY_PATH": str(folder), "TMA_MLIR_CACHE_DIR": str(folder / "cache"), "PYTHONUNBUFFERED": "1"}
    return {**{name: value for name, value in os.environ.items() if name != "TMA_MLIR_NATIVE"}, **chosen}


@pytest.fixture
def package(tmp_path):
    """A folder with a copy of the package as it is where there was no compiler when it was installed."""
    shutil.copytree(PACKAGE, tmp_path / "tma_mlir", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    return tmp_path


def run(environment, folder=PACKAGE.parent):
    """What the program says, and what reached the driver at each launch; ``folder`` holds the package."""
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
    lines = done.stdout.splitlines()
    driver = [line for line in lines if line.startswith(("descriptor", "launch"))]
    said = [line for line in lines if line not in driver and (": " in line or line == lines[-1])]
    return said, driver, done.stderr


def through_python(reason):
    """What the program says when nothing is launched in C."""
    return [*EXPECTED.replace("in C", "looked at").split("\n")[1:-2], reason]


def test_what_is_known_is_launched_in_c_and_all_else_is_looked_at(stub):
    said, launches, errors = run(stub)
    assert said == EXPECTED.split("\n")[1:-1], errors
    assert {line for line in launches if line.startswith("descriptor")} == {"descriptor of the tensor, word 1 bit 21 0"}
    streams = [line.rpartition(" ")[2] for line in launches if line.startswith("launch")]
    assert streams == ["0"] * 3 + ["5"] * 9 + ["0"]  # host arrays go to the default stream


def test_without_c_the_results_are_the_same(stub):
    said, launches, errors = run({**stub, "TMA_MLIR_NATIVE": "0"})
    assert said == through_python("TMA_MLIR_NATIVE=0"), errors
    assert launches == run(stub)[1]


def test_a_launch_builds_nothing(stub, package, tmp_path):
    cache = tmp_path / "cache"
    said, _, errors = run({**stub, "TMA_MLIR_CACHE_DIR": str(cache)}, package)
    assert said == through_python(
        "native_launch was not built with this package: install the package again where there are a C compiler and "
        "Python's headers, or set TMA_MLIR_NATIVE=build"
    ), errors
    assert not cache.exists()


@pytest.mark.parametrize("change", ["source", "foreign"])
def test_what_was_built_of_another_source_is_not_loaded(stub, package, change):
    built = package / "tma_mlir" / "runtime" / native_build.file_name()
    if change == "source":
        shutil.copy(PACKAGE / "runtime" / native_build.file_name(), built)
        source = built.with_name("native_launch.c")
        source.write_text(source.read_text() + "/* edited */\n")
    else:
        built.write_bytes(b"built by someone else")
    said, _, errors = run(stub, package)
    assert said[:-1] == through_python("")[:-1], errors
    assert said[-1].startswith(f"{built} was built of another version of native_launch.c: install the package again")


def test_a_damaged_one_is_explained(stub, package):
    built = package / "tma_mlir" / "runtime" / native_build.file_name()
    built.write_bytes((PACKAGE / "runtime" / native_build.file_name()).read_bytes().replace(b"\x7fELF", b"\x7fELK", 1))
    said, _, errors = run(stub, package)
    assert said == through_python(f"{built}: invalid ELF header"), errors


def test_it_is_built_on_demand_and_once(stub, package, tmp_path):
    environment = {**stub, "TMA_MLIR_CACHE_DIR": str(tmp_path / "cache"), "TMA_MLIR_NATIVE": "build"}
    said, _, errors = run(environment, package)
    assert said == EXPECTED.split("\n")[1:-1], errors
    (built,) = (tmp_path / "cache" / "native").glob("*/*")
    before = built.stat().st_mtime_ns
    assert run(environment, package)[0][-1] == "native"
    assert built.stat().st_mtime_ns == before


def test_what_was_installed_is_not_built_again(stub, tmp_path):
    cache = tmp_path / "cache"
    assert run({**stub, "TMA_MLIR_CACHE_DIR": str(cache), "TMA_MLIR_NATIVE": "build"})[0][-1] == "native"
    assert not cache.exists()


@pytest.mark.parametrize(
    ("compiler", "reason"),
    [("", "no C compiler: neither cc, gcc nor clang is on the PATH, and CC is not set"),
     ("#!/bin/sh\necho no headers >&2; exit 1\n", "cc failed: no headers")],
)  # fmt: skip
def test_without_a_working_compiler_launches_go_through_python(stub, package, tmp_path, compiler, reason):
    folder = tmp_path / "bin"
    folder.mkdir()
    if compiler:
        (folder / "cc").write_text(compiler)
        (folder / "cc").chmod(0o755)
    chosen = {"TMA_MLIR_CACHE_DIR": str(tmp_path / "cache"), "TMA_MLIR_NATIVE": "build", "PATH": str(folder), "CC": ""}
    said, _, errors = run({**stub, **chosen}, package)
    assert said[:-1] == through_python("")[:-1], errors
    assert said[-1].endswith(reason)


def test_other_processes_building_at_the_same_time_do_no_harm(stub, package, tmp_path):
    environment = {**stub, "TMA_MLIR_CACHE_DIR": str(tmp_path / "cache"), "TMA_MLIR_NATIVE": "build"}
    command = [sys.executable, "-c", PROGRAM]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=package) for _ in range(3)
    ]
    assert [process.communicate()[0].splitlines()[-1] for process in started] == ["native"] * 3
    assert len(list((tmp_path / "cache" / "native").glob("*/*"))) == 1


def test_the_reason_is_kept(monkeypatch):
    monkeypatch.setenv("TMA_MLIR_NATIVE", "0")
    native._module.cache_clear()
    assert native.module() is None
    assert native.why_not == "TMA_MLIR_NATIVE=0"
    native._module.cache_clear()


@pytest.mark.parametrize(
    ("platform", "no_global_lock", "reason"),
    [("darwin", 0, "no CUDA driver for darwin"), ("linux", 1, "global lock"), ("linux", 0, "")],
)
def test_where_there_is_no_launcher_in_c(monkeypatch, platform, no_global_lock, reason):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(sysconfig, "get_config_var", {"Py_GIL_DISABLED": no_global_lock}.get)
    why = native_build.why_never()
    assert reason in why
    assert bool(why) == bool(reason)
