"""MLIR text for cells: one kernel a cell, many kernels a module."""

from __future__ import annotations

from collections.abc import Sequence

from .matrix_cells import DTYPES, SWIZZLES, Cell

SHARED = "#gpu.address_space<workgroup>"


def shapes(cell: Cell) -> tuple[list[int], list[int]]:
    """Extents of the tensor and of the tile, memref order. The tile's rows are as long as the swizzle allows; the
    tensor is wider and higher in every dimension, so that no two of them fold into one."""
    size = DTYPES[cell.dtype]
    row = (SWIZZLES[cell.swizzle] or 64) // size
    if cell.option in ("gather", "im2col"):
        return [5] * (cell.rank - 1) + [row * 2], [4, row]
    tile = [2] * (cell.rank - 1) + [row]
    return [5] * (cell.rank - 1) + [row * 2 if cell.rank > 1 else row], tile


def kernel(cell: Cell) -> str:
    """The lines of one ``memref.global`` and one ``gpu.func``; the copy's own line is marked ``// copy N``."""
    tensor, tile = shapes(cell)
    zeros = ", ".join("0" * cell.rank)
    global_zeros = ", ".join("0" * {"gather": 5, "im2col": max(2 * cell.rank - 2, 1)}.get(cell.option, cell.rank))
    shared_zeros = ", ".join("0" * len(tile))
    # MLIR lowers no memrefs of tf32: it is a property of the copy.
    element = "f32" if cell.dtype == "tf32" else cell.dtype
    sizes = ", ".join(map(str, tile))
    global_type = f"memref<{'x'.join(map(str, tensor))}x{element}>"
    name = f"k{cell.index}"
    if cell.option == "prefetch":
        prefetch = (
            f'"tile.prefetch_async"(%t) {{static_source_offsets = array<i64: {zeros}>, sizes = array<i64: {sizes}>, '
            f"operandSegmentSizes = array<i32: 1, 0, 0, 0>}} : ({global_type}) -> () // copy {cell.index}"
        )
        return f"""
    gpu.func @{name}(%t: {global_type}) kernel {{
      {prefetch}
      gpu.return
    }}"""
    shared_type = f"memref<{'x'.join(map(str, tile))}x{element}, {SHARED}>"
    source, destination = ("%t", "%s") if cell.direction == "load" else ("%s", "%t")
    types = [global_type, shared_type] if cell.direction == "load" else [shared_type, global_type]
    operands, segments = [source, destination], [1, 1, 0, 0, 0, 0, 0, 0, 0]
    if cell.direction == "load":
        operands += ["%b", "%c0"]
        types += ["!barrier", "index"]
        segments[4] = segments[5] = 1
    attributes = [] if cell.swizzle == "none" else [f'swizzle = #tile.swizzle<"{cell.swizzle}">']
    if cell.dtype == "tf32":
        attributes.append("tf32")
    if cell.option == "multicast":
        operands.append("%m")
        types.append("i16")
        segments[7] = 1
    if cell.option == "gather":
        attributes.append(f'mode = "{"gather4" if cell.direction == "load" else "scatter4"}"')
    if cell.option == "im2col":
        corner = [0] * max(cell.rank - 2, 1)
        attributes.append(f'mode = "im2col", im2col = {{lower_corner = {corner}, upper_corner = {corner}}}')
    attributes += {
        "nan": ['oob = "nan"'],
        "hint": ['cache = "evict_last"'],
        "fraction": ['cache = "evict_first:0.5"'],
        "group": ["cta_group = 2"],
    }.get(cell.option, [])
    if cell.option.startswith("reduce_"):
        attributes.append(f'reduce = "{cell.option.removeprefix("reduce_")}"')
    extra = "".join(f"{each}, " for each in attributes)
    starts = (global_zeros, shared_zeros) if cell.direction == "load" else (shared_zeros, global_zeros)
    copy = (
        f'"tile.copy_async"({", ".join(operands)}) {{static_source_offsets = array<i64: {starts[0]}>, '
        f"static_destination_offsets = array<i64: {starts[1]}>, sizes = array<i64: {sizes}>, {extra}"
        f'variant = "tma", operandSegmentSizes = array<i32: {", ".join(map(str, segments))}>}} '
        f": ({', '.join(types)}) -> () // copy {cell.index}"
    )
    return f"""
    memref.global "private" @s{cell.index} : {shared_type}
    gpu.func @{name}(%t: {global_type}, %m: i16) kernel {{
      %c0 = arith.constant 0 : index
      %b = nvgpu.mbarrier.create -> !barrier
      %s = memref.get_global @s{cell.index} : {shared_type}
      {copy}
      gpu.return
    }}"""


def module(cells: Sequence[Cell]) -> str:
    """A module with one kernel for each cell."""
    kernels = "".join(map(kernel, cells))
    return f"""!barrier = !nvgpu.mbarrier.group<memorySpace = {SHARED}>
module attributes {{gpu.container_module}} {{
  gpu.module @kernels {{{kernels}
  }}
}}
"""
