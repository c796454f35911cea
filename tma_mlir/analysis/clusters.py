"""What the IR shows of a copy's cluster: its size, the multicast mask, who issues and what arrives on which mbarrier.

Source: PTX ISA, cp.async.bulk.tensor. Bit ``i`` of ``ctaMask`` is the CTA of ``%cluster_ctarank`` ``i``, and the signal
goes to the mbarrier of each destination CTA. With ``.cta_group::2`` it goes to the mbarrier of the destination or of
its peer (rank ^ 1), whichever has the parity of the CTA whose mbarrier the instruction names.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ..bindings import ir
from ..dialect.tile import CopyAsyncOp
from ..plan.enums import MbarrierCta
from .index_facts import facts_of
from .ir_access import enclosing

MASK_BITS = 16
"""CTAs that a mask can name, which is also the largest cluster."""
_SIZES = ("nvvm.cluster_dim", "gpu.known_cluster_size", "known_cluster_size")


def cluster_size(op: ir.Operation) -> int | None:
    """CTAs in a cluster of the kernel around ``op``, if the kernel says it."""
    function = enclosing(op, "gpu.func", "llvm.func")
    if function is None:
        return None
    for name in _SIZES:
        if name in function.attributes:
            return math.prod(ir.DenseI32ArrayAttr(function.attributes[name]))
    return None


@dataclass(frozen=True)
class ClusterLoad:
    """A load as its cluster sees it. ``mask`` is None where it is not constant; ``multicast``: whether there is one.
    ``size`` is None where the kernel does not say it. ``split`` is 1 for a load that is not split."""

    multicast: bool
    mask: int | None
    size: int | None
    split: int = 1
    group: int = 1
    mbarrier_cta: MbarrierCta = MbarrierCta.OWN

    @property
    def ranks(self) -> range:
        """Ranks that may execute the load."""
        return range(self.size or MASK_BITS)

    @property
    def all_members(self) -> bool:
        """Whether every CTA that may execute the load is certainly in its mask."""
        if self.mask is None:
            return self.split == self.size
        return all(self.mask >> rank & 1 for rank in self.ranks)

    @property
    def by_pair(self) -> bool:
        """Whether the CTAs of a pair that the mask names count one by one: the mbarrier gets the bytes of both.

        Of a split load each CTA announces the tile that it receives: together that is what the pair's mbarriers get.
        """
        return self.multicast and self.group == 2 and self.split == 1

    def tiles_at(self, rank: int) -> int | None:
        """Tiles that arrive on the mbarrier that CTA ``rank`` names, and that it has to announce; None if that depends
        on a mask that is not constant."""
        if not self.multicast:
            return 1
        if self.mask is None:
            return 1 if self.all_members and not self.by_pair else None
        if self.by_pair:
            return (self.mask >> (rank & ~1) & 3).bit_count()
        return self.mask >> rank & 1

    @property
    def tiles(self) -> int | None:
        """``tiles_at`` where it is the same for every CTA."""
        found = {self.tiles_at(rank) for rank in self.ranks}
        return found.pop() if len(found) == 1 else None

    def problems(self) -> Iterator[str]:
        """What cannot be, as rule, value, remedy."""
        if self.group == 2 and self.size is not None and self.size % 2:
            yield (
                "completes on an mbarrier of a pair of CTAs ('cta_group' 2), and the kernel's clusters have "
                f"{self.size}. Give the kernel clusters of an even number of CTAs, or drop 'cta_group'"
            )
        if self.split > 1 and self.size is not None and self.split > self.size:
            yield (
                f"is split among {self.split} CTAs, and the kernel's clusters have {self.size}: the other shares would "
                "never arrive. Use as many shares as the mask names CTAs of the cluster"
            )
        elif self.mask is not None:
            yield from self._mask_problems(self.mask)

    def _mask_problems(self, mask: int) -> Iterator[str]:
        members = mask.bit_count()
        if not members:
            yield "multicasts to no CTA: its mask is 0. Set a bit for each destination, or drop the mask"
        elif self.size is not None and mask >> self.size:
            yield (
                f"multicasts to CTA {mask.bit_length() - 1} of the cluster (mask {mask:#x}), and the kernel's clusters "
                f"have {self.size} CTAs. Use bits below {self.size}, or a larger cluster"
            )
        elif self.split > 1 and members != self.split:
            yield (
                f"is split among {self.split} CTAs, and its mask {mask:#x} names {members}. Each CTA of the mask "
                f"issues one share: name {self.split} CTAs, or drop 'cluster_split'"
            )
        elif self.split > 1 and self.group == 2 and self.mbarrier_cta in (MbarrierCta.OWN, MbarrierCta.PEER):
            pairs = {mask >> first & 3 for first in range(0, MASK_BITS, 2)}
            if not any(pairs <= whole for whole in ({0, 3}, {0, 1}, {0, 2})):
                yield (
                    "completes the shares of even and of odd CTAs on different mbarriers of each pair, and its mask "
                    f"{mask:#x} names one CTA of a pair only, which cannot wait for both. Name both CTAs of each pair, "
                    'or use mbarrier_cta = "even"'
                )


def cluster_load(copy: CopyAsyncOp) -> ClusterLoad:
    """What is known of a load that ``tile-verify`` admits."""
    attributes = copy.operation.attributes

    def integer(name: str) -> int:
        return ir.IntegerAttr(attributes[name]).value if name in attributes else 1

    mask = copy.multicast_mask
    constant = None if mask is None else facts_of(mask).constant
    named = ir.StringAttr(attributes["mbarrier_cta"]).value if "mbarrier_cta" in attributes else MbarrierCta.OWN
    return ClusterLoad(
        mask is not None,
        None if constant is None else constant & (1 << MASK_BITS) - 1,
        cluster_size(copy.operation),
        integer("cluster_split"),
        integer("cta_group"),
        MbarrierCta(named),
    )


def cluster_problems(copy: CopyAsyncOp) -> Iterator[str]:
    """What is wrong with a well-formed copy in the cluster that its kernel has."""
    return cluster_load(copy).problems()
