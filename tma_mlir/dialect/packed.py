"""Copies of packed 4- and 6-bit elements: what they cannot have, whatever the planner does."""

from __future__ import annotations

from collections.abc import Iterator

from ..bindings import ir
from ..dtypes import PACKINGS, DType
from .tile import CopyAsyncOp

PACKING = "packing"
"""Attribute of a copy: bytes of shared memory that sixteen packed elements take up."""
_FORBIDDEN = ("source_layout", "destination_layout", "explicit", "cluster_split", "padding_is_scratch")


def packed_problems(op: CopyAsyncOp, element: DType) -> Iterator[str]:
    """Problems of a copy of ``element`` with what belongs to packed elements, and with what does not go with them."""
    attributes = op.operation.attributes
    if not element.packed:
        if PACKING in attributes:
            yield f"'{PACKING}' is for elements of 4 and 6 bits; these are {element}. Drop it"
        return
    allowed = PACKINGS[element.bits]
    if PACKING in attributes and ir.StringAttr(attributes[PACKING]).value not in allowed:
        known = " or ".join(f'"{each}"' for each in allowed)
        yield f"needs {PACKING} = {known} for {element}; found {attributes[PACKING]}"
    for name in _FORBIDDEN:
        if name in attributes:
            yield f"'{name}' does not go with packed elements ({element}): one instruction fills their tile. Drop it"
