"""Saved kernels and cache entries that are damaged: it comes back, or there is one ``ValueError`` (of a cache: a miss).

Bytes are flipped, cut, repeated and spliced; and entries of the archive are changed, with their check sums put right:
fields of the recipe get other values, vanish or are doubled.
"""

from __future__ import annotations

import copy
import io
import json
import random
import tempfile
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from failure import Failure, of_exception
from tma_mlir.compiled_kernel import CompiledKernel
from tma_mlir.runtime import Kernel
from tma_mlir.runtime.disk_cache import DiskCache

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ("python/copy_tiles.mlir", "copy_8x256.mlir", "pipelined_copy.mlir")


@dataclass(frozen=True)
class Case:
    """``how``: what was done to the bytes of kernel ``number``. ``sealed``: the damage is that of the storage, not of
    somebody who writes an archive; then nothing but the kernel itself may come back."""

    seed: int
    number: int
    how: str
    data: bytes
    sealed: bool


def cases(seed: int) -> Case:
    rng = random.Random(seed)
    number = rng.randrange(len(EXAMPLES))
    data = _saved(number)
    if rng.random() < 0.5:
        how, data = _damaged(rng, data)
        return Case(seed, number, how, data, True)
    how, data = _rewritten(rng, data)
    return Case(seed, number, how, data, False)


def check(case: Case) -> Failure | None:
    try:
        found = Kernel.from_bytes(case.data, "x.kernel")
    except ValueError as error:
        found = None
        if "x.kernel" not in str(error):
            return Failure("an error that does not name the file", f"{error}\n{case.how} seed {case.seed}")
    except Exception as error:
        return _of(case, error)
    try:
        if found is not None and found.to_bytes() != _saved(case.number):
            if case.sealed:
                return Failure("damage is not seen", f"{case.how} seed {case.seed}")
            repr(found)
            [plan.explain() for plan in found.plans]
    except Exception as error:
        return _of(case, error)
    return _through_the_cache(case)


def _of(case: Case, error: Exception) -> Failure:
    found = of_exception(error)
    return Failure(found.kind, f"{case.how} seed {case.seed}\n{found.detail}")


def _through_the_cache(case: Case) -> Failure | None:
    """The damaged bytes as the file of an entry: a miss, or the entry."""
    if not case.sealed:
        return None
    with tempfile.TemporaryDirectory() as folder:
        store = DiskCache(folder)
        content = _saved(case.number)
        store.put("ab" * 32, content)
        (entry,) = (path for path in Path(folder).rglob("*") if path.is_file())
        rng = random.Random(case.seed + 1)
        how, data = _damaged(rng, entry.read_bytes())
        entry.write_bytes(data)
        try:
            found = store.get("ab" * 32)
        except Exception as error:
            return _of(case, error)
    if found is not None and found != content:
        return Failure("the cache gives out another entry", f"{how} seed {case.seed}")
    return None


@cache
def _saved(number: int) -> bytes:
    from tma_mlir.compile.compiler import compile_text

    path = ROOT / "examples" / EXAMPLES[number]
    made = compile_text(path.read_text(), "sm_90a", name=path.name, assemble_cubin=False)
    (signature,) = made.signatures.values()
    plans = [each.plan for each in made.plans]
    kernel = CompiledKernel(bytes(range(256)) * 8, signature, ptx=made.ptx, plans=plans, chip="sm_90a", source="")
    return kernel.to_bytes()


def _damaged(rng: random.Random, data: bytes) -> tuple[str, bytes]:
    how = rng.choice(("flip", "flips", "cut", "head", "double", "insert", "zero", "splice", "empty", "noise"))
    at, end = sorted((rng.randrange(len(data)), rng.randrange(len(data))))
    changed = bytearray(data)
    if how in ("flip", "flips"):
        for _ in range(1 if how == "flip" else rng.randint(2, 50)):
            changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif how == "cut":
        del changed[at:]
    elif how == "head":
        del changed[:at]
    elif how == "double":
        changed += data
    elif how == "insert":
        changed[at:at] = rng.randbytes(rng.randint(1, 100))
    elif how == "zero":
        changed[at:end] = bytes(end - at)
    elif how == "splice":
        changed[at:end] = data[rng.randrange(len(data)) :][: end - at]
    elif how == "empty":
        changed = bytearray()
    else:
        changed = bytearray(rng.randbytes(rng.randint(0, 2000)))
    return how, bytes(changed)


VALUES: tuple[Any, ...] = (None, 0, -1, 1 << 70, 1.5, "", "x", [], {}, [None], {"kind": "x"}, True, "%s", "(x)/0",
                           "x*y", [[]], "1/0", "f16", [1, 2, 3], float("nan"), "\ud800", "a" * 10000)  # fmt: skip


def _rewritten(rng: random.Random, data: bytes) -> tuple[str, bytes]:
    """An archive somebody writes: right check sums, other content."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    how = rng.choice(("value", "value", "value", "value", "drop", "deep", "entry", "text", "extra", "type"))
    recipe = json.loads(parts["kernel.json"])
    if how in ("value", "drop"):
        for _ in range(rng.choice((1, 1, 2))):
            place, key = rng.choice(_places(recipe))
            if how == "drop":
                place.pop(key)
                break
            place[key] = copy.deepcopy(rng.choice(VALUES))  # changed once more, it must not hold itself
        parts["kernel.json"] = json.dumps(recipe).encode(errors="surrogatepass")
    elif how == "deep":
        depth = rng.choice((100, 2000, 200000))
        parts["kernel.json"] = b"[" * depth + b"]" * depth
    elif how == "entry":
        parts.pop(rng.choice(list(parts)))
    elif how == "text":
        parts[rng.choice(list(parts))] = rng.choice((b"", b"\xff\xfe", b"null", b"[]", b"5", b'{"format": 2}', b"{"))
    elif how == "extra":
        parts["more"] = b"x"
    else:
        parts["kernel.json"] = json.dumps(rng.choice(VALUES)).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, content in parts.items():
            file.writestr(zipfile.ZipInfo(name), content)
    return how, packed.getvalue()


def _places(data: Any) -> list[tuple[Any, Any]]:
    """Every container of ``data`` with each of its keys."""
    keys = list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    found = [(data, key) for key in keys]
    for key in keys:
        found += _places(data[key])
    return found
