"""Operations that wait for copies, as Python classes: ``tile.wait``, ``tile.commit_group``, ``tile.wait_group``."""

from __future__ import annotations

from ..bindings import ir
from ..bindings.views import _cext
from .tile import _Dialect


@_cext.register_operation(_Dialect)
class WaitOp(ir.OpView):
    """``tile.wait``: blocks until the phase of ``parity`` of one mbarrier has completed.

    What the loads of that phase wrote is then visible to the waiting thread.
    """

    OPERATION_NAME = "tile.wait"
    _ODS_REGIONS = (0, True)

    def __init__(
        self,
        mbarrier: ir.Value,
        mbarrier_index: ir.Value,
        parity: ir.Value,
        *,
        loc: ir.Location | None = None,
        ip: ir.InsertionPoint | None = None,
    ):
        super().__init__(
            self.build_generic(operands=[mbarrier, mbarrier_index, parity], results=[], attributes={}, loc=loc, ip=ip)
        )

    @property
    def mbarrier(self) -> ir.Value:
        return self.operation.operands[0]

    @property
    def mbarrier_index(self) -> ir.Value:
        return self.operation.operands[1]

    @property
    def parity(self) -> ir.Value:
        return self.operation.operands[2]


@_cext.register_operation(_Dialect)
class CommitGroupOp(ir.OpView):
    """``tile.commit_group``: closes a bulk async group of the stores that this thread has issued since the last one."""

    OPERATION_NAME = "tile.commit_group"
    _ODS_REGIONS = (0, True)

    def __init__(self, *, loc: ir.Location | None = None, ip: ir.InsertionPoint | None = None):
        super().__init__(self.build_generic(operands=[], results=[], attributes={}, loc=loc, ip=ip))


@_cext.register_operation(_Dialect)
class WaitGroupOp(ir.OpView):
    """``tile.wait_group``: blocks until at most ``pending`` of this thread's bulk async groups are open.

    With ``read`` only until they have read shared memory, so that the tile can be written again.
    """

    OPERATION_NAME = "tile.wait_group"
    _ODS_REGIONS = (0, True)

    def __init__(
        self,
        pending: int = 0,
        *,
        read: bool = False,
        loc: ir.Location | None = None,
        ip: ir.InsertionPoint | None = None,
    ):
        attributes: dict[str, ir.Attribute] = {"pending": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), pending)}
        if read:
            attributes["read"] = ir.UnitAttr.get()
        super().__init__(self.build_generic(operands=[], results=[], attributes=attributes, loc=loc, ip=ip))

    @property
    def pending(self) -> int:
        return ir.IntegerAttr(self.operation.attributes["pending"]).value

    @property
    def read(self) -> bool:
        return "read" in self.operation.attributes


COMPLETION_OPS = (WaitOp.OPERATION_NAME, CommitGroupOp.OPERATION_NAME, WaitGroupOp.OPERATION_NAME)
