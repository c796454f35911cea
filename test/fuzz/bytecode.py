"""Damaged bytecode, compiled as a host would: in the child process, with a time limit.

MLIR's reader of bytecode aborts on some files and loops for ever on others. Right are a kernel and ``CompileError``.
"""

from __future__ import annotations

import functools
import io
import random

from failure import Failure, of_exception
from programs import programs

SECONDS = 5.0


@functools.cache
def _files() -> tuple[bytes, ...]:
    from tma_mlir.bindings import ir
    from tma_mlir.dialect import make_context

    made = []
    with make_context() as context, context.attach_diagnostic_handler(lambda diagnostic: True):
        for text in programs()[::3]:
            try:
                file = io.BytesIO()
                ir.Module.parse(text).operation.write_bytecode(file)
            except ir.MLIRError:
                continue
            made.append(file.getvalue())
    return tuple(made)


def cases(seed: int) -> bytes:
    rng = random.Random(seed)
    files = _files()
    data = bytearray(files[rng.randrange(len(files))])
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(4, len(data))
        kind = rng.randrange(6)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFE, 0xFF))
        elif kind == 2:
            del data[at:]
            data += bytes(4)
        elif kind == 3:
            del data[at : at + rng.randrange(1, 8)]
        elif kind == 4:
            data[at:at] = data[at : at + rng.randrange(1, 40)]
        else:
            other = files[rng.randrange(len(files))]
            start = rng.randrange(len(other))
            data[at : at + 8] = other[start : start + 8]
        if len(data) < 8:
            data += bytes(8)
    return bytes(data)


def check(data: bytes) -> Failure | None:
    from tma_mlir.assembler import AssemblerError
    from tma_mlir.compile.compiler import CompileError
    from tma_mlir.isolation.compile_isolated import compile_isolated

    try:
        compile_isolated(data, "f.mlirbc", "sm_90a", 0, "nvjitlink", (), seconds=SECONDS)
    except (CompileError, AssemblerError) as error:
        return None if str(error) else Failure("an error without a message", data.hex())
    except Exception as error:
        found = of_exception(error)
        return Failure(found.kind, f"{data.hex()}\n{found.detail}")
    return None
