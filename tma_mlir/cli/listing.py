"""``tma-opt --list-passes`` and ``--show-dialects``."""

from __future__ import annotations

import textwrap


def show_dialects() -> int:
    """MLIR's bindings cannot enumerate dialects, so the names MLIR 22 has are tried."""
    from ..dialect import make_context

    context = make_context()
    names = ["tile"]
    for name in _DIALECTS.split():
        try:
            context.dialects[name]
        except IndexError:
            continue
        names.append(name)
    print("Available Dialects: " + ",".join(sorted(names)))
    return 0


def list_passes() -> int:
    from ..bindings import ir
    from ..passes import registry
    from ..passes.pipeline_check import required_anchor, upstream_passes

    print("Passes and pipelines of tma_mlir:")
    for entry in registry.entries():
        _print_entry(entry.argument, entry.summary)
        for option in entry.options:
            kind = "|".join(map(str, option.choices)) or option.type.__name__
            default = "" if option.default in (None, "") else f" (default: {option.default})"
            print(f"        {option.name}=<{kind}>  {option.help}{default}")
    print("\nPasses and pipelines of MLIR:")
    with ir.Context():
        for name, summary in upstream_passes().items():
            if required_anchor(name) is not None:
                _print_entry(name, summary)
    return 0


def _print_entry(name: str, summary: str) -> None:
    print(f"  --{name:40} {textwrap.shorten(summary, 100)}")


_DIALECTS = """
acc affine amdgpu amx arith arm_neon arm_sme arm_sve async bufferization builtin cf complex dlti emitc func gpu index
irdl linalg llvm math memref ml_program mpi nvgpu nvvm omp pdl pdl_interp ptr quant rocdl scf shape shard smt
sparse_tensor spirv tensor tosa transform ub vector wasmssa x86vector xegpu xevm
"""
