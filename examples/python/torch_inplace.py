"""PyTorch in, PyTorch out: the kernel works in the tensors' own memory, on PyTorch's current stream.

python examples/python/torch_inplace.py
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
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):  # the launch follows whatever stream PyTorch is on
        source = torch.rand(1000, 1500, device="cuda")
        target = torch.zeros(1000, 1504, device="cuda")[:, :1500]  # a view: its stride goes into the descriptor
        kernel[(47, 32), None](source, target)
        source.add_(1)  # ordered after the launch
        same = torch.equal(target + 1, source)
    return f"verified: {tuple(source.shape)} on {source.device}, {kernel.signature.name} for {kernel.chip}" * same


if __name__ == "__main__":
    print(said := main())
    sys.exit(not said)
