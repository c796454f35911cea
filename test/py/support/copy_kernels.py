"""Small kernels around one copy, for tests that only care about the copy."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

SHARED = "#gpu.address_space<workgroup>"
DYNAMIC = "-9223372036854775808"


def shared_type(shape: Sequence[int], element: str) -> str:
    return f"memref<{'x'.join(map(str, shape))}x{element}, {SHARED}>"


def global_type(shape: Sequence[int | str], element: str, strides: str = "") -> str:
    layout = f", strided<{strides}>" if strides else ""
    return f"memref<{'x'.join(map(str, shape))}x{element}{layout}>"


def load(
    tensor: str,
    sizes: Sequence[int],
    tile: Sequence[int] | None = None,
    *,
    element: str,
    offsets: Sequence[int | str] = (),
    attributes: str = "",
    before: str = "",
    arguments: str = "",
) -> str:
    """A kernel ``@k(%in, %out, ...)`` of 128 threads whose leader loads a tile, and whose threads write its bytes as
    they lie to ``%out``. ``offsets`` are numbers or names of index values made by ``before``."""
    tile = list(tile or sizes)
    count = prod(tile)
    offsets = list(offsets) or [0] * len(sizes)
    dynamic = [each for each in offsets if isinstance(each, str)]
    static = ", ".join(DYNAMIC if isinstance(each, str) else str(each) for each in offsets)
    zeros = ", ".join("0" for _ in tile)
    shared = shared_type(tile, element)
    flat = shared_type([count], element)
    operands = ", ".join(["%in", "%tile", *dynamic, "%barrier", "%c0"])
    types = ", ".join([tensor, shared, *["index"] * len(dynamic), "!barrier", "index"])
    extra = f"{attributes}, " if attributes else ""
    parameters = f", {arguments}" if arguments else ""
    return f"""
!barrier = !nvgpu.mbarrier.group<memorySpace = {SHARED}>
module attributes {{gpu.container_module}} {{
  gpu.module @kernels {{
    memref.global "private" @tile : {shared}
    gpu.func @k(%in: {tensor}, %out: memref<{count}x{element}>{parameters}) kernel
        attributes {{known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 1, 1, 1>}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c128 = arith.constant 128 : index
      %count = arith.constant {count} : index
      %ticks = arith.constant 10000000 : index
      %phase = arith.constant false
      %thread = gpu.thread_id x
      %leader = arith.cmpi eq, %thread, %c0 : index
      %tile = memref.get_global @tile : {shared}
      %barrier = nvgpu.mbarrier.create -> !barrier
      scf.if %leader {{
        nvgpu.mbarrier.init %barrier[%c0], %c1 : !barrier
      }}
      gpu.barrier
      {before}
      scf.if %leader {{
        "tile.copy_async"({operands}) {{static_source_offsets = array<i64: {static}>, static_destination_offsets = array<i64: {zeros}>, sizes = array<i64: {", ".join(map(str, sizes))}>, {extra}expect_tx, operandSegmentSizes = array<i32: 1, 1, {len(dynamic)}, 0, 1, 1, 0, 0, 0>}} : ({types}) -> ()
      }}
      nvgpu.mbarrier.try_wait.parity %barrier[%c0], %phase, %ticks : !barrier
      %flat = memref.collapse_shape %tile [[{", ".join(map(str, range(len(tile))))}]] : {shared} into {flat}
      scf.for %i = %thread to %count step %c128 {{
        %value = memref.load %flat[%i] : {flat}
        memref.store %value, %out[%i] : memref<{count}x{element}>
      }}
      gpu.return
    }}
  }}
}}
"""  # noqa: E501


def store(
    tensor: str,
    sizes: Sequence[int],
    *,
    element: str,
    offsets: Sequence[int | str] = (),
    attributes: str = "",
    before: str = "",
    arguments: str = "",
) -> str:
    """A kernel ``@k(%in, %out, ...)`` whose threads fill a tile from ``%in`` and whose leader stores it to ``%out``."""
    count = prod(sizes)
    offsets = list(offsets) or [0] * len(sizes)
    dynamic = [each for each in offsets if isinstance(each, str)]
    static = ", ".join(DYNAMIC if isinstance(each, str) else str(each) for each in offsets)
    zeros = ", ".join("0" for _ in sizes)
    shared, flat = shared_type(sizes, element), shared_type([count], element)
    types = ", ".join([shared, tensor, *["index"] * len(dynamic)])
    extra = f"{attributes}, " if attributes else ""
    parameters = f", {arguments}" if arguments else ""
    return f"""
module attributes {{gpu.container_module}} {{
  gpu.module @kernels {{
    memref.global "private" @tile : {shared}
    gpu.func @k(%in: memref<{count}x{element}>, %out: {tensor}{parameters}) kernel
        attributes {{known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 1, 1, 1>}} {{
      %c0 = arith.constant 0 : index
      %c128 = arith.constant 128 : index
      %count = arith.constant {count} : index
      %thread = gpu.thread_id x
      %leader = arith.cmpi eq, %thread, %c0 : index
      %tile = memref.get_global @tile : {shared}
      %flat = memref.collapse_shape %tile [[{", ".join(map(str, range(len(sizes))))}]] : {shared} into {flat}
      scf.for %i = %thread to %count step %c128 {{
        %value = memref.load %in[%i] : memref<{count}x{element}>
        memref.store %value, %flat[%i] : {flat}
      }}
      nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
      gpu.barrier
      {before}
      scf.if %leader {{
        "tile.copy_async"({", ".join(["%tile", "%out", *dynamic])}) {{static_source_offsets = array<i64: {zeros}>, static_destination_offsets = array<i64: {static}>, sizes = array<i64: {", ".join(map(str, sizes))}>, {extra}operandSegmentSizes = array<i32: 1, 1, 0, {len(dynamic)}, 0, 0, 0, 0, 0>}} : ({types}) -> ()
        nvvm.cp.async.bulk.commit.group
        nvvm.cp.async.bulk.wait_group 0
      }}
      gpu.return
    }}
  }}
}}
"""  # noqa: E501
