"""What stands behind --arg and --expect, read for a kernel with an argument of each kind, without compiling one.

Right are an argument that can be passed, or ``ArgumentError``. ``commands`` tries the same with whole programs.
"""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import commands
from failure import Failure, of_exception
from tma_mlir.abi.signature import KernelSignature, MemRefArgument, PointerArgument, ScalarArgument, ValueArgument
from tma_mlir.dtypes import DTYPES
from tma_mlir.run.arguments import make_arguments
from tma_mlir.run.array_spec import ArgumentError
from tma_mlir.run.expected import read_expectations
from tma_mlir.runtime.binding import convert
from tma_mlir.runtime.errors import ArgumentTypeError

ARGUMENTS = (
    ScalarArgument(DTYPES["i32"]), ScalarArgument(DTYPES["f32"]), ScalarArgument(DTYPES["bf16"]), PointerArgument(),
    ValueArgument("vector<2xf32>"), MemRefArgument(DTYPES["f32"], (4, None), (None, 1)),
    MemRefArgument(DTYPES["f16"], (), ()), ScalarArgument(DTYPES["i1"]),
    MemRefArgument(DTYPES["bf16"], (None, None), (None, None)), MemRefArgument(DTYPES["i8"], (8,), (2,), 3),
    MemRefArgument(DTYPES["f8E4M3FN"], (None,), (1,)), ScalarArgument(DTYPES["i64"]), ScalarArgument(DTYPES["f16"]),
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """``given`` and ``expected``: texts by argument of the signature of ``kinds`` of ``ARGUMENTS``; FOLDER is that of
    ``files``."""

    kinds: tuple[int, ...]
    given: dict[int, str]
    expected: dict[int, str]
    files: tuple[bytes, ...]


def cases(seed: int) -> Case:
    rng = random.Random(seed)
    kinds = tuple(rng.randrange(len(ARGUMENTS)) for _ in range(rng.choice((1, 1, 2))))
    given = {index: commands.value_text(rng) for index in range(len(kinds)) if rng.random() < 0.97}
    expected = {}
    if rng.random() < 0.3:
        tolerance = rng.choice(("", ":rtol=0.1", ":atol=1", ":rtol=x", ":rtol=-1", ":rtol=nan", ":rtol=1e400"))
        expected[rng.choice((0, 1))] = (
            "FOLDER/f0.npy" + rng.choice(("", "", "[0]", "[0:2]", "[9]", "[0,0,0]")) + tolerance
        )
    return Case(kinds, given, expected, tuple(commands.array_file(rng) for _ in range(2)))


def check(case: Case) -> Failure | None:
    with tempfile.TemporaryDirectory(prefix="tma_fuzz_") as folder:
        for index, content in enumerate(case.files):
            Path(folder, f"f{index}.npy").write_bytes(content)
        given, expected = (
            {index: text.replace("FOLDER", folder) for index, text in texts.items()}
            for texts in (case.given, case.expected)
        )
        return _read(case, KernelSignature("k", (), tuple(ARGUMENTS[kind] for kind in case.kinds)), given, expected)


def _read(case: Case, signature: KernelSignature, given: dict[int, str], expected: dict[int, str]) -> Failure | None:
    try:
        values = make_arguments(signature, given)
        for each in read_expectations(expected, signature, values):
            each.mismatch(np.asarray(values[each.argument]))
    except ArgumentError as error:
        return None if str(error) else Failure("an error without a text", repr(case))
    except Exception as error:
        found = of_exception(error)
        return Failure(found.kind, f"{case}\n{found.detail}")
    try:
        convert(signature, values)
    except ArgumentTypeError as error:
        return Failure("an argument of the command line cannot be passed", f"{case}\n{error}")
    except Exception as error:
        found = of_exception(error)
        return Failure(found.kind, f"{case}\n{found.detail}")
    return None
