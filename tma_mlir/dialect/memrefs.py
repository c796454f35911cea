"""Reading memref types the way the dialect needs them."""

from __future__ import annotations

from dataclasses import dataclass

from ..bindings import ir


@dataclass(frozen=True)
class MemRef:
    """A ranked memref type. Extents, strides and offset are in elements, memref order; None is dynamic.

    ``space`` is ``global``, ``shared``, or MLIR's text for any other memory space.
    """

    element: str
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    offset: int | None
    space: str

    @property
    def rank(self) -> int:
        return len(self.shape)


_SPACES = {
    "None": "global",
    "1 : i64": "global",
    "#gpu.address_space<global>": "global",
    "3 : i64": "shared",
    "#gpu.address_space<workgroup>": "shared",
}


_READ: dict[str, MemRef | None] = {}
"""Types read before, by their text. Programs have few types, and reading one through the bindings is slow."""


def read_memref(type_: ir.Type) -> MemRef | None:
    """The parts of a memref type; None when it is unranked or its layout is not strided."""
    text = str(type_)
    if text not in _READ:
        if len(_READ) > 10_000:
            _READ.clear()
        _READ[text] = _read(type_)
    return _READ[text]


def _read(type_: ir.Type) -> MemRef | None:
    try:
        memref = ir.MemRefType(type_)
        strides, offset = memref.get_strides_and_offset()
    except (ValueError, RuntimeError):
        return None
    dynamic = ir.ShapedType.get_dynamic_size()
    dynamic_stride = ir.ShapedType.get_dynamic_stride_or_offset()
    space = str(memref.memory_space)
    return MemRef(
        element=str(memref.element_type),
        shape=tuple(None if extent == dynamic else extent for extent in memref.shape),
        strides=tuple(None if stride == dynamic_stride else stride for stride in strides),
        offset=None if offset == dynamic_stride else offset,
        space=_SPACES.get(space, space),
    )


def has_bools(type_: ir.Type) -> bool:
    """Whether a type is a memref of i1, which has a byte for each."""
    return isinstance(type_, ir.MemRefType) and type_.element_type == ir.IntegerType.get_signless(1, type_.context)


def as_bytes(type_: ir.MemRefType) -> ir.MemRefType:
    """The memref of i8 that lies like one of i1."""
    i8 = ir.IntegerType.get_signless(8, type_.context)
    return ir.MemRefType.get(type_.shape, i8, type_.layout, type_.memory_space)
