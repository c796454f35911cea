"""``tile.rebase_tensor`` as a Python class, and its verifier.

Why a tensor and not a descriptor: what descriptors a copy needs (how many, of which box and rank) is the planner's to
find, so a kernel cannot name one. It names the tensor instead. Copies of the result are planned like copies of the
argument; the lowering then brings each descriptor they need up to date where the operation stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..bindings import ir
from ..bindings.views import _cext, segmented_accessor
from ..hardware import DESCRIPTOR_BYTES
from ..plan.enums import Scope
from .memrefs import read_memref
from .tile import _Dialect


@_cext.register_operation(_Dialect)
class RebaseTensorOp(ir.OpView):
    """``tile.rebase_tensor``: the tensor of a kernel argument at another address, as a grouped matmul needs it.

    ``address`` (i64, a multiple of 16) is where element 0 lies. ``sizes`` and ``strides`` (elements) give the dynamic
    extents and strides of the type, outermost first; without them they are those of ``tensor``. ``scratch`` is global
    memory at a multiple of 128 bytes, 128 bytes for each descriptor that copies of the result need, of one CTA alone
    (of one warp with ``scope = "warp"``). It must not change while such a copy is under way: wait for the copies before
    the operation runs again on the same scratch.

    All threads of the CTA (``scope = "cta"``, the default) or of the warp (``"warp"``) execute it together. Needs
    a chip with ``tensormap.replace``, as sm_90a.
    """

    OPERATION_NAME = "tile.rebase_tensor"
    _ODS_OPERAND_SEGMENTS = (1, 1, 1, -1, -1)
    _ODS_REGIONS = (0, True)

    def __init__(
        self,
        tensor: ir.Value,
        address: ir.Value,
        scratch: ir.Value,
        *,
        sizes: Sequence[ir.Value] = (),
        strides: Sequence[ir.Value] = (),
        scope: str = "cta",
        loc: ir.Location | None = None,
        ip: ir.InsertionPoint | None = None,
    ):
        super().__init__(
            self.build_generic(
                operands=[tensor, address, scratch, list(sizes), list(strides)],
                results=[tensor.type],
                attributes={"scope": ir.StringAttr.get(scope)},
                loc=loc,
                ip=ip,
            )
        )

    def _segment(self, index: int) -> list[ir.Value]:
        sizes = self.operation.attributes["operandSegmentSizes"]
        return list(segmented_accessor(self.operation.operands, sizes, index))

    @property
    def tensor(self) -> ir.Value:
        return self._segment(0)[0]

    @property
    def address(self) -> ir.Value:
        return self._segment(1)[0]

    @property
    def scratch(self) -> ir.Value:
        return self._segment(2)[0]

    @property
    def sizes(self) -> list[ir.Value]:
        return self._segment(3)

    @property
    def strides(self) -> list[ir.Value]:
        return self._segment(4)

    @property
    def scope(self) -> Scope:
        attributes = self.operation.attributes
        return Scope(ir.StringAttr(attributes["scope"]).value) if "scope" in attributes else Scope.CTA

    @property
    def rebased(self) -> ir.Value:
        return self.operation.results[0]


def rebase_problems(op: RebaseTensorOp) -> Iterator[str]:
    """What IRDL cannot say: rule, value, remedy."""
    tensor, scratch = read_memref(op.tensor.type), read_memref(op.scratch.type)
    if tensor is None or tensor.space != "global":
        yield f"needs a strided memref in global memory, not {op.tensor.type}"
        return
    if tensor.offset != 0:
        yield f"moves whole tensors; {op.tensor.type} is a view with an offset. Rebase the argument itself"
    if op.rebased.type != op.tensor.type:
        yield f"gives a tensor of the type it takes, {op.tensor.type}, not {op.rebased.type}"
    for name, found, dynamic in (("sizes", op.sizes, tensor.shape), ("strides", op.strides, tensor.strides)):
        needed = dynamic.count(None)
        if len(found) not in (0, needed):
            yield f"needs {needed} {name}, one for each dynamic one of {op.tensor.type}; found {len(found)}"
    attributes = op.operation.attributes
    if "scope" in attributes and str(attributes["scope"]) not in ('"cta"', '"warp"'):
        yield f'attribute \'scope\' must be "cta" or "warp"; found {attributes["scope"]}'
    if scratch is None or scratch.space != "global" or scratch.element != "i8" or scratch.rank != 1:
        yield f"needs scratch bytes in global memory, as memref<128xi8>; found {op.scratch.type}"
    elif scratch.shape[0] is not None and scratch.shape[0] < DESCRIPTOR_BYTES:
        yield f"needs {DESCRIPTOR_BYTES} bytes of scratch for each descriptor; found {op.scratch.type}"
