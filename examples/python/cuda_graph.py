"""Launches in a CUDA graph: descriptors are kernel parameters, so the graph holds them, and replaying costs no Python.

python examples/python/cuda_graph.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # not needed where tma_mlir is installed

import tma_mlir

KERNEL = Path(__file__).parent / "copy_tiles.mlir"


def main() -> str:
    try:
        import torch
    except ImportError:
        return "skipped: PyTorch is not installed"
    if not torch.cuda.is_available():
        return "skipped: PyTorch sees no GPU"
    kernel = tma_mlir.compile(KERNEL)
    first, second, third = (torch.zeros(256, 256, device="cuda") for _ in range(3))
    copy = kernel[(8, 8), None]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        copy(first, second)
        copy(second, third)
    same = True
    for value in range(1, 4):
        first.fill_(value)
        graph.replay()
        same = same and bool((third == value).all())
    return f"verified: 3 replays of 2 launches, {kernel.signature.name} for {kernel.chip}" * same


if __name__ == "__main__":
    print(said := main())
    sys.exit(not said)
