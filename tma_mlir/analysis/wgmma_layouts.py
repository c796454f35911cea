"""Whether wgmma's descriptors read tiles in the layout in which copies fill them."""

from __future__ import annotations

from collections.abc import Iterator

from ..bindings import ir
from ..diagnostics import place_text
from ..dialect.attributes import AtomsAttr, LayoutAttr, SwizzleAttr
from ..dialect.memrefs import read_memref
from ..dialect.tile import CopyAsyncOp
from ..dtypes import DTYPES
from ..errors import TileError
from ..layout.swizzle import Swizzle
from .ir_access import collect, copies_in
from .ordinary_writes import may_alias, shared_root, shared_writes
from .shared_regions import shared_region
from .wgmma_steps import SPAN_BYTES

_MODE = Swizzle.B128


def descriptor_errors(function: ir.Operation) -> Iterator[TileError]:
    """Every ``nvgpu.warpgroup.generate.descriptor`` on a tile that copies fill, none of them in 128-byte atoms.

    Says nothing where threads write the same memory too, or where it is not seen that the tiles are the same.
    """
    descriptors = collect(function, ("nvgpu.warpgroup.generate.descriptor",))
    if not descriptors:
        return
    loads = [copy for copy in copies_in(function) if copy.mbarrier is not None]
    regions = [shared_region(copy.destination) for copy in loads]
    written = [write.root for write in shared_writes(function)]
    for descriptor in descriptors:
        tile = descriptor.operands[0]
        if any(may_alias(shared_root(tile), root) for root in written):
            continue
        region = shared_region(tile)
        layouts = [
            (copy, _other_layout(copy)) for copy, at in zip(loads, regions, strict=True) if at.is_that_of(region)
        ]
        if layouts and all(layout is not None for _, layout in layouts):
            copy, layout = layouts[0]
            yield TileError(
                descriptor.location,
                f"'nvgpu.warpgroup.generate.descriptor' op reads its tile as 128-byte swizzled atoms, but the copy at "
                f"{place_text(copy.operation.location)} fills it {layout}, so wgmma would multiply other elements. "
                f'Give the copy destination_layout = #tile.atoms<"{_MODE.label}">, or make a descriptor for '
                "nvvm.wgmma.mma_async by hand",
            )


def _other_layout(copy: CopyAsyncOp) -> str | None:
    """How a copy lays its tile out, if not as 128-byte atoms or in a way that cannot be told; None otherwise."""
    attributes = copy.operation.attributes
    layouts = [attributes["destination_layout"]] if "destination_layout" in attributes else []
    if any(map(AtomsAttr.isinstance, layouts)):
        mode = AtomsAttr(layouts[0]).mode
        return None if mode is _MODE else f"with atoms of {mode.label}"
    swizzle = SwizzleAttr(attributes["swizzle"]).mode if "swizzle" in attributes else Swizzle.NONE
    if swizzle is not _MODE:
        return "without a swizzle" if swizzle is Swizzle.NONE else f"with swizzle {swizzle.label}"
    if any(map(LayoutAttr.isinstance, layouts)):
        return None
    pitch = _pitch_bytes(copy.destination)
    return None if pitch in (None, SPAN_BYTES) else f"in swizzled rows of {pitch} bytes"


def _pitch_bytes(tile: ir.Value) -> int | None:
    """Bytes from one row of a tile to the next; None where that is not known."""
    memref = read_memref(tile.type)
    if memref is None or memref.rank < 2 or memref.strides[-2] is None or memref.element not in DTYPES:
        return None
    return memref.strides[-2] * DTYPES[memref.element].tile_bytes
