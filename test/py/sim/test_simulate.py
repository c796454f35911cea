"""Whole kernels through the simulator: what they compute, on every schedule tried."""

from __future__ import annotations

import numpy as np
import pytest

from support.sim_kernels import kernel, run, shared, signature, tensor_map
from tma_mlir.abi.signature import KernelSignature, MemRefArgument
from tma_mlir.dtypes import dtype
from tma_mlir.plan.tensor_map import Swizzle
from tma_mlir.sim.errors import SimulationError

SEEDS = range(5)

DESCRIPTOR = (
    "!nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = {}, l2promo = none, oob = zero, "
    "interleave = none>"
)
BARRIER = "!nvgpu.mbarrier.group<memorySpace = 3>"

LOAD = f"""
      %desc = builtin.unrealized_conversion_cast %map : !llvm.ptr to {DESCRIPTOR.format("swizzle_128b")}
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %bytes = arith.constant 8192 : index
      %ticks = arith.constant 10000000 : index
      %false = arith.constant false
      %t = gpu.thread_id x
      %is0 = arith.cmpi eq, %t, %c0 : index
      %s = memref.get_global @s : memref<64x64xf16, 3>
      %bar = nvgpu.mbarrier.create -> {BARRIER}
      nvgpu.mbarrier.init %bar[%c0], %c1, predicate = %is0 : {BARRIER}
      gpu.barrier
      scf.if %is0 {{
        nvgpu.mbarrier.arrive.expect_tx %bar[%c0], %bytes : {BARRIER}
        nvgpu.tma.async.load %desc[%c64, %c0], %bar[%c0] to %s : {DESCRIPTOR.format("swizzle_128b")}, {BARRIER}
          -> memref<64x64xf16, 3>
      }}
      nvgpu.mbarrier.try_wait.parity %bar[%c0], %false, %ticks : {BARRIER}
      scf.for %i = %c0 to %c64 step %c1 {{
        scf.if %is_column {{
          %v = memref.load %s[%i, %t] : memref<64x64xf16, 3>
          memref.store %v, %out[%i, %t] : memref<64x64xf16>
        }}
      }}
"""

STORE = f"""
      %desc = builtin.unrealized_conversion_cast %map : !llvm.ptr to {DESCRIPTOR.format("none")}
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %t = gpu.thread_id x
      %is0 = arith.cmpi eq, %t, %c0 : index
      %s = memref.get_global @s : memref<64x64xf16, 3>
      scf.for %i = %c0 to %c64 step %c1 {{
        %v = memref.load %in[%i, %t] : memref<64x64xf16>
        %w = arith.addf %v, %v : f16
        memref.store %w, %s[%i, %t] : memref<64x64xf16, 3>
      }}
      nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
      gpu.barrier
      scf.if %is0 {{
        nvgpu.tma.async.store %s to %desc[%c64, %c0] : memref<64x64xf16, 3> -> {DESCRIPTOR.format("none")}
        nvvm.cp.async.bulk.commit.group
        nvvm.cp.async.bulk.wait_group 0 {{read}}
      }}
"""


def load_kernel() -> str:
    body = LOAD.replace("scf.for %i", "%is_column = arith.cmpi ult, %t, %c64 : index\n      scf.for %i")
    return kernel(body, "%map: !llvm.ptr, %in: memref<64x128xf16>, %out: memref<64x64xf16>", shared("s", "64x64xf16"))


def swizzled(tile: np.ndarray) -> np.ndarray:
    """A 64x64 f16 tile as a 128B-swizzled image read row by row: 16-byte chunk c of row r is chunk c ^ (r % 8)."""
    chunks = tile.reshape(64, 8, 8)
    rows = np.arange(64)[:, None]
    return chunks[rows, np.arange(8)[None, :] ^ (rows % 8)].reshape(64, 64)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_tensor_load_arrives_swizzled(seed):
    x = np.arange(64 * 128, dtype=np.float16).reshape(64, 128)
    out = np.zeros((64, 64), np.float16)
    sign = signature(
        [("f16", (64, 128)), ("f16", (64, 64))], [(0, tensor_map(64, 128, (64, 64), swizzle=Swizzle.B128))]
    )
    result = run(load_kernel(), sign, [x, out], seed)
    np.testing.assert_array_equal(out, swizzled(x[:, 64:]))
    assert result.transfer_bytes == 8192
    assert result.findings == ()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("extra", ["", ",convert-nvvm-to-llvm"])
def test_a_tensor_store_writes_the_tile(seed, extra):
    x = np.arange(64 * 64, dtype=np.float16).reshape(64, 64)
    out = np.zeros((64, 128), np.float16)
    text = kernel(
        STORE, "%map: !llvm.ptr, %in: memref<64x64xf16>, %out: memref<64x128xf16>", shared("s", "64x64xf16"), threads=64
    )
    sign = signature([("f16", (64, 64)), ("f16", (64, 128))], [(1, tensor_map(64, 128, (64, 64)))])
    run(text, sign, [x, out], seed, extra)
    np.testing.assert_array_equal(out[:, 64:], x + x)
    assert not out[:, :64].any()


def test_an_unknown_operation_is_an_error_with_its_line():
    text = kernel("      nvvm.tcgen05.relinquish_alloc_permit", "%in: memref<4xf32>", threads=32)
    with pytest.raises(SimulationError, match=r"unsupported operation: nvvm.tcgen05.relinquish_alloc_permit") as error:
        run(text, signature([("f32", (4,))], []), [np.zeros(4, np.float32)])
    assert error.value.location == "-:6:7"


def test_an_access_past_an_array_names_the_argument():
    body = """
      %t = gpu.thread_id x
      %v = memref.load %in[%t] : memref<16xf32>
      memref.store %v, %in[%t] : memref<16xf32>"""
    with pytest.raises(SimulationError, match=r"load of 4 B at argument 0\+0x40") as error:
        run(
            kernel(body, "%in: memref<16xf32>", threads=32), signature([("f32", (16,))], []), [np.zeros(16, np.float32)]
        )
    assert (error.value.kind, error.value.location) == ("out of bounds", "-:8:12")


def test_a_strided_view_is_changed_in_place():
    base = np.zeros((8, 32), np.float32)
    body = """
      %t = gpu.thread_id x
      %v = arith.constant 1.0 : f32
      memref.store %v, %in[%t] : memref<8xf32, strided<[32]>>"""
    sign = KernelSignature("k", (), (MemRefArgument(dtype("f32"), (8,), (32,)),))
    run(kernel(body, "%in: memref<8xf32, strided<[32]>>", threads=8), sign, [base[:, 3]])
    assert base[:, 3].tolist() == [1] * 8
    assert base.sum() == 8


@pytest.mark.parametrize("make", [
    lambda: np.zeros((4, 8), np.float32, order="F"),
    lambda: np.zeros((8, 8), np.float32)[::2],
    lambda: np.lib.stride_tricks.as_strided(np.zeros(64, np.float32), (4, 8), (64, 4)),
    lambda: np.frombuffer(bytearray(128), np.float32).reshape(4, 8),
])  # fmt: skip
def test_any_layout_of_an_argument_is_written_where_it_lies(make):
    out = make()
    rows, columns = (s // 4 for s in out.strides)
    body = f"""
      %t = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      scf.for %r = %c0 to %c4 step %c1 {{
        %sum = arith.addi %r, %t : index
        %i = arith.index_cast %sum : index to i32
        %v = arith.sitofp %i : i32 to f32
        memref.store %v, %out[%r, %t] : memref<4x8xf32, strided<[{rows}, {columns}]>>
      }}"""
    text = kernel(body, f"%out: memref<4x8xf32, strided<[{rows}, {columns}]>>", threads=8)
    sign = KernelSignature("k", (), (MemRefArgument(dtype("f32"), (4, 8), (rows, columns)),))
    run(text, sign, [out])
    np.testing.assert_array_equal(out, np.add.outer(np.arange(4), np.arange(8)))
