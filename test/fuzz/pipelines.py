"""Random rows of passes and flags of tma-opt on the programs, as a shell would run them.

Right are exit code 0, 1 with a message, 2 with one line, and 134 or 139 with the pass in which MLIR ended the process;
never an internal error or a traceback.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path

from failure import Failure, of_exception
from programs import ROOT, programs

OURS = (
    "tile-verify", "tile-check-limits", "tile-check-kernels", "tile-plan-copies", "tile-merge-expect-tx",
    "tile-insert-proxy-fences", "convert-tile-to-nvgpu", "tile-descriptor-args", "tile-lower-kernels",
    "tile-lower-copies", "tile-expand-arguments", "tile-lower-transfers", "tile-lower-bools", "tile-narrow-loads",
    "tile-finish-kernels", "tile-to-cubin", "tile-assemble", "tile-raise-copies", "tile-reference-copies",
)  # fmt: skip
COMMON = ("canonicalize", "cse", "convert-nvgpu-to-nvvm", "convert-gpu-to-nvvm", "convert-scf-to-cf", "lower-affine",
          "expand-strided-metadata", "convert-vector-to-scf", "reconcile-unrealized-casts", "gpu-kernel-outlining",
          "convert-index-to-llvm", "convert-arith-to-llvm", "gpu-module-to-binary", "nvvm-attach-target", "inline",
          "symbol-dce", "sccp", "loop-invariant-code-motion", "convert-linalg-to-loops", "print-ir")  # fmt: skip
UPSTREAM = tuple(
    line.split()[0]
    for line in (ROOT / "tma_mlir/passes/upstream_passes.txt").read_text("utf-8").splitlines()
    if line.strip() and line[0].isalpha()
)
OPTIONS = ("chip=sm_90a", "chip=sm_100a", "chip=sm_1", "chip=", "opt-level=2", "opt-level=9", "x=1", "format=isa",
           "O=7", "budget=-1", "prefetch-descriptors=true", "require-kernel=maybe", "",
           "chip=sm_90a chip=sm_100a")  # fmt: skip
FLAGS = ("--split-input-file", "--verify-diagnostics", "--mlir-timing", "--mlir-print-ir-after-all", "--emit-bytecode",
         "--mlir-print-op-generic", "--mlir-print-debuginfo", "--no-verify", "--verify-each=false", "--tma-remarks",
         "--allow-unregistered-dialect", "--mlir-print-ir-before=cse", "--mlir-print-ir-after-failure",
         "--nonsense", "--mlir-disable-threading")  # fmt: skip
ANCHORS = ("builtin.module", "gpu.module", "gpu.func", "func.func", "any", "llvm.func", "nothing.here")


@dataclass(frozen=True)
class Case:
    text: str
    arguments: tuple[str, ...]


def cases(seed: int) -> Case:
    rng = random.Random(seed)
    arguments = [rng.choice(FLAGS) for _ in range(rng.choice((0, 0, 1, 2)))]
    if rng.random() < 0.6:
        arguments.append(f"--pass-pipeline=builtin.module({_row(rng, 0)})")
    else:
        for _ in range(rng.randrange(1, 4)):
            arguments.append(f"--{_pass(rng)}" + (f"={rng.choice(OPTIONS)}" if rng.random() < 0.3 else ""))
    rng.shuffle(arguments)
    return Case(rng.choice(programs()), tuple(arguments))


def _pass(rng: random.Random) -> str:
    return rng.choice(rng.choices((OURS, COMMON, UPSTREAM), (5, 4, 2))[0])


def _row(rng: random.Random, depth: int) -> str:
    parts = []
    for _ in range(rng.randrange(1, 5)):
        if depth < 3 and rng.random() < 0.25:
            parts.append(f"{rng.choice(ANCHORS)}({_row(rng, depth + 1)})")
        else:
            parts.append(_pass(rng) + ("{" + rng.choice(OPTIONS) + "}" if rng.random() < 0.3 else ""))
    text = ",".join(parts)
    if rng.random() < 0.03:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice("(){},=") + text[at:]
    return text


def check(case: Case) -> Failure | None:
    from tma_mlir.cli import opt

    with tempfile.TemporaryDirectory(prefix="tma_fuzz_") as folder:
        file = Path(folder, "f.mlir")
        file.write_text(case.text)
        with tempfile.TemporaryFile() as said:
            kept = os.dup(2)
            os.dup2(said.fileno(), 2)
            try:
                with contextlib.redirect_stderr(io.TextIOWrapper(os.fdopen(os.dup(2), "wb"), write_through=True)):
                    code = opt.main([str(file), "-o", "/dev/null", "--timeout=30", *case.arguments])
            except SystemExit as error:
                code = error.code if isinstance(error.code, int) else 1
            except Exception as error:
                found = of_exception(error)
                return Failure(found.kind, f"{case.arguments}\n{case.text}\n{found.detail}")
            finally:
                os.dup2(kept, 2)
                os.close(kept)
            said.seek(0)
            text = said.read().decode(errors="replace")
    for wrong in ("internal error", "Traceback"):
        if wrong in text:
            line = next(line for line in text.splitlines() if wrong in line)
            return Failure(line.partition(wrong)[2][:120] or wrong, f"{case.arguments}\n{case.text}\n{text[-3000:]}")
    if code not in (0, 1, 2, 134, 139) or (code and "error" not in text):
        return Failure(f"exit code {code}", f"{case.arguments}\n{case.text}\n{text[-3000:]}")
    if code in (134, 139) and "MLIR ended the process" not in text:
        return Failure("a crash that is not explained", f"{case.arguments}\n{text[-3000:]}")
    return None
