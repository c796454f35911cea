"""A saved kernel: one zip file with the cubin, the PTX and the signature as JSON. Reading it needs no MLIR."""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

from ..abi.signature import KernelSignature
from ..assembler import Resources
from ..codec import from_data, to_data
from ..plan import CopyPlan

if TYPE_CHECKING:
    from .kernel import Kernel

FORMAT = 2
"""Raised when a file can no longer be read by the code before; readers refuse a higher one."""


def pack(kernel: Kernel) -> bytes:
    """``kernel`` as the content of a file; the same kernel gives the same bytes."""
    recipe = {
        "format": FORMAT,
        "chip": kernel.chip,
        "signature": to_data(kernel.signature),
        "resources": None if kernel.resources is None else to_data(kernel.resources),
        "plans": [to_data(plan) for plan in kernel.plans],
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, data in (
            ("kernel.json", json.dumps(recipe, indent=1).encode()),
            ("kernel.cubin", kernel.cubin),
            ("kernel.ptx", kernel.ptx.encode()),
        ):
            file.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def unpack(data: bytes, name: str = "this") -> dict[str, Any]:
    """The arguments of ``Kernel`` for what ``pack`` made ``data`` of; raises ``ValueError`` if that is not a saved
    kernel. ``name`` is for messages."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            recipe = json.loads(file.read("kernel.json"))
            cubin, ptx = file.read("kernel.cubin"), file.read("kernel.ptx").decode()
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{name} is not a saved kernel: {error}") from None
    if recipe.get("format") != FORMAT:
        raise ValueError(
            f"{name} has format {recipe.get('format')}, this version reads {FORMAT}. Save the kernel again"
        )
    return {
        "cubin": cubin,
        "signature": from_data(KernelSignature, recipe["signature"]),
        "ptx": ptx,
        "plans": [from_data(CopyPlan, plan) for plan in recipe["plans"]],
        "chip": recipe["chip"],
        "resources": None if recipe["resources"] is None else from_data(Resources, recipe["resources"]),
    }
