"""What neither nvgpu nor nvvm of MLIR 22 can say, as inline PTX: all of it is here.

The simulator reads these texts (``sim/ptx.py``).
"""

from __future__ import annotations

from ..bindings import ir
from ..bindings.dialects import llvm


def _asm(result: ir.Type | None, operands: list[ir.Value], text: str, constraints: str, *, effects: bool):
    return llvm.inline_asm(
        result,
        operands,
        text,
        constraints,
        has_side_effects=effects,
        asm_dialect=ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0),
    )


def create_policy(priority: str, fraction: float) -> ir.Value:
    """An L2 cache policy, an i64 (PTX ISA, createpolicy). Without side effects, so that LLVM shares it and moves it out
    of loops."""
    text = f"createpolicy.fractional.L2::{priority}.b64 $0, {fraction};"
    return _asm(ir.IntegerType.get_signless(64), [], text, "=l", effects=False)


def tensormap_replace(descriptor: ir.Value, field: str, ordinal: int | None, value: ir.Value) -> None:
    """Replaces a field of a descriptor in shared memory (PTX ISA, tensormap.replace).

    ``descriptor``: its 32-bit shared address. ``field``: ``global_address`` (i64), ``global_dim`` (i32, with the
    dimension as ``ordinal``) or ``global_stride`` (i64 bytes, ``ordinal`` 0 is that of dimension 1).
    """
    bits = ir.IntegerType(value.type).width
    text = (
        f"tensormap.replace.tile.{field}.shared::cta.b1024.b{bits} [$0], {'' if ordinal is None else f'{ordinal}, '}$1;"
    )
    _asm(None, [descriptor, value], text, f"r,{'l' if bits == 64 else 'r'},~{{memory}}", effects=True)


def tensormap_copy_and_release(target: ir.Value, descriptor: ir.Value) -> None:
    """Copies a descriptor from shared (32-bit address) to global memory (pointer) and releases it to the tensor-map
    proxy of the GPU (PTX ISA, tensormap.cp_fenceproxy). All lanes of the warp execute it."""
    text = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [$0], [$1], 128;"
    _asm(None, [target, descriptor], text, "l,r,~{memory}", effects=True)
