"""A kernel compiled here and run in another process that has no MLIR: one file holds cubin, signature and plans.

python examples/python/saved_artifact.py
"""

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # not needed where tma_mlir is installed

import tma_mlir
from tma_mlir.runtime import available

KERNEL = Path(__file__).parent / "copy_tiles.mlir"

ELSEWHERE = """
import sys
sys.modules["mlir"] = None  # importing it fails
import numpy as np
import tma_mlir
kernel = tma_mlir.Kernel.load(sys.argv[1])
x, y = np.random.rand(100, 60).astype(np.float32), np.zeros((100, 60), np.float32)
kernel[(2, 4), None](x, y)  # NumPy arrays are copied to the GPU and back
if not (x == y).all():
    sys.exit("the copy differs from its source")
print(f"verified: {x.shape} without MLIR, {kernel.signature.name} for {kernel.chip}")
"""


def main() -> int:
    if not available():
        print("skipped: no GPU")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "copy_tiles.tma")
        tma_mlir.compile(KERNEL).save(file)
        command = [sys.executable, "-c", ELSEWHERE, str(file)]
        return subprocess.run(command, cwd=Path(__file__).resolve().parents[2]).returncode


if __name__ == "__main__":
    sys.exit(main())
