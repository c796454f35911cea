"""L2 cache hints as 64-bit policies."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith

from .inline_ptx import create_policy

POLICIES = {
    "evict_normal": 0x1000000000000000,
    "evict_first": 0x12F0000000000000,
    "evict_last": 0x14F0000000000000,
}
"""What ``createpolicy.fractional.L2::<priority>.b64 policy, 1.0`` gives on sm_90 to sm_120; CUTLASS uses the same
constants. Others are made by the instruction."""


def cache_policy(text: str) -> ir.Value:
    """The policy for ``"evict_last"`` or, for a fraction of the lines, ``"evict_last:0.5"``; an i64."""
    priority, _, fraction = text.partition(":")
    i64 = ir.IntegerType.get_signless(64)
    if priority in POLICIES and (not fraction or float(fraction) == 1.0):
        return arith.constant(i64, POLICIES[priority])
    return create_policy(priority, float(fraction or 1))
