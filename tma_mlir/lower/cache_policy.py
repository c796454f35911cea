"""L2 cache hints as 64-bit policies."""

from __future__ import annotations

from ..bindings import ir
from ..bindings.dialects import arith
from ..hardware import CACHE_POLICIES
from .inline_ptx import create_policy


def cache_policy(text: str) -> ir.Value:
    """The policy for ``"evict_last"`` or, for a fraction of the lines, ``"evict_last:0.5"``; an i64."""
    priority, _, fraction = text.partition(":")
    i64 = ir.IntegerType.get_signless(64)
    policy = CACHE_POLICIES[priority]
    if policy is not None and (not fraction or float(fraction) == 1.0):
        return arith.constant(i64, policy)
    return create_policy(priority, float(fraction or 1))
