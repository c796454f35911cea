"""wgmma: matrices in shared memory by descriptor, accumulators in the registers of a warpgroup."""

from __future__ import annotations
