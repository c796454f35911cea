"""How many clusters are on the chip at once."""

from __future__ import annotations

from .machine import Machine
from .memory import LANES, SHARED_RESERVED

MULTIPROCESSORS = 132
"""Of an H200, and of an H100 SXM."""
WARPS = 64
BLOCKS = 32
SHARED_BYTES = 228 * 1024
"""Per multiprocessor of compute capability 9.0 (CUDA C++ programming guide, technical specifications)."""


def resident_clusters(machine: Machine) -> int:
    """Clusters of this launch that one H200 holds; registers and the shape of its GPCs are left out."""
    warps = -(-machine.threads // LANES)
    # ``shared_bytes`` begins with the KiB that the system takes of every block.
    shared = max(SHARED_RESERVED, machine.shared_bytes)
    blocks = min(BLOCKS, WARPS // warps, SHARED_BYTES // shared)
    x, y, z = machine.cluster_shape
    return max(1, MULTIPROCESSORS * blocks // (x * y * z))
