"""How much dynamic shared memory a kernel uses."""

from __future__ import annotations

import math

from ..bindings import ir
from ..dialect.memrefs import read_memref
from ..dtypes import DTYPES
from .index_facts import facts_of
from .ir_access import collect, defining_op

SHARED_BYTES = "tile.dynamic_shared_bytes"
"""Attribute of a kernel: how much dynamic shared memory it is launched with."""


def dynamic_shared_bytes(function: ir.Operation) -> int | None:
    """Bytes up to the end of the last ``memref.view`` of ``gpu.dynamic_shared_memory``; 0 without any.

    None when a view's place or extent is not known: the kernel must say ``SHARED_BYTES`` itself.
    """
    end = 0
    for view in collect(function, ("memref.view",)):
        memory = defining_op(view.operands[0])
        if memory is None or memory.name != "gpu.dynamic_shared_memory":
            continue
        start, memref = facts_of(view.operands[1]).high, read_memref(view.results[0].type)
        if start is None or memref is None or None in memref.shape or memref.element not in DTYPES:
            return None
        count = math.prod(extent for extent in memref.shape if extent is not None)
        end = max(end, start + count * DTYPES[memref.element].tile_bytes)
    return end
