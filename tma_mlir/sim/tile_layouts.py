"""Whether a tile is read in the layout in which a copy wrote it.

A tensor load leaves a tile swizzled; wgmma and tensor stores undo a swizzle while they read. What they undo has to be
what the load did. Bytes that threads have written since are theirs to lay out, and so are those of 1-D bulk copies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..plan.tensor_map import Swizzle
from .accesses import distinct
from .errors import SimulationError
from .swizzle import swizzle_offset

if TYPE_CHECKING:
    from .issue import Chunks
    from .machine import Cta, Warp
    from .transfer import Transfer

KIND = "layout mismatch"


def _writer(cta: Cta, chunks: Chunks, swizzle: int) -> Transfer | None:
    """A tensor load that was the last to write some of the chunks, elsewhere than with ``swizzle``."""
    shadow = cta.shared.shadow
    if shadow is None:
        return None
    log = shadow.log
    numbers = distinct(shadow.units.written[shadow.units.chunks(chunks)]) - {0}
    for number in sorted(member for each in numbers for member in log.members(each)):
        transfer = log.access(number).transfer
        if transfer is not None and transfer.swizzle not in (None, swizzle):
            start = _addresses(chunks)
            if (swizzle_offset(start, transfer.swizzle) != swizzle_offset(start, swizzle)).any():
                return transfer
    return None


def _addresses(chunks: Chunks) -> np.ndarray:
    return (np.arange(chunks.start, chunks.stop) if isinstance(chunks, slice) else chunks) << 4


def check_wgmma(w: Warp, chunks: Chunks, swizzle: int, operand: str, location: str) -> None:
    """wgmma reads operand ``operand``; another swizzle is an error, none at all a warning: the data may have come
    swizzled from global memory."""
    written = _writer(w.cta, chunks, swizzle)
    if written is None:
        return
    message = (
        f"wgmma reads operand {operand} in the layout {_name(swizzle)}, and the {written.what} wrote it in "
        f"{_name(written.swizzle)}. Give the copy the layout of the descriptor: "
        f'#tile.atoms<"{Swizzle(swizzle).label}">'
    )
    notes = ((f"the {written.what} is issued here", written.location),)
    if written.swizzle and swizzle:
        raise SimulationError(KIND, message, location, notes)
    w.machine.warn(KIND, message, location, notes)


def check_store(w: Warp, cta: Cta, chunks: Chunks, swizzle: int, what: str, location: str) -> None:
    """A tensor store reads a tile: elements change places if it does not undo what the load did."""
    written = _writer(cta, chunks, swizzle)
    if written is not None:
        w.machine.warn(
            KIND,
            f"the {what} reads the tile in the layout {_name(swizzle)}, and the {written.what} wrote it in "
            f"{_name(written.swizzle)}: elements change places. Give both copies the same swizzle",
            location,
            ((f"the {written.what} is issued here", written.location),),
        )


def _name(swizzle: int | None) -> str:
    return f"swizzle {Swizzle(swizzle or 0).label}"
