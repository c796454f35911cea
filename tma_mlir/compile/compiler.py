"""Text or a module in, kernels out: plans, the lowered module, PTX, cubin and signature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mlir import ir
from mlir.dialects import gpu

from ..chips import DEFAULT_CHIP, chip
from ..diagnostics import Diagnostic, Place, collecting, place_of
from ..dialect import make_context
from ..dialect.plan_attr import read_plan
from ..passes.ir_access import collect, copies_in, enclosing
from ..passes.pipeline import run_pipeline
from ..passes.tile_assemble import ptx_of
from ..plan import CopyPlan
from .assemble import Cubin, assemble
from .signature import KernelSignature
from .signature_reader import read_signature


class CompileError(Exception):
    """Compilation failed; ``diagnostics`` says where and why, one line each in ``str``."""

    def __init__(self, diagnostics: list[Diagnostic]):
        self.diagnostics = diagnostics
        super().__init__("\n".join(_line(each) for each in diagnostics))


def _line(diagnostic: Diagnostic) -> str:
    place = f"{diagnostic.place}: " if diagnostic.place else ""
    notes = "".join(f"\n{_line(note)}" for note in diagnostic.notes)
    return f"{place}{diagnostic.severity}: {diagnostic.message}{notes}"


@dataclass(frozen=True)
class PlannedCopy:
    """One copy of the source with the plan it got."""

    place: Place | None
    kernel: str
    plan: CopyPlan


@dataclass(frozen=True)
class CompiledModule:
    """Everything made from one module. ``lowered`` is the LLVM-dialect module that became ``ptx``."""

    chip: str
    plans: tuple[PlannedCopy, ...]
    planned: str
    nvgpu: str
    lowered: str
    signatures: dict[str, KernelSignature]
    ptx: str
    cubin: Cubin | None


Observer = Callable[[str, ir.Operation], None]
"""Called with a stage's name (``parsed``, ``planned``, ``nvgpu``, ``lowered``) and the module as it is then."""


def compile_file(path: str | Path, target: str = DEFAULT_CHIP, **options) -> CompiledModule:
    """``compile_text`` on a file, whose name appears in diagnostics."""
    return compile_text(Path(path).read_text(), target, name=str(path), **options)


def compile_text(
    text: str,
    target: str = DEFAULT_CHIP,
    *,
    name: str = "-",
    opt_level: int = 3,
    assemble_cubin: bool = True,
    observe: Observer | None = None,
) -> CompiledModule:
    """Compiles MLIR text for ``target``. Raises ``CompileError`` with located messages, ``ValueError`` for a chip that
    is not known."""
    target_chip = chip(target)
    observe = observe or (lambda stage, root: None)
    context = make_context()
    with context, collecting(context) as diagnostics:
        try:
            root = parse(text, name)
            observe("parsed", root)
            run_pipeline(root, f"builtin.module(tile-verify,tile-plan-copies{{chip={target}}})")
            observe("planned", root)
            planned, plans = str(root), _plans(root)
            run_pipeline(root, "builtin.module(convert-tile-to-nvgpu,tile-descriptor-args)")
            observe("nvgpu", root)
            nvgpu = str(root)
            run_pipeline(root, "builtin.module(tile-lower-kernels)")
            observe("lowered", root)
            lowered = root.get_asm(enable_debug_info=True)
            signatures = _signatures(root)
            run_pipeline(
                root,
                f"builtin.module(nvvm-attach-target{{chip={target} features=+ptx{target_chip.ptx} O={opt_level}}},"
                "gpu-module-to-binary{format=isa})",
            )
            ptx = _ptx(root)
        except ir.MLIRError:
            raise CompileError(diagnostics.seen) from None
    return CompiledModule(
        chip=target,
        plans=plans,
        planned=planned,
        nvgpu=nvgpu,
        lowered=lowered,
        signatures=signatures,
        ptx=ptx,
        cubin=assemble(ptx, target) if assemble_cubin and ptx else None,
    )


def parse(text: str, name: str) -> ir.Operation:
    """``text`` as a ``builtin.module`` whose locations carry ``name``; must run inside a context."""
    return ir.Operation.parse(text, source_name=name).operation


def _plans(root: ir.Operation) -> tuple[PlannedCopy, ...]:
    return tuple(
        PlannedCopy(place_of(copy.operation.location), _kernel_name(copy.operation), read_plan(copy.attributes["plan"]))
        for copy in copies_in(root)
    )


def _kernel_name(op: ir.Operation) -> str:
    function = enclosing(op, "gpu.func")
    return "" if function is None else ir.StringAttr(function.attributes["sym_name"]).value


def _signatures(root: ir.Operation) -> dict[str, KernelSignature]:
    kernels = (each for each in collect(root, ("llvm.func",)) if "tile.descriptors" in each.attributes)
    return {signature.name: signature for signature in map(read_signature, kernels)}


def _ptx(root: ir.Operation) -> str:
    texts = []
    for binary in collect(root, ("gpu.binary",)):
        texts += [ptx_of(gpu.ObjectAttr(each)) for each in ir.ArrayAttr(binary.attributes["objects"])]
    return "\n".join(texts)
