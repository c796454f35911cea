"""Runs every example on the GPU and in the simulator with the same inputs and compares the output bytes.

    python tools/check_gpu.py [--out-dir D] [EXAMPLE.mlir ...]

Each run verifies its own result as well (see tma-run). Prints ``equal N of M`` last; exits non-zero on any difference.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import checkout  # noqa: F401  (makes the package importable)
import numpy as np

from tma_mlir.abi.signature import MemRefArgument
from tma_mlir.compile.compiler import compile_file
from tma_mlir.run.reference import lower_reference

TOP = Path(__file__).resolve().parents[1]


def outputs(example: Path, device: str, folder: Path) -> dict[int, bytes]:
    """Every array argument's bytes after ``tma-run`` on ``device``; raises ``CalledProcessError`` if it fails."""
    (signature,) = compile_file(example, assemble_cubin=False).signatures.values()
    # Descriptors that a kernel writes are the chip's own bytes.
    scratch = lower_reference(example.read_text(), example.name)[2][signature.name]
    arrays = [i for i, each in enumerate(signature.arguments) if isinstance(each, MemRefArgument) and i not in scratch]
    files = {index: folder / f"{example.stem}.{device}.{index}.npy" for index in arrays}
    flags = [flag for index, file in files.items() for flag in ("--out", f"{index}={file}")]
    # Arguments that the example's own test line gives, such as numbers whose sums are exact.
    given = [part for each in re.findall(r"--arg \S+", example.read_text()) for part in each.split()]
    command = [sys.executable, str(TOP / "tools" / "tma-run"), str(example), "--device", device, *given, *flags]
    result = subprocess.run(command, check=True, text=True, capture_output=True)
    print(result.stdout.splitlines()[-1])
    return {index: np.load(file).tobytes() for index, file in files.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("examples", nargs="*", type=Path, default=sorted((TOP / "examples").glob("*.mlir")))
    parser.add_argument("--out-dir", type=Path, help="keep the arrays here")
    options = parser.parse_args()
    equal = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.out_dir or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for example in options.examples:
            try:
                same = outputs(example, "gpu", folder) == outputs(example, "sim", folder)
            except subprocess.CalledProcessError as error:
                print(f"{example.name}: failed\n{error.stdout}{error.stderr}")
                continue
            print(f"{example.name}: {'equal' if same else 'DIFFERENT'}")
            equal += same
    print(f"equal {equal} of {len(options.examples)}")
    return 0 if equal == len(options.examples) else 1


if __name__ == "__main__":
    sys.exit(main())
