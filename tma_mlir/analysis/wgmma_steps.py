"""What MLIR 22 lowers wrong of ``nvgpu.warpgroup.mma`` and ``mma.store``: steps of descriptors, rows of results.

An operation becomes one wgmma for each 64 rows of M and each 32 bytes of K. Descriptors take tiles in 128-byte swizzled
atoms only (MLIR refuses others). Each instruction's addresses are written down twice here: where MLIR's lowering puts
them, and where the tile has the data. Every shape was compared with NumPy in the simulator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..bindings import ir
from ..dialect.memrefs import MemRef, read_memref
from ..dtypes import DTYPES
from ..errors import TileError
from .ir_access import collect, defining_op

SPAN_BYTES = 128
"""A row of the swizzled atoms that descriptors take."""
STEP_BYTES = 32
"""K of one wgmma instruction, for every element type."""
WGMMA_ROWS = 64
"""M of one wgmma instruction."""
STORED_COLUMNS = 128
"""N for which ``nvgpu.warpgroup.mma.store`` places the rows from 64 on right."""


@dataclass(frozen=True)
class _Product:
    """``[m, k]`` times ``[k, n]``; ``size`` and ``counted``: bytes of an element, and what MLIR takes for it."""

    m: int
    n: int
    k: int
    size: int
    counted: int
    m_contiguous: bool
    n_contiguous: bool

    @property
    def depth(self) -> int:
        """K of one instruction, in elements."""
        return STEP_BYTES // self.size

    @property
    def steps(self) -> int:
        return self.k // self.depth

    def a_lowered(self, rows: int, step: int) -> int:
        """Bytes from the start of A, for the instruction of 64-row block ``rows`` and K step ``step``."""
        return (self.depth * step + self.k * self.k * rows) * self.counted

    def a_right(self, rows: int, step: int) -> int:
        if self.m_contiguous:
            return rows * WGMMA_ROWS * self.size // SPAN_BYTES * self.k * SPAN_BYTES + step * self.depth * SPAN_BYTES
        return _along_k(step, self.m) + rows * WGMMA_ROWS * SPAN_BYTES

    def b_lowered(self, step: int) -> int:
        return self.k * self.depth * step * self.counted

    def b_right(self, step: int) -> int:
        return step * self.depth * SPAN_BYTES if self.n_contiguous else _along_k(step, self.n)


def _along_k(step: int, rows: int) -> int:
    """Bytes to a K step in K-contiguous atoms: along a row of 128 bytes, then to the next column of atoms."""
    spans, rest = divmod(step * STEP_BYTES, SPAN_BYTES)
    return spans * rows * SPAN_BYTES + rest


def mma_errors(function: ir.Operation) -> Iterator[TileError]:
    """Every ``nvgpu.warpgroup.mma`` of which an instruction reads another part of its tile than it should."""
    for mma in collect(function, ("nvgpu.warpgroup.mma",)):
        product = _product(mma)
        if product is None:
            continue
        problem = _step_problem(product) or _row_problem(product) or _wide_problem(mma, product)
        if problem:
            yield TileError(mma.location, f"'nvgpu.warpgroup.mma' op {problem}")


def _product(mma: ir.Operation) -> _Product | None:
    a, b = (_described(operand.type) for operand in list(mma.operands)[:2])
    if a is None or b is None or a.rank != 2 or b.rank != 2 or None in (*a.shape, *b.shape) or a.element not in DTYPES:
        return None
    m, k = a.shape
    n = b.shape[1]
    assert m is not None
    assert n is not None
    assert k is not None
    size = DTYPES[a.element].tile_bytes
    counted = 2 if a.element == "tf32" else size  # 19 bits
    return _Product(m, n, k, size, counted, "transposeA" in mma.attributes, "transposeB" in mma.attributes)


def _described(type_: ir.Type) -> MemRef | None:
    """The tile of a ``!nvgpu.warpgroup.descriptor``."""
    found = re.search(r"tensor = (memref<.*>)>$", str(type_))
    return read_memref(ir.Type.parse(found[1], type_.context)) if found else None


def _step_problem(product: _Product) -> str | None:
    if product.k % product.depth:
        return (
            f"leaves out the last {product.k % product.depth} of {product.k} elements along K: one instruction takes "
            f"{product.depth}. Use a K tile that is a multiple of {product.depth}, filled with zeros"
        )
    steps = range(product.steps)
    if all(
        product.a_lowered(0, step) == product.a_right(0, step) and product.b_lowered(step) == product.b_right(step)
        for step in steps
    ):
        return None
    first = "M-contiguous" if product.m_contiguous else "K-contiguous"
    second = "N-contiguous" if product.n_contiguous else "K-contiguous"
    return (
        f"takes {product.steps} steps through a K tile of {product.k * product.size} bytes, with {first} A and "
        f"{second} B; MLIR 22 advances its descriptors right for K-contiguous A, N-contiguous B (transposeB) and a "
        f"K tile of {SPAN_BYTES} bytes only. Use such tiles, one K step per operation, or "
        "nvvm.wgmma.mma_async with descriptors of your own"
    )


def _row_problem(product: _Product) -> str | None:
    blocks = product.m // WGMMA_ROWS
    if all(product.a_lowered(rows, 0) == product.a_right(rows, 0) for rows in range(blocks)):
        return None
    return (
        f"reads the rows of A from {WGMMA_ROWS} on at {product.a_lowered(1, 0)} bytes; they lie at "
        f"{product.a_right(1, 0)}: MLIR 22 moves by K * K elements. Use one operation for each {WGMMA_ROWS} rows, with "
        "a descriptor of its own (of a memref.subview of the tile)"
    )


def _wide_problem(mma: ir.Operation, product: _Product) -> str | None:
    """A row of N-contiguous B over 128 bytes continues in the next column of atoms, K rows further."""
    columns = SPAN_BYTES // product.size
    descriptor = _generated(mma.operands[1])
    if not product.n_contiguous or product.n <= columns or descriptor is None:
        return None
    found = re.search(r"tensor = memref<(\d+)x", str(descriptor.operands[1].type))
    if found is None or int(found[1]) == product.k:
        return None
    return (
        f"reads B's columns from {columns} on {found[1]} rows of {SPAN_BYTES} bytes behind the first ones, as many as "
        f"its tensor map's type has; the tile has {product.k}. Make the descriptor with a map of type "
        f"memref<{product.k}x{columns}x...>"
    )


def _generated(descriptor: ir.Value) -> ir.Operation | None:
    """The ``nvgpu.warpgroup.generate.descriptor`` behind a descriptor; None where it is not seen."""
    op = defining_op(descriptor)
    while op is not None and op.name == "builtin.unrealized_conversion_cast" and len(op.operands) == 1:
        op = defining_op(op.operands[0])
    return op if op is not None and op.name == "nvgpu.warpgroup.generate.descriptor" else None


def mma_store_errors(function: ir.Operation) -> Iterator[TileError]:
    """Every ``nvgpu.warpgroup.mma.store`` that puts rows from 64 on elsewhere: N / 2 rows further down, not 64."""
    for store in collect(function, ("nvgpu.warpgroup.mma.store",)):
        found = re.search(r"vector<(\d+)x(\d+)x", str(store.operands[0].type))
        if found is None:
            continue
        m, n = int(found[1]), int(found[2])
        if m > WGMMA_ROWS and n != STORED_COLUMNS:
            yield TileError(
                store.location,
                f"'nvgpu.warpgroup.mma.store' op puts rows {WGMMA_ROWS} to {min(m, 2 * WGMMA_ROWS) - 1} of a {m}x{n} "
                f"accumulator into rows {n // 2} to {n // 2 + WGMMA_ROWS - 1}: MLIR 22 moves down by N / 2 rows, which "
                f"is right for N = {STORED_COLUMNS} only. Use an accumulator of {WGMMA_ROWS} rows for each "
                f"{WGMMA_ROWS} rows of the result (each with its own mma and store), or N = {STORED_COLUMNS}",
            )
