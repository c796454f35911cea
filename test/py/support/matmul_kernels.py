"""Kernels of one warpgroup that multiply two tiles with nvgpu's warpgroup operations."""

from __future__ import annotations

from .copy_kernels import SHARED, shared_type

BYTES = {"f16": 2, "bf16": 2, "f8E4M3FN": 1}


def matmul(
    m: int, n: int, k: int, element: str, *, m_contiguous: bool = False, n_contiguous: bool = True,
    map_rows: int | None = None, layout: str = 'destination_layout = #tile.atoms<"128B">', blocks: int = 1,
) -> str:  # fmt: skip
    """``@k(%ga, %gb, %c)``: C[m, n] = A B in f32. A and B lie as [m, k] and [k, n], or transposed where K is
    contiguous in B or M in A. ``map_rows``: rows of the tensor map's type for B; ``layout``: that of A's tile;
    ``blocks``: so many pieces of rows of A and C, each with its own descriptor, product and store."""
    a, b = (k, m) if m_contiguous else (m, k), (k, n) if n_contiguous else (n, k)
    size = BYTES[element]
    rows = m // blocks
    flags = "transposeA, " * m_contiguous + "transposeB, " * n_contiguous
    start_of_b = -(-m * k * size // 1024) * 1024
    return f"""
!bar = !nvgpu.mbarrier.group<memorySpace = {SHARED}>
!a = {shared_type(a, element)}
!b = {shared_type(b, element)}
!da = !nvgpu.warpgroup.descriptor<tensor = {shared_type((rows, k), element)}>
!db = !nvgpu.warpgroup.descriptor<tensor = {shared_type((k, n), element)}>
!map_a = {_map(a[0], element)}
!map_b = {_map(map_rows or b[0], element)}
!c = memref<{m}x{n}xf32>
!sum = !nvgpu.warpgroup.accumulator<fragmented = vector<{rows}x{n}xf32>>
module attributes {{gpu.container_module}} {{
  gpu.module @m {{
    gpu.func @k(%ga: memref<{a[0]}x{a[1]}x{element}>, %gb: memref<{b[0]}x{b[1]}x{element}>, %c: !c)
        kernel attributes {{known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 1, 1, 1>}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %start = arith.constant {start_of_b} : index
      %false = arith.constant false
      %t = gpu.thread_id x
      %leader = arith.cmpi eq, %t, %c0 : index
      %dynamic = gpu.dynamic_shared_memory : memref<?xi8, {SHARED}>
      %a = memref.view %dynamic[%c0][] : memref<?xi8, {SHARED}> to !a
      %b = memref.view %dynamic[%start][] : memref<?xi8, {SHARED}> to !b
      %bar = nvgpu.mbarrier.create -> !bar
      scf.if %leader {{
        nvgpu.mbarrier.init %bar[%c0], %c1 : !bar
      }}
      gpu.barrier
      scf.if %leader {{
        {_load("a", a, element, layout)}
        {_load("b", b, element, 'destination_layout = #tile.atoms<"128B">')}
      }}
      "tile.wait"(%bar, %c0, %false) : (!bar, index, i1) -> ()
      // The descriptors take the layout from a tensor map's type; its value is not used.
      %null = llvm.mlir.zero : !llvm.ptr
      %map_a = builtin.unrealized_conversion_cast %null : !llvm.ptr to !map_a
      %map_b = builtin.unrealized_conversion_cast %null : !llvm.ptr to !map_b
      %bt = nvgpu.warpgroup.generate.descriptor %b, %map_b : !b, !map_b -> !nvgpu.warpgroup.descriptor<tensor = !b>
      %right = builtin.unrealized_conversion_cast %bt : !nvgpu.warpgroup.descriptor<tensor = !b> to !db
      {"".join(_block(i, rows, n, k, element, flags, whole=blocks == 1) for i in range(blocks))}
      gpu.return
    }}
  }}
}}
"""


def _map(rows: int, element: str) -> str:
    tile = shared_type((rows, 128 // BYTES[element]), element)
    return (
        f"!nvgpu.tensormap.descriptor<tensor = {tile}, swizzle = swizzle_128b, l2promo = none, oob = zero, "
        "interleave = none>"
    )


def _load(name: str, shape: tuple[int, int], element: str, layout: str) -> str:
    tensor = f"memref<{shape[0]}x{shape[1]}x{element}>"
    return f""""tile.copy_async"(%g{name}, %{name}, %bar, %c0) {{static_source_offsets = array<i64: 0, 0>,
          static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: {shape[0]}, {shape[1]}>,
          {layout + ", " if layout else ""}expect_tx,
          operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}} : ({tensor}, !{name}, !bar, index) -> ()"""


def _block(i: int, m: int, n: int, k: int, element: str, flags: str, whole: bool) -> str:
    """Rows ``m * i`` and on."""
    part = f"memref<{m}x{k}x{element}, strided<[{k}, 1], offset: {i * m * k}>, {SHARED}>"
    out = f"memref<{m}x{n}xf32, strided<[{n}, 1], offset: {i * m * n}>>"
    views = f"""
      %part{i} = memref.subview %a[{i * m}, 0] [{m}, {k}] [1, 1] : !a to {part}
      %out{i} = memref.subview %c[{i * m}, 0] [{m}, {n}] [1, 1] : !c to {out}"""
    tile, type_, result = ("%a", "!a", "%c") if whole else (f"%part{i}", part, f"%out{i}")
    return f"""{"" if whole else views}
      %at{i} = nvgpu.warpgroup.generate.descriptor {tile}, %map_a
        : {type_}, !map_a -> !nvgpu.warpgroup.descriptor<tensor = {type_}>
      %left{i} = builtin.unrealized_conversion_cast %at{i} : !nvgpu.warpgroup.descriptor<tensor = {type_}> to !da
      %zero{i} = nvgpu.warpgroup.mma.init.accumulator -> !sum
      %sum{i} = nvgpu.warpgroup.mma %left{i}, %right, %zero{i} {{{flags}waitGroup = 0}} : !da, !db, !sum -> !sum
      nvgpu.warpgroup.mma.store %sum{i}, {result} : !sum to {"!c" if whole else out}"""
