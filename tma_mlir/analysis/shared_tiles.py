"""Where the shared side of a copy lives: its placement, what is known of its alignment, and raising it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..bindings import ir
from ..dialect.memrefs import read_memref
from ..dialect.tile import DYNAMIC
from .index_facts import facts_of
from .integer_facts import Facts, facts, known
from .ir_access import block_owner, defining_op, enclosing, function_inputs
from .memref_views import SAME_OFFSET

MAX_ALIGNMENT = 1024
"""Bytes; the period of the 128-byte swizzle, the largest alignment TMA asks for."""


@dataclass(frozen=True)
class Placement:
    """A shared tile: the operation or argument that reserves its memory, and the tile's distance from its start.

    ``offset_divisor_bytes`` divides that distance; 0 when the tile starts where the memory does.
    """

    root: ir.Value
    offset_divisor_bytes: int

    @property
    def known_alignment_bytes(self) -> int | None:
        """Alignment the tile has when its memory has the largest one; None when the tile is the memory's start."""
        return math.gcd(self.offset_divisor_bytes, MAX_ALIGNMENT) if self.offset_divisor_bytes else None


def placement(tile: ir.Value, element_bytes: int) -> Placement:
    """Follows views from ``tile`` to the memory they are views of."""
    divisor = 0
    while (op := defining_op(tile)) is not None:
        if op.name in ("memref.subview", "memref.reinterpret_cast"):
            divisor = math.gcd(divisor, _offset_facts(op).known_divisor * element_bytes)
        elif op.name == "memref.view":
            divisor = math.gcd(divisor, facts_of(op.operands[1]).known_divisor)
        elif op.name not in SAME_OFFSET:
            break
        tile = op.operands[0]
    return Placement(tile, divisor)


def _offset_facts(op: ir.Operation) -> Facts:
    """Offset in elements that a subview or reinterpret_cast adds to (or sets on) its source."""
    offsets = list(ir.DenseI64ArrayAttr(op.attributes["static_offsets"]))
    dynamic = iter(list(op.operands)[1:])
    values = [facts_of(next(dynamic)) if offset == DYNAMIC else known(offset) for offset in offsets]
    if op.name == "memref.reinterpret_cast":
        return values[0]
    source = read_memref(op.operands[0].type)
    if source is None:
        return Facts()
    divisor = 0
    for value, stride in zip(values, source.strides, strict=True):
        divisor = math.gcd(divisor, value.known_divisor * (1 if stride is None else stride))
    return facts(None, None, divisor)


class Declarations:
    """Symbols of the modules around, looked up once for each module. Valid while none is erased."""

    def __init__(self) -> None:
        self._tables: dict[ir.Block, dict[str, ir.Operation]] = {}
        self._found: dict[tuple[ir.Block, str], ir.Operation | None] = {}
        self._aligned: dict[ir.Operation, int] = {}

    def find(self, user: ir.Operation, symbol: str) -> ir.Operation | None:
        """The declaration that ``symbol`` means at ``user``."""
        key = (user.block, symbol)
        if key not in self._found:
            self._found[key] = self._find(user, symbol)
        return self._found[key]

    def align(self, declaration: ir.Operation, alignment_bytes: int) -> None:
        """Raises the alignment of a variable to ``alignment_bytes``."""
        if self._aligned.get(declaration, 0) >= alignment_bytes:
            return
        self._aligned[declaration] = alignment_bytes
        attributes = declaration.attributes
        current = ir.IntegerAttr(attributes["alignment"]).value if "alignment" in attributes else 0
        if current < alignment_bytes:
            attributes["alignment"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), alignment_bytes)

    def _find(self, user: ir.Operation, symbol: str) -> ir.Operation | None:
        table = enclosing(user, "gpu.module", "builtin.module")
        while table is not None:
            found = self._symbols(table.regions[0].blocks[0]).get(symbol)
            if found is not None:
                return found
            table = enclosing(table, "gpu.module", "builtin.module")
        return None

    def _symbols(self, block: ir.Block) -> dict[str, ir.Operation]:
        if block not in self._tables:
            operations = [each.operation for each in block.operations]
            self._tables[block] = {
                ir.StringAttr(each.attributes["sym_name"]).value: each
                for each in operations
                if "sym_name" in each.attributes
            }
        return self._tables[block]


def raise_alignment(root: ir.Value, alignment_bytes: int, declarations: Declarations) -> bool:
    """Makes the memory behind ``root`` start at a multiple of ``alignment_bytes``; False where that is not ours to do.

    Dynamic shared memory always gets the largest alignment when the kernel is finished.
    """
    op = defining_op(root)
    if op is None:
        return _raise_attribution(ir.BlockArgument(root), alignment_bytes)
    if op.name == "gpu.dynamic_shared_memory":
        return True
    if op.name != "memref.get_global":
        return False
    declaration = declarations.find(op, ir.FlatSymbolRefAttr(op.attributes["name"]).value)
    if declaration is None:
        return False
    declarations.align(declaration, alignment_bytes)
    return True


def _raise_attribution(argument: ir.BlockArgument, alignment_bytes: int) -> bool:
    """Workgroup attributions follow the arguments of a ``gpu.func``."""
    function = block_owner(argument)
    if function.name != "gpu.func":
        return False
    attributes = function.attributes
    count = ir.IntegerAttr(attributes["workgroup_attributions"]).value if "workgroup_attributions" in attributes else 0
    position = argument.arg_number - len(function_inputs(function))
    if not 0 <= position < count:
        return False
    each = [ir.DictAttr.get({})] * count
    if "workgroup_attrib_attrs" in attributes:
        each = [ir.DictAttr(entry) for entry in ir.ArrayAttr(attributes["workgroup_attrib_attrs"])]
    entries = {named.name: named.attr for named in each[position]}
    current = ir.IntegerAttr(entries["llvm.align"]).value if "llvm.align" in entries else 0
    if current < alignment_bytes:
        entries["llvm.align"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), alignment_bytes)
        each[position] = ir.DictAttr.get(entries)
        attributes["workgroup_attrib_attrs"] = ir.ArrayAttr.get(each)
    return True
