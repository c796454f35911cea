"""The real cuda.bindings on a stand-in for the driver: the calls are those the bindings take."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

PROGRAM = """
import numpy as np
from tma_mlir.abi.signature import KernelSignature, MemRefArgument, ScalarArgument, TensorMapArgument
from tma_mlir.dtypes import dtype
from tma_mlir.plan.tensor_map import OobFill, Swizzle, TensorMap
from tma_mlir.runtime import Kernel, native_chip

tensor_map = TensorMap("BFLOAT16", (64, 8), (128,), (32, 4), (1, 2), Swizzle.B64, 3, OobFill.NAN)
arguments = (MemRefArgument(dtype("ui8"), (1024,), (1,)), ScalarArgument(dtype("i32")))
signature = KernelSignature("k", (TensorMapArgument(0, tensor_map),), arguments)
print(native_chip())
kernel, x = Kernel(b"\\x7fELF", signature), np.zeros(1024, np.uint8)
kernel.launch((2, 3), 64, x, 5)
kernel.launch(4, 32, x, 7, stream=9, cluster=2, shared_memory=100_000,
              attributes={"cooperative": True, "programmatic": True, "priority": -3})
print("result", x[0], x[1:].any())


class OnGpu:
    def __init__(self, array):
        self.array = array  # whose memory the launch writes to
        start = -array.ctypes.data % 16
        self.__cuda_array_interface__ = {"shape": (1024,), "typestr": "|u1", "data": (array.ctypes.data + start, False),
                                         "version": 3, "stream": 11}


kernel.bind(1, 32, OnGpu(np.zeros(2048, np.uint8)), 1)()
kernel.launch(1, 32, OnGpu(np.zeros(2048, np.uint8)), 1)
kernel.unload()
"""

EXPECTED = """
sm_90a
load ELF options 0 0
kernel k
encode type 9 rank 2 aligned 1 dims 64,8 stride 128 box 32,4 steps 1,2 enums 0 2 3 1
descriptor of the tensor, word 1 bit 21 0
launch grid 2,3,1 block 64,1,1 shared 0 stream 0
free
function attribute 8 = 100000
descriptor of the tensor, word 1 bit 21 0
attribute 4 = 2
attribute 2 = 1
attribute 6 = 1
attribute 8 = -3
launch grid 4 block 32 shared 100000 stream 9
free
result 12 False
descriptor of the tensor, word 1 bit 21 0
launch grid 1,1,1 block 32,1,1 shared 0 stream 0
event flags 2
record on 11
wait on 0
descriptor of the tensor, word 1 bit 21 0
launch grid 1,1,1 block 32,1,1 shared 0 stream 0
event flags 2
record on 0
wait on 11
unload
"""


@pytest.mark.skipif(sys.platform != "linux" or not COMPILER, reason="no C compiler to build the stand-in with")
def test_the_bindings_take_every_call(tmp_path):
    pytest.importorskip("cuda.bindings")
    source = Path(__file__).parent / "stub_driver.c"
    library = tmp_path / "libcuda.so.1"
    command = [str(COMPILER), "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment)
    # Descriptors of other addresses may be found in the cache, so only the first one must be encoded.
    lines = done.stdout.splitlines()
    first = lines.index("free")
    seen = lines[:first] + [line for line in lines[first:] if not line.startswith("encode")]
    assert seen == EXPECTED.split("\n")[1:-1], done.stderr
