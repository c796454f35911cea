"""wgmma by hand-made descriptors, mma.sync with ldmatrix: products against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from support.sim_kernels import kernel, run, shared, signature
from tma_mlir.plan.tensor_map import Swizzle, TensorMap
from tma_mlir.sim.errors import SimulationError

N = 16
MODES = {Swizzle.B128: 1, Swizzle.B64: 2, Swizzle.B32: 3}
BAR = "!nvgpu.mbarrier.group<memorySpace = 3>"
REGISTERS = N // 2
STRUCT = f"!llvm.struct<({', '.join(['f32'] * REGISTERS)})>"


def k_major(swizzle: Swizzle, wait: str = "nvvm.wgmma.wait.group.sync.aligned 0") -> str:
    """D[64, 16] = A[64, 16] B[16, 16]^T, both K-major in swizzled tiles that TMA loads; rows are one span wide."""
    span = swizzle.span_bytes
    columns = span // 2
    # Stride between groups of eight rows; bits 62-63 are the swizzle mode, bits 16-29 are unused here.
    fields = (8 * span >> 4) << 32 | MODES[swizzle] << 62
    fields = fields - (1 << 64) if fields >= 1 << 63 else fields
    maps = [
        f"!nvgpu.tensormap.descriptor<tensor = memref<{rows}x{columns}xf16, 3>, swizzle = swizzle_{span}b, "
        "l2promo = none, oob = zero, interleave = none>"
        for rows in (64, N)
    ]
    stores = "\n".join(
        f"""
      %v{j} = llvm.extractvalue %d[{j}] : {STRUCT}
      %j{j} = arith.constant {j} : index
      memref.store %v{j}, %out[%t, %j{j}] : memref<128x{REGISTERS}xf32>"""
        for j in range(REGISTERS)
    )
    return f"""
      %da = builtin.unrealized_conversion_cast %mapa : !llvm.ptr to {maps[0]}
      %db = builtin.unrealized_conversion_cast %mapb : !llvm.ptr to {maps[1]}
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %bytes = arith.constant {(64 + N) * span} : index
      %ticks = arith.constant 100000 : index
      %false = arith.constant false
      %t = gpu.thread_id x
      %is0 = arith.cmpi eq, %t, %c0 : index
      %sa = memref.get_global @sa : memref<64x{columns}xf16, 3>
      %sb = memref.get_global @sb : memref<{N}x{columns}xf16, 3>
      %bar = nvgpu.mbarrier.create -> {BAR}
      nvgpu.mbarrier.init %bar[%c0], %c1, predicate = %is0 : {BAR}
      gpu.barrier
      scf.if %is0 {{
        nvgpu.mbarrier.arrive.expect_tx %bar[%c0], %bytes : {BAR}
        nvgpu.tma.async.load %da[%c0, %c0], %bar[%c0] to %sa : {maps[0]}, {BAR} -> memref<64x{columns}xf16, 3>
        nvgpu.tma.async.load %db[%c0, %c0], %bar[%c0] to %sb : {maps[1]}, {BAR} -> memref<{N}x{columns}xf16, 3>
      }}
      nvgpu.mbarrier.try_wait.parity %bar[%c0], %false, %ticks : {BAR}
      %fields = arith.constant {fields} : i64
      %four = arith.constant 4 : i64
      %ia = memref.extract_aligned_pointer_as_index %sa : memref<64x{columns}xf16, 3> -> index
      %la = arith.index_cast %ia : index to i64
      %ra = arith.shrui %la, %four : i64
      %a = arith.ori %ra, %fields : i64
      %ib = memref.extract_aligned_pointer_as_index %sb : memref<{N}x{columns}xf16, 3> -> index
      %lb = arith.index_cast %ib : index to i64
      %rb = arith.shrui %lb, %four : i64
      %b = arith.ori %rb, %fields : i64
      %zero = llvm.mlir.undef : {STRUCT}
      nvvm.wgmma.fence.aligned
      %d = nvvm.wgmma.mma_async %a, %b, %zero, #nvvm.shape<m = 64, n = {N}, k = 16>,
        D [<f32>, #nvvm.wgmma_scale_out<zero>], A [<f16>, #nvvm.wgmma_scale_in<one>, <row>],
        B [<f16>, #nvvm.wgmma_scale_in<neg>, <col>] : {STRUCT} -> {STRUCT}
      nvvm.wgmma.commit.group.sync.aligned
      {wait}
      {stores}"""


def product(swizzle: Swizzle, extra: str = "", **options) -> tuple[np.ndarray, np.ndarray]:
    columns = swizzle.span_bytes // 2
    random = np.random.default_rng(5)
    a, b = (random.integers(-4, 5, (rows, columns)).astype(np.float16) for rows in (64, N))
    out = np.zeros((128, REGISTERS), np.float32)
    text = kernel(
        k_major(swizzle, **options),
        f"%mapa: !llvm.ptr, %mapb: !llvm.ptr, %a0: memref<64x{columns}xf16>, %b0: memref<{N}x{columns}xf16>, "
        f"%out: memref<128x{REGISTERS}xf32>",
        shared("sa", f"64x{columns}xf16") + "\n    " + shared("sb", f"{N}x{columns}xf16"),
    )
    boxes = [
        TensorMap("FLOAT16", (columns, rows), (2 * columns,), (columns, rows), (1, 1), swizzle) for rows in (64, N)
    ]
    sign = signature([("f16", (64, columns)), ("f16", (N, columns)), ("f32", (128, REGISTERS))], list(enumerate(boxes)))
    run(text, sign, [a, b, out], extra=extra)
    expected = -(a[:, :16].astype(np.float32) @ b[:, :16].astype(np.float32).T)
    return out, expected


def fragments(matrix: np.ndarray) -> np.ndarray:
    """The accumulator registers of each thread for a 64-row result: written from the PTX ISA's figure, by loops."""
    found = np.zeros((128, matrix.shape[1] // 2), np.float32)
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        for register in range(found.shape[1]):
            row = 16 * warp + lane // 4 + (8 if register % 4 >= 2 else 0)
            column = register // 4 * 8 + lane % 4 * 2 + register % 2
            found[thread, register] = matrix[row, column]
    return found


@pytest.mark.parametrize("swizzle", list(MODES))
@pytest.mark.parametrize("extra", ["", ",convert-nvvm-to-llvm"])
def test_wgmma_multiplies_k_major_tiles(swizzle, extra):
    out, expected = product(swizzle, extra)
    np.testing.assert_array_equal(out, fragments(expected))


MMA = """
      %c0 = arith.constant 0 : index
      %t = gpu.thread_id x
      %sa = memref.get_global @sa : memref<16x16xf16, 3>
      %sb = memref.get_global @sb : memref<8x16xf16, 3>
      %c16 = arith.constant 16 : index
      %c8 = arith.constant 8 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %c16 step %c1 {
        %in16 = arith.cmpi ult, %t, %c16 : index
        scf.if %in16 {
          %v = memref.load %a[%i, %t] : memref<16x16xf16>
          memref.store %v, %sa[%i, %t] : memref<16x16xf16, 3>
          %low = arith.cmpi ult, %i, %c8 : index
          scf.if %low {
            %u = memref.load %b[%i, %t] : memref<8x16xf16>
            memref.store %u, %sb[%i, %t] : memref<8x16xf16, 3>
          }
        }
      }
      gpu.barrier
      // Lane l gives the address of row l % 16, column 8 (l / 16) of A; of row l % 8, column 8 (l / 8 % 2) of B.
      %ra = arith.remui %t, %c16 : index
      %ha = arith.divui %t, %c16 : index
      %ca = arith.muli %ha, %c8 : index
      %fa = nvgpu.ldmatrix %sa[%ra, %ca] {numTiles = 4 : i32, transpose = false}
        : memref<16x16xf16, 3> -> vector<4x2xf16>
      %rb = arith.remui %t, %c8 : index
      %c2 = arith.constant 2 : index
      %hb0 = arith.divui %t, %c8 : index
      %hb = arith.remui %hb0, %c2 : index
      %cb = arith.muli %hb, %c8 : index
      %fb = nvgpu.ldmatrix %sb[%rb, %cb] {numTiles = 2 : i32, transpose = false}
        : memref<8x16xf16, 3> -> vector<2x2xf16>
      %zero = arith.constant dense<0.0> : vector<2x2xf32>
      %d = nvgpu.mma.sync(%fa, %fb, %zero) {mmaShape = [16, 8, 16]}
        : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
      %flat = vector.shape_cast %d : vector<2x2xf32> to vector<4xf32>
      vector.store %flat, %out[%t, %c0] : memref<32x4xf32>, vector<4xf32>"""


def test_mma_sync_multiplies_what_ldmatrix_loads():
    random = np.random.default_rng(2)
    a, b = (random.integers(-4, 5, (rows, 16)).astype(np.float16) for rows in (16, 8))
    out = np.zeros((32, 4), np.float32)
    text = kernel(
        MMA,
        "%a: memref<16x16xf16>, %b: memref<8x16xf16>, %out: memref<32x4xf32>",
        shared("sa", "16x16xf16") + "\n    " + shared("sb", "8x16xf16"),
        threads=32,
    )
    run(text, signature([("f16", (16, 16)), ("f16", (8, 16)), ("f32", (32, 4))], []), [a, b, out])
    full = a.astype(np.float32) @ b.astype(np.float32).T
    expected = [[full[lane // 4 + 8 * (j // 2), 2 * (lane % 4) + j % 2] for j in range(4)] for lane in range(32)]
    np.testing.assert_array_equal(out, expected)


def test_wgmma_on_a_tile_that_has_not_arrived_is_a_race():
    body = k_major(Swizzle.B128).replace("nvgpu.mbarrier.try_wait", "// nvgpu.mbarrier.try_wait")
    arguments = (
        f"%mapa: !llvm.ptr, %mapb: !llvm.ptr, %a0: memref<64x64xf16>, %b0: memref<{N}x64xf16>, "
        f"%out: memref<128x{REGISTERS}xf32>"
    )
    text = kernel(body, arguments, shared("sa", "64x64xf16") + "\n    " + shared("sb", f"{N}x64xf16"))
    boxes = [TensorMap("FLOAT16", (64, rows), (128,), (64, rows), (1, 1), Swizzle.B128) for rows in (64, N)]
    sign = signature([("f16", (64, 64)), ("f16", (N, 64)), ("f32", (128, REGISTERS))], list(enumerate(boxes)))
    arrays = [np.zeros((64, 64), np.float16), np.zeros((N, 64), np.float16), np.zeros((128, REGISTERS), np.float32)]
    with pytest.raises(SimulationError, match="tensor load of a 64x64 box") as error:
        run(text, sign, arrays)
    assert error.value.kind == "read before completion"
