"""Every kind of asynchronous copy through the interpreter, and what is reported about them."""

from __future__ import annotations

import numpy as np
import pytest

from support.sim_kernels import kernel, run, shared, signature
from tma_mlir.abi.signature import KernelSignature, MemRefArgument, TensorMapArgument
from tma_mlir.dtypes import dtype
from tma_mlir.plan.tensor_map import Swizzle, TensorMap
from tma_mlir.sim.errors import SimulationError

FENCE = "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}"

POINTERS = """
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %z = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %ticks = arith.constant 100000 : i32
      %t = gpu.thread_id x
      %is0 = arith.cmpi eq, %t, %c0 : index
      %s = memref.get_global @s : memref<32x16xi32, 3>
      %si = memref.extract_aligned_pointer_as_index %s : memref<32x16xi32, 3> -> index
      %s64 = arith.index_cast %si : index to i64
      %sp = llvm.inttoptr %s64 : i64 to !llvm.ptr<3>
      %b = memref.get_global @bar : memref<1xi64, 3>
      %bi = memref.extract_aligned_pointer_as_index %b : memref<1xi64, 3> -> index
      %b64 = arith.index_cast %bi : index to i64
      %bp = llvm.inttoptr %b64 : i64 to !llvm.ptr<3>
"""
SHARED = shared("s", "32x16xi32") + "\n    " + shared("bar", "1xi64", 8)

FILL = """
      %tt = arith.index_cast %t : index to i32
      %c16 = arith.constant 16 : index
      scf.for %j = %c0 to %c16 step %c1 {
        memref.store %tt, %s[%t, %j] : memref<32x16xi32, 3>
      }"""


@pytest.mark.parametrize("kind", ["add", "max", "inc", "xor"])
def test_a_tensor_reduction_combines(kind):
    body = f"""{POINTERS}{FILL}
      {FENCE}
      gpu.barrier
      scf.if %is0 {{
        nvvm.cp.async.bulk.tensor.reduce %map, %sp, box[%z, %z] {{redKind = #nvvm.tma_redux_kind<{kind}>}}
          : !llvm.ptr, !llvm.ptr<3>
        nvvm.cp.async.bulk.commit.group
        nvvm.cp.async.bulk.wait_group 0
      }}"""
    old = np.random.default_rng(0).integers(0, 40, (32, 16)).astype(np.uint32)
    out = old.copy().view(np.int32)
    lanes = np.arange(32, dtype=np.uint32)[:, None]
    expected = {
        "add": old + lanes,
        "max": np.maximum(old, lanes),
        "inc": np.where(old >= lanes, 0, old + 1),
        "xor": old ^ lanes,
    }[kind]
    box = TensorMap("UINT32", (16, 32), (64,), (16, 32), (1, 1))
    run(
        kernel(body, "%map: !llvm.ptr, %out: memref<32x16xi32>", SHARED, threads=32),
        signature([("i32", (32, 16))], [(0, box)]),
        [out],
    )
    np.testing.assert_array_equal(out.view(np.uint32), expected)


def bulk_load(count: int) -> str:
    return f"""{POINTERS}
      %size = arith.constant {count} : i32
      %gi = memref.extract_aligned_pointer_as_index %in : memref<32x16xi32> -> index
      %g64 = arith.index_cast %gi : index to i64
      %g = llvm.inttoptr %g64 : i64 to !llvm.ptr<1>
      %sc = llvm.addrspacecast %sp : !llvm.ptr<3> to !llvm.ptr<7>
      scf.if %is0 {{
        nvvm.mbarrier.init %bp, %one : !llvm.ptr<3>, i32
      }}
      gpu.barrier
      scf.if %is0 {{
        nvvm.mbarrier.arrive.expect_tx %bp, %size : !llvm.ptr<3>, i32
        nvvm.cp.async.bulk.shared.cluster.global %sc, %g, %bp, %size : !llvm.ptr<7>, !llvm.ptr<1>
      }}
      nvvm.mbarrier.try_wait.parity %bp, %z, %ticks : !llvm.ptr<3>, i32, i32
      %c16 = arith.constant 16 : index
      scf.for %j = %c0 to %c16 step %c1 {{
        %v = memref.load %s[%t, %j] : memref<32x16xi32, 3>
        memref.store %v, %out[%t, %j] : memref<32x16xi32>
      }}"""


BULK_ARGUMENTS = "%in: memref<32x16xi32>, %out: memref<32x16xi32>"
TWO_TENSORS = [("i32", (32, 16)), ("i32", (32, 16))]


@pytest.mark.parametrize("seed", range(3))
def test_a_bulk_load_brings_a_run_of_bytes(seed):
    x = np.arange(512, dtype=np.int32).reshape(32, 16)
    out = np.zeros_like(x)
    run(kernel(bulk_load(2048), BULK_ARGUMENTS, SHARED, threads=32), signature(TWO_TENSORS, []), [x, out], seed)
    np.testing.assert_array_equal(out, x)


def test_a_bulk_load_of_an_odd_size_is_illegal():
    x = np.zeros((32, 16), np.int32)
    with pytest.raises(SimulationError, match="not a multiple of 16 B") as error:
        run(kernel(bulk_load(2040), BULK_ARGUMENTS, SHARED, threads=32), signature(TWO_TENSORS, []), [x, x.copy()])
    assert error.value.kind == "illegal instruction"


def test_a_bulk_load_shorter_than_what_is_read_leaves_the_rest_unwritten():
    x = np.zeros((32, 16), np.int32)
    with pytest.raises(SimulationError, match=r"reads shared memory at @s\+0x400 that nothing has written") as error:
        run(kernel(bulk_load(1024), BULK_ARGUMENTS, SHARED, threads=32), signature(TWO_TENSORS, []), [x, x.copy()])
    assert error.value.kind == "uninitialised read"


STORE = f"""{POINTERS}{FILL}
      {FENCE}
      gpu.barrier
      scf.if %is0 {{
        nvvm.cp.async.bulk.tensor.global.shared.cta %map, %sp, box[%x, %y] : !llvm.ptr, !llvm.ptr<3>
        nvvm.cp.async.bulk.commit.group
        nvvm.cp.async.bulk.wait_group 0
      }}"""


def store(x: int, y: int, columns: int = 16, swizzle: Swizzle = Swizzle.NONE):
    """Store a 32x16 box at element (x, y) into ``columns`` columns of a 32x32 array."""
    out = np.full((32, 32), -1, np.int32)
    body = STORE.replace("%one =", f"%x = arith.constant {x} : i32\n      %y = arith.constant {y} : i32\n      %one =")
    box = TensorMap("INT32", (columns, 32), (128,), (16, 32), (1, 1), swizzle)
    sign = KernelSignature("k", (TensorMapArgument(0, box),), (MemRefArgument(dtype("i32"), (32, columns), (32, 1)),))
    result = run(kernel(body, "%map: !llvm.ptr, %out: memref<32x32xi32>", SHARED, threads=32), sign, [out[:, :columns]])
    return out, result


def test_a_store_tail_within_16_bytes_is_reported():
    out, result = store(0, 0, columns=14)
    # Columns 14 and 15 are the neighbour's; the hardware writes them too.
    assert out[5, 13:17].tolist() == [5, 5, 5, -1]
    assert [finding.kind for finding in result.findings] == ["16-byte clip"]
    assert "writes 8 B past the end" in result.findings[0].message
    assert result.findings[0].location.startswith("-:")


def test_a_store_inside_the_tensor_reports_nothing():
    out, result = store(0, 0)
    assert out[3].tolist() == [3] * 16 + [-1] * 16
    assert result.findings == ()


@pytest.mark.parametrize(("x", "y", "text"), [(2, 0, "not a multiple of 16 B"), (0, -1, "negative start coordinate")])
def test_illegal_store_coordinates_are_the_fault_of_the_chip(x, y, text):
    with pytest.raises(SimulationError, match=text) as error:
        store(x, y)
    assert error.value.kind == "illegal instruction"


def test_a_tile_over_a_barrier_is_found():
    body = bulk_load(2048).replace("%sc = llvm.addrspacecast %sp", "%sc = llvm.addrspacecast %low")
    body = body.replace(
        "%sc =", "%m = arith.constant 1008 : i64\n      %l64 = arith.subi %b64, %m : i64\n"
        "      %low = llvm.inttoptr %l64 : i64 to !llvm.ptr<3>\n      %sc ="
    )  # fmt: skip
    x = np.zeros((32, 16), np.int32)
    with pytest.raises(SimulationError, match="writes over mbarrier @bar") as error:
        run(
            kernel(body, BULK_ARGUMENTS, SHARED + "\n    " + shared("more", "1024xi32"), threads=32),
            signature(TWO_TENSORS, []),
            [x, x.copy()],
        )
    assert error.value.kind == "barrier overwritten"


def test_dynamic_shared_memory_that_is_not_external_overlaps():
    body = """
      %m = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %c0 = arith.constant 0 : index
      %s = memref.get_global @s : memref<32x16xi32, 3>
      %v = arith.constant 1 : i8
      %w = arith.constant 1 : i32
      memref.store %w, %s[%c0, %c0] : memref<32x16xi32, 3>
      memref.store %v, %m[%c0] : memref<?xi8, #gpu.address_space<workgroup>>"""
    with pytest.raises(SimulationError, match="ptxas places it over the static variables") as error:
        run(
            kernel(body, "%in: memref<4xf32>", SHARED, threads=32),
            signature([("f32", (4,))], [], dynamic=1024),
            [np.zeros(4, np.float32)],
        )
    assert error.value.kind == "shared memory overlap"


def test_bank_conflicts_and_sectors_are_counted():
    body = """
      %t = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %s = memref.get_global @s : memref<32x32xf32, 3>
      %v = memref.load %in[%t, %c0] : memref<32x32xf32>
      memref.store %v, %s[%t, %c0] : memref<32x32xf32, 3>
      %w = memref.load %s[%t, %c0] : memref<32x32xf32, 3>
      memref.store %w, %out[%t] : memref<32xf32>"""
    text = kernel(body, "%in: memref<32x32xf32>, %out: memref<32xf32>", shared("s", "32x32xf32"), threads=32)
    sign = signature([("f32", (32, 32)), ("f32", (32,))], [])
    result = run(text, sign, [np.zeros((32, 32), np.float32), np.zeros(32, np.float32)], profile=True)
    assert result.profile is not None
    found = {(s.space, s.operation): (s.wavefronts, s.ideal) for s in result.profile.report()}
    # A column of 128-byte rows: all lanes in one bank, and one sector each; the contiguous store needs four.
    assert found == {
        ("shared", "store"): (32, 1),
        ("shared", "load"): (32, 1),
        ("global", "load"): (32, 4),
        ("global", "store"): (4, 4),
    }


def test_too_much_shared_memory_is_said():
    body = """
      %t = gpu.thread_id x
      %s = memref.get_global @s : memref<65536xf32, 3>
      %v = memref.load %in[%t] : memref<32xf32>
      memref.store %v, %s[%t] : memref<65536xf32, 3>"""
    with pytest.raises(SimulationError, match="needs 262144 B of shared memory, a block on sm_90a has at most 232448"):
        run(
            kernel(body, "%in: memref<32xf32>", shared("s", "65536xf32"), threads=32),
            signature([("f32", (32,))], []),
            [np.zeros(32, np.float32)],
        )


def test_a_descriptor_must_be_a_parameter():
    body = STORE.replace("%one =", "%x = arith.constant 0 : i32\n      %y = arith.constant 0 : i32\n      %one =")
    with pytest.raises(SimulationError, match="no tensor map at address"):
        # The pointer passed for the map is the array itself.
        run(
            kernel(body, "%map: !llvm.ptr, %out: memref<32x32xi32>", SHARED, threads=32),
            signature([("i32", (32, 32)), ("i32", (32, 32))], []),
            [np.zeros((32, 32), np.int32), np.zeros((32, 32), np.int32)],
        )


DSMEM = f"""{POINTERS}{FILL}
      %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
      %peer = arith.xori %rank, %one : i32
      %size = arith.constant 1024 : i32
      %half = arith.constant 1024 : i64
      %to64 = arith.addi %s64, %half : i64
      %to = llvm.inttoptr %to64 : i64 to !llvm.ptr<3>
      %far = nvvm.mapa %to, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
      %bpeer = nvvm.mapa %bp, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
      %bfar = llvm.addrspacecast %bpeer : !llvm.ptr<7> to !llvm.ptr<3>
      scf.if %is0 {{
        nvvm.mbarrier.init %bp, %one : !llvm.ptr<3>, i32
        nvvm.mbarrier.arrive.expect_tx %bp, %size : !llvm.ptr<3>, i32
      }}
      {FENCE}
      nvvm.cluster.arrive
      nvvm.cluster.wait
      scf.if %is0 {{
        nvvm.cp.async.bulk.shared.cluster.shared.cta %far, %sp, %bfar, %size : !llvm.ptr<7>, !llvm.ptr<3>
      }}
      nvvm.mbarrier.try_wait.parity %bp, %z, %ticks : !llvm.ptr<3>, i32, i32
      %v = memref.load %s[%t, %c0] : memref<32x16xi32, 3>
      %r64 = arith.index_cast %rank : i32 to index
      memref.store %v, %out[%r64, %t] : memref<2x32xi32>
      nvvm.cluster.arrive
      nvvm.cluster.wait"""


@pytest.mark.parametrize("seed", range(3))
def test_a_bulk_copy_between_ctas_of_a_cluster(seed):
    out = np.zeros((2, 32), np.int32)
    # The lower half of each tile (rows 0..15) goes to the upper half of the other CTA's.
    run(
        kernel(DSMEM, "%out: memref<2x32xi32>", SHARED, threads=32),
        signature([("i32", (2, 32))], []),
        [out],
        seed,
        grid=(2, 1, 1),
        cluster=(2, 1, 1),
    )
    assert out.tolist() == [[*range(16), *range(16)]] * 2
