"""CuPy arrays in place; bfloat16 and fp8 arrays of ml_dtypes work the same way.

python examples/python/cupy_copy.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # not needed where tma_mlir is installed

import tma_mlir

KERNEL = Path(__file__).parent / "copy_tiles.mlir"


def main() -> str:
    try:
        import cupy
    except ImportError:
        return "skipped: CuPy is not installed"
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"skipped: CuPy sees no GPU ({error})"
    kernel = tma_mlir.compile(KERNEL)
    source = cupy.random.random((300, 200), dtype=cupy.float32)
    target = cupy.zeros_like(source)
    kernel[(7, 10), None](source, target)
    same = bool((source == target).all())
    return f"verified: {source.shape} on GPU {source.device.id}, {kernel.signature.name} for {kernel.chip}" * same


if __name__ == "__main__":
    print(said := main())
    sys.exit(not said)
