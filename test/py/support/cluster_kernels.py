"""A kernel whose CTAs load one tile together, for tests of multicast, cluster_split and cta_group."""

from __future__ import annotations

SHARED = "#gpu.address_space<workgroup>"


def cluster_load(
    cluster: int,
    mask: str,
    attributes: str,
    *,
    element: str = "f32",
    shape: tuple[int, ...] = (16, 16),
    known: bool = True,
    arrivals: int = 1,
    waits: str = "",
    issues: str = "",
    extra: str = "",
) -> str:
    """A kernel ``@k(%in, %out, %given: i16)``: each CTA fills its tile with ones and makes the copy; then it writes the
    tile to its part of ``%out``.

    ``mask``: a constant, or code that makes ``%mask`` of ``%given`` and the rank ``%r``. ``arrivals``: of each
    mbarrier. ``waits``, ``issues``: code that makes ``%waits``, ``%issues`` (i1), where not every CTA waits on its own
    mbarrier or executes the copy. ``extra``: code of the leading thread before the copy. ``known``: the kernel says
    its cluster.
    """
    rank, count = len(shape), 1
    for extent in shape:
        count *= extent
    dims = "x".join(map(str, shape))
    size = f", known_cluster_size = array<i32: {cluster}, 1, 1>" if known else ""
    mask_code = mask if "%mask" in mask else f"%mask = arith.constant {mask} : i16"
    zeros, groups = ", ".join(["0"] * rank), ", ".join(map(str, range(rank)))
    one = "1.0" if element[0] in "fb" else "1"
    return f"""
!barrier = !nvgpu.mbarrier.group<memorySpace = {SHARED}>
!tile = memref<{dims}x{element}, {SHARED}>
!flat = memref<{count}x{element}, {SHARED}>
module attributes {{gpu.container_module}} {{
  gpu.module @kernels {{
    memref.global "private" @tile : !tile
    gpu.func @k(%in: memref<{dims}x{element}>, %out: memref<{cluster}x{count}x{element}>, %given: i16) kernel
        attributes {{known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: {cluster}, 1, 1>{size}}} {{
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %arrivals = arith.constant {arrivals} : index
      %count = arith.constant {count} : index
      %phase = arith.constant false
      %true = arith.constant true
      %one = arith.constant {one} : {element}
      %thread = gpu.thread_id x
      %leader = arith.cmpi eq, %thread, %c0 : index
      %r32 = nvvm.read.ptx.sreg.cluster.ctarank : i32
      %r = arith.index_castui %r32 : i32 to index
      %r16 = arith.trunci %r32 : i32 to i16
      %one16 = arith.constant 1 : i16
      %bit = arith.andi %r16, %one16 : i16
      %odd = arith.cmpi eq, %bit, %one16 : i16
      {mask_code}
      {waits or "%waits = arith.ori %true, %true : i1"}
      {issues or "%issues = arith.ori %true, %true : i1"}
      %tile = memref.get_global @tile : !tile
      %flat = memref.collapse_shape %tile [[{groups}]] : !tile into !flat
      %barrier = nvgpu.mbarrier.create -> !barrier
      scf.if %leader {{
        nvgpu.mbarrier.init %barrier[%c0], %arrivals : !barrier
        nvvm.fence.mbarrier.init
      }}
      scf.for %i = %thread to %count step %c32 {{
        memref.store %one, %flat[%i] : !flat
      }}
      nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
      nvvm.cluster.arrive
      nvvm.cluster.wait
      %go = arith.andi %leader, %issues : i1
      scf.if %leader {{
        {extra}
      }}
      scf.if %go {{
        "tile.copy_async"(%in, %tile, %barrier, %c0, %mask) {{
          static_source_offsets = array<i64: {zeros}>, static_destination_offsets = array<i64: {zeros}>,
          sizes = array<i64: {", ".join(map(str, shape))}>, {attributes},
          operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 1, 0>
        }} : (memref<{dims}x{element}>, !tile, !barrier, index, i16) -> ()
      }}
      scf.if %waits {{
        "tile.wait"(%barrier, %c0, %phase) : (!barrier, index, i1) -> ()
      }}
      nvvm.cluster.arrive
      nvvm.cluster.wait
      scf.for %i = %thread to %count step %c32 {{
        %value = memref.load %flat[%i] : !flat
        memref.store %value, %out[%r, %i] : memref<{cluster}x{count}x{element}>
      }}
      gpu.return
    }}
  }}
}}
"""
