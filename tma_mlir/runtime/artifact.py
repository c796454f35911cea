"""A saved kernel: one zip file with the cubin, the PTX, the signature as JSON, and a hash of them all.

Reading it needs no MLIR, and believes nothing: what is in the file is a kernel as it was saved, or ``ValueError``.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..abi.signature import KernelSignature
from ..assembler import Resources
from ..codec import from_data, to_data
from ..plan import CopyPlan

if TYPE_CHECKING:
    from .kernel import Kernel

FORMAT = 3
"""Raised when a file can no longer be read by the code before; readers refuse another one."""

MOST_BYTES = 256 << 20
"""Of one part of a file."""

_PARTS = ("kernel.json", "kernel.cubin", "kernel.ptx")
_SEAL = "kernel.seal"


def pack(kernel: Kernel) -> bytes:
    """``kernel`` as the content of a file; the same kernel gives the same bytes."""
    recipe = {
        "format": FORMAT,
        "chip": kernel.chip,
        "signature": to_data(kernel.signature),
        "resources": None if kernel.resources is None else to_data(kernel.resources),
        "plans": [to_data(plan) for plan in kernel.plans],
    }
    parts = {
        "kernel.json": json.dumps(recipe, indent=1).encode(),
        "kernel.cubin": kernel.cubin,
        "kernel.ptx": kernel.ptx.encode(),
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, data in {**parts, _SEAL: _seal(parts)}.items():
            file.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _seal(parts: Mapping[str, bytes]) -> bytes:
    """The hash of all parts, as text."""
    hashed = hashlib.sha256()
    for name, data in parts.items():
        hashed.update(f"{name} {len(data)}\n".encode() + data)
    return hashed.hexdigest().encode()


def unpack(data: bytes, name: str = "this") -> dict[str, Any]:
    """The arguments of ``Kernel`` for what ``pack`` made ``data`` of; raises ``ValueError`` if that is not a saved
    kernel, or was changed since. ``name`` is for messages."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            recipe = _json(_part(file, "kernel.json"))
            if recipe.get("format") != FORMAT:
                found = recipe.get("format")
                raise ValueError(f"it has format {found!r}, this version reads {FORMAT}. Save the kernel again")
            parts = {each: _part(file, each) for each in _PARTS}
            if _part(file, _SEAL) != _seal(parts):
                raise ValueError("it was changed or damaged after it was saved. Save the kernel again")
        return {
            "cubin": parts["kernel.cubin"],
            "signature": from_data(KernelSignature, recipe["signature"]),
            "ptx": parts["kernel.ptx"].decode(),
            "plans": [from_data(CopyPlan, plan) for plan in recipe["plans"]],
            "chip": recipe["chip"],
            "resources": None if recipe["resources"] is None else from_data(Resources, recipe["resources"]),
        }
    except Exception as error:  # zipfile, zlib and json have a dozen for damaged data
        reason = str(error) or type(error).__name__
        raise ValueError(f"{name} is not a saved kernel: {reason}") from None


def _part(file: zipfile.ZipFile, name: str) -> bytes:
    """One part, not more of it than a kernel can have: a few kilobytes can stand for terabytes."""
    with file.open(name) as part:
        data = part.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"{name} in it has more than {MOST_BYTES >> 20} MiB")
    return data


def _json(data: bytes) -> dict[str, Any]:
    recipe = json.loads(data)
    if not isinstance(recipe, dict):
        raise ValueError("kernel.json in it is not a dictionary")
    return recipe
