"""Loads in a cluster: the share that this CTA issues, the mbarrier it names, and what arrives there."""

from __future__ import annotations

from ..analysis.clusters import ClusterLoad
from ..bindings import ir
from ..bindings.dialects import arith, llvm, nvvm
from ..plan.enums import MbarrierCta
from .index_builder import multiply
from .pointers import pointer_type


def _i32(value: int) -> ir.Value:
    return arith.constant(ir.IntegerType.get_signless(32), value)


def _rank() -> ir.Value:
    """%cluster_ctarank of this CTA."""
    return nvvm.read_ptx_sreg_cluster_ctarank(ir.IntegerType.get_signless(32))


def _bits(mask: ir.Value) -> ir.Value:
    return arith.extui(ir.IntegerType.get_signless(32), mask)


def _index(value: ir.Value) -> ir.Value:
    return arith.index_castui(ir.IndexType.get(), value)


def share_number(load: ClusterLoad, mask: ir.Value) -> ir.Value:
    """How many CTAs of lower rank the mask names, as an index: the number of the share that this CTA issues."""
    if load.all_members:
        return _index(_rank())
    below = arith.subi(arith.shli(_i32(1), _rank()), _i32(1))
    return _index(llvm.intr_ctpop(arith.andi(_bits(mask), below)))


def is_member(mask: ir.Value) -> ir.Value:
    """Whether the mask names this CTA, as an i1."""
    return arith.trunci(ir.IntegerType.get_signless(1), arith.shrui(_bits(mask), _rank()))


def arriving_bytes(load: ClusterLoad, mask: ir.Value | None, tile_bytes: int) -> int | ir.Value:
    """Bytes that this CTA announces on the mbarrier it names (``ClusterLoad.tiles_at``), as a number or an index."""
    if load.tiles is not None:
        return load.tiles * tile_bytes
    assert mask is not None
    if load.by_pair:
        pair = arith.shrui(_bits(mask), arith.andi(_rank(), _i32(~1)))
        tiles = llvm.intr_ctpop(arith.andi(pair, _i32(3)))
    else:
        tiles = arith.andi(arith.shrui(_bits(mask), _rank()), _i32(1))
    return multiply(_index(tiles), tile_bytes)


def mbarrier_of_pair(named: MbarrierCta, own: ir.Value) -> ir.Value:
    """``!llvm.ptr<7>`` to the mbarrier at ``own`` (``!llvm.ptr<3>``) in the named CTA of this CTA's pair."""
    change, bit = {
        MbarrierCta.OWN: (arith.ori, 0),
        MbarrierCta.PEER: (arith.xori, 1),
        MbarrierCta.EVEN: (arith.andi, ~1),
        MbarrierCta.ODD: (arith.ori, 1),
    }[named]
    return nvvm.mapa(pointer_type(7), own, change(_rank(), _i32(bit)))


def as_shared(pointer: ir.Value) -> ir.Value:
    """A pointer into the cluster's shared memory as the ``!llvm.ptr<3>`` that nvvm's loads take for their mbarrier.

    One window holds the shared memory of all CTAs of a cluster, and the instruction reads the address in it.
    """
    return llvm.inttoptr(pointer_type(3), llvm.ptrtoint(ir.IntegerType.get_signless(64), pointer))
